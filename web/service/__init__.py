"""The HTTP service: it accepts submissions, judges them on this machine and answers questions about them by their ids."""
