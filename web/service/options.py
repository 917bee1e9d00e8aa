"""The command line of the service."""

import argparse
from pathlib import Path

from db import DEFAULT_DATABASE
from evaluator.log import add_option
from evaluator.sandbox import Level
from web.service.models import DEFAULT_MAX_TIMEOUT_S, MAX_TIMEOUT_S
from web.service.tokens import Scope

HOST, PORT = "127.0.0.1", 8400
PROGRAM = "python -m web.service"


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The service's options, and its commands."""
    this = argparse.ArgumentParser(prog=program, description="Accepts submissions over HTTP, and judges them.")
    add = this.add_argument
    database = f"database (default: {DEFAULT_DATABASE})"
    add("--db", metavar="DB", help=database)
    add("--host", default=HOST, help="address (default: %(default)s)")
    add("--port", type=_port, default=PORT, help="port; 0 is any free one (default: %(default)s)")
    add("--reference", action="append", default=[], type=Path, metavar="DIR", help="folder of more problem files (repeatable)")
    add("--headers", action="append", default=[], type=Path, metavar="DIR", help="folder of C++ headers for submissions (repeatable)")
    add("--device", default="auto", metavar="DEVICE", help="auto (a GPU if there is one), cuda, cuda:N or cpu")
    add("--jobs", type=_positive, metavar="N", help="judge processes (default: from cores and memory)")
    add("--accept-only", action="store_true", help="leave judging to other processes with this database")
    add("--queue", type=_positive, default=20_000, metavar="N", help="most waiting requests (default: %(default)s)")
    add("--max-body", type=_positive, default=32, metavar="MIB", help="largest request body (default: %(default)s)")
    add(
        "--max-timeout",
        type=_timeout,
        default=DEFAULT_MAX_TIMEOUT_S,
        metavar="S",
        help="longest timeout that a request may ask for (default: %(default)g)",
    )
    add(
        "--lease",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="seconds until an unfinished request is retried elsewhere (default: %(default)g)",
    )
    add(
        "--grace",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds that a stopping process goes on (default: %(default)g)",
    )
    sandbox = this.add_mutually_exclusive_group()
    sandbox.add_argument(
        "--sandbox",
        choices=[level.value for level in Level if level is not Level.NONE],
        help="sandbox level (default: the best one here)",
    )
    sandbox.add_argument("--no-sandbox", action="store_true", help="no sandbox: only for code that you trust")
    commands = this.add_subparsers(dest="command", metavar="token", title="commands")
    tokens = commands.add_parser("token", help="make, list and revoke tokens").add_subparsers(dest="action", required=True)
    new = tokens.add_parser("new", help="make a token and print it, once")
    new.add_argument("--author", required=True, metavar="A", help="author of its submissions")
    new.add_argument(
        "--scope", type=_scopes, default=(Scope.READ, Scope.SUBMIT), metavar="S,…", help=f"from {', '.join(Scope)} (default: read,submit)"
    )
    new.add_argument("--quota", type=_per("day"), metavar="N/day", help="submissions per day, UTC (default: no limit)")
    new.add_argument("--rate", type=_per("min"), metavar="N/min", help="calls per minute and process (default: no limit)")
    tokens.add_parser("list", help="show all tokens, without their secrets")
    tokens.add_parser("revoke", help="make a token invalid").add_argument("id", metavar="ID", help="the token's id")
    for command in tokens.choices.values():
        command.add_argument("--db", metavar="DB", default=argparse.SUPPRESS, help=database)
    add_option(this)
    return this


def level_of(options: argparse.Namespace) -> Level | None:
    """The sandbox level requested; None for the best one."""
    if options.no_sandbox:
        return Level.NONE
    return Level(options.sandbox) if options.sandbox else None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    value = float(text)
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError("must be between 1 and 86400 seconds")
    return value


def _timeout(text: str) -> float:
    value = float(text)
    if not 0 < value <= MAX_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most {MAX_TIMEOUT_S:g} seconds")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 16:
        raise argparse.ArgumentTypeError("must be between 0 and 65535")
    return value


def _scopes(text: str) -> tuple[Scope, ...]:
    try:
        return tuple(Scope(word.strip()) for word in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; use {', '.join(Scope)}") from error


class _per:  # noqa: N801 - it is used as a function
    """Reads `N/UNIT`, or only N."""

    def __init__(self, unit: str) -> None:
        self._unit = unit

    def __call__(self, text: str) -> int:
        number, separator, unit = text.partition("/")
        if separator and unit != self._unit:
            raise argparse.ArgumentTypeError(f"write it as N/{self._unit}")
        return _positive(number)
