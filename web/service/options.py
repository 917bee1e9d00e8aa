"""The command line of the service."""

import argparse
from pathlib import Path

from db import DEFAULT_URL
from evaluator.sandbox import Level
from web.service.models import DEFAULT_MAX_TIMEOUT_S, MAX_TIMEOUT_S
from web.service.tokens import Scope

HOST, PORT = "127.0.0.1", 8400
PROGRAM = "python -m web.service"


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The service's options, and its commands."""
    this = argparse.ArgumentParser(prog=program, description="Takes submissions over HTTP, and judges them.")
    add = this.add_argument
    add("--db", metavar="URL", help=f"database (default: {DEFAULT_URL})")
    add("--host", default=HOST, help="address (default: %(default)s)")
    add("--port", type=_port, default=PORT, help="port; 0 is any free one (default: %(default)s)")
    add("--reference", action="append", default=[], type=Path, metavar="DIR", help="a folder with more problem files (repeatable)")
    add("--device", default="auto", metavar="DEVICE", help="auto (CUDA where there is one), cuda, cuda:N or cpu")
    add("--jobs", type=_positive, metavar="N", help="judges side by side (default: by processors and memory)")
    add("--accept-only", action="store_true", help="leave judging to other processes of the database")
    add("--queue", type=_positive, default=20_000, metavar="N", help="requests that may wait in all (default: %(default)s)")
    add("--max-body", type=_positive, default=32, metavar="MIB", help="largest body (default: %(default)s)")
    add(
        "--max-timeout",
        type=_timeout,
        default=DEFAULT_MAX_TIMEOUT_S,
        metavar="S",
        help="most seconds to ask for one call (default: %(default)g)",
    )
    add("--lease", type=_seconds, default=30.0, metavar="S", help="how long a claim holds unless renewed (default: %(default)g)")
    add(
        "--grace",
        type=float,
        default=30.0,
        metavar="S",
        help="how long a stopping process goes on (default: %(default)g)",
    )
    sandbox = this.add_mutually_exclusive_group()
    sandbox.add_argument(
        "--sandbox",
        choices=[level.value for level in Level if level is not Level.NONE],
        help="level of confinement (default: the best there is)",
    )
    sandbox.add_argument("--no-sandbox", action="store_true", help="no confinement: only for code that you trust")
    commands = this.add_subparsers(dest="command", metavar="token", title="commands")
    tokens = commands.add_parser("token", help="make, list and revoke tokens").add_subparsers(dest="action", required=True)
    new = tokens.add_parser("new", help="make a token and print it, once")
    new.add_argument("--author", required=True, metavar="A", help="whose submissions it hands in")
    new.add_argument(
        "--scope", type=_scopes, default=(Scope.READ, Scope.SUBMIT), metavar="S,…", help=f"of {', '.join(Scope)} (default: read,submit)"
    )
    new.add_argument("--quota", type=_per("day"), metavar="N/day", help="submissions in a day, UTC (default: any number)")
    new.add_argument("--rate", type=_per("min"), metavar="N/min", help="calls in a minute to each process (default: any number)")
    tokens.add_parser("list", help="show all tokens, without their secrets")
    tokens.add_parser("revoke", help="have a token permit nothing from now on").add_argument(
        "id", metavar="ID", help="of the token, as list shows it"
    )
    return this


def level_of(options: argparse.Namespace) -> Level | None:
    """The level of confinement that is asked for; None for the best there is."""
    if options.no_sandbox:
        return Level.NONE
    return Level(options.sandbox) if options.sandbox else None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    value = float(text)
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError("between 1 and 86400 seconds")
    return value


def _timeout(text: str) -> float:
    value = float(text)
    if not 0 < value <= MAX_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"above 0 and at most {MAX_TIMEOUT_S:g} seconds")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 16:
        raise argparse.ArgumentTypeError("between 0 and 65535")
    return value


def _scopes(text: str) -> tuple[Scope, ...]:
    try:
        return tuple(Scope(word.strip()) for word in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; there is {', '.join(Scope)}") from error


class _per:  # noqa: N801 - it is a function to whoever uses it
    """Reads `N/UNIT`, or N alone."""

    def __init__(self, unit: str) -> None:
        self._unit = unit

    def __call__(self, text: str) -> int:
        number, separator, unit = text.partition("/")
        if separator and unit != self._unit:
            raise argparse.ArgumentTypeError(f"write it as N/{self._unit}")
        return _positive(number)
