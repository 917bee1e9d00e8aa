"""Exit codes of the command line, and the error for wrong usage."""

ALL_EVALUATED, SOME_NOT_EVALUATED, USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The options ask for something that can't be done; the message is for the user."""
