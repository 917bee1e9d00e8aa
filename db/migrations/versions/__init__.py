"""One file a revision, named rNNNN_what.py; a released revision is never changed."""
