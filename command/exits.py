"""Exit codes of the command line, and the error for wrong usage."""

ALL_EVALUATED, SOME_NOT_EVALUATED, USAGE, FAILED_ON, INTERRUPTED = 0, 1, 2, 3, 130
"""`FAILED_ON` only where `--fail-on` asks for it."""


class UsageError(Exception):
    """The options ask for something that can't be done; the message is for the user."""
