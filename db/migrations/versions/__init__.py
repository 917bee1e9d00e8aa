"""One file per revision, named rNNNN_what.py; a released revision is never changed."""
