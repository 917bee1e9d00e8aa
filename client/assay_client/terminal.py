"""Shared by the commands: exit codes, options, and text on a terminal."""

import argparse
import sys

EXIT_JUDGED, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The request is impossible. The message is for the user."""


def add_service(parser: argparse.ArgumentParser) -> None:
    """The options for the service's address and the token."""
    parser.add_argument("--url", help="the service's address (default: ASSAY_URL, else http://127.0.0.1:8400)")
    parser.add_argument("--token", help="your token (default: ASSAY_TOKEN)")


def add_profile(parser: argparse.ArgumentParser, what: str) -> None:
    """The option to profile with Nsight Compute; None if not given."""
    parser.add_argument("--profile", action="store_true", default=None, help=f"{what} (scope profile)")


def positive(text: str) -> int:
    """A number from 1 on. Raises ArgumentTypeError."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError("at least 1")
    return int(text)


def plain(text: str) -> str:
    """Return the text on one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def complain(place: str, told: str) -> None:
    """Write an error and its place to standard error."""
    sys.stderr.write("\n".join(map(plain, f"{place}: {told}".split("\n"))) + "\n")


def say(text: str) -> None:
    """Write to standard output, at once."""
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
