"""Options of `list`, and the filters of `export`. Nothing heavy is imported here."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from db.queries.filters import HELP, Filters
from evaluator.results.category import Category, Status
from evaluator.results.nearest import unknown

if TYPE_CHECKING:
    from db.queries.evaluations import Choice
    from db.store import Store

SHOWN = 20
"""Evaluations that are listed without `--limit`."""
LAST = "last"
"""Stands for the number of the newest."""
ORDERS = {
    **dict.fromkeys(("evaluation", "started", "run", "speedup"), True),
    **dict.fromkeys(("status", "category", "submission", "author", "problem", "case", "device"), False),
}
"""Columns by which evaluations can be sorted, and whether `list` shows the highest first."""
MAX_STEP = 2**63 - 1
TAG = re.compile(r"[A-Za-z0-9_.:/-]+=[^\x00-\x1f\x7f\ud800-\udfff]*")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def add_filters(command: argparse.ArgumentParser, *, without: str = "") -> None:
    """Filters by names, except for one."""
    for name, (metavar, text) in HELP.items():
        if name != without:
            command.add_argument(f"--{name}", metavar=metavar, help=text)


def add_choice(command: argparse.ArgumentParser) -> None:
    """Filters of evaluations, by names and otherwise."""
    add_filters(command, without="protocol")
    add = command.add_argument
    statuses, categories = list(Status), list(Category)
    add("--status", choices=statuses, type=status_of, metavar="STATUS", help=f"only this status: {', '.join(statuses)}")
    add("--category", choices=categories, type=category_of, metavar="CATEGORY", help="only this category, as in timeout")
    add("--run", metavar="N", help="only this run: its number, or `last`")
    add("--step", type=_step, metavar="N", help="only this training step")
    add("--tag", type=_tag, metavar="NAME=VALUE", help="only this tag of training")
    add("--since", type=_since, metavar="WHEN", help="only since: 90m, 12h, 7d, 2026-05-01 or 2026-05-01T12:00 (UTC)")


def add_list_options(command: argparse.ArgumentParser) -> None:
    """The options of `list` that no other command has."""
    command.add_argument("--sort", choices=list(ORDERS), metavar="COLUMN", help="sort by this column, as in speedup")
    command.add_argument("--search", metavar="WORDS", help="with these words in source, message or kernels")
    command.add_argument("--limit", type=_positive, default=SHOWN, metavar="N", help="at most N (default: %(default)s)")


def filters_of(store: "Store", options: argparse.Namespace) -> Filters:
    """The filters by names. Raises StoreError for a name that the database doesn't hold."""
    from db.queries.names import require_known

    filters = Filters(**{name: getattr(options, name, None) for name in HELP})
    require_known(store, filters)
    return filters


def choice_of(store: "Store", options: argparse.Namespace) -> "Choice":
    """The conditions that the options of `add_choice` give. Raises StoreError for a name or a run that the database doesn't hold."""
    from db.queries.evaluations import Choice
    from db.queries.names import run_number

    run = None if options.run is None else run_number(store, options.run)
    return Choice(filters_of(store, options), options.status, options.category, run, options.since, options.step, options.tag)


def evaluation_of(text: str) -> int | str:
    """An evaluation's number, or `last`."""
    if text != LAST and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor `{LAST}`")
    return text if text == LAST else int(text)


def status_of(text: str) -> Status:
    if text not in list(Status):
        raise argparse.ArgumentTypeError(unknown("status", text, Status))
    return Status(text)


def category_of(text: str) -> Category:
    if text not in list(Category):
        raise argparse.ArgumentTypeError(unknown("category", text, Category))
    return Category(text)


def _since(text: str) -> datetime:
    try:
        return moment_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def moment_of(text: str) -> datetime:
    """Return the time of `90m`, `12h` or `7d` ago, or of an ISO 8601 text (UTC by default). Raises ValueError for other texts."""
    try:
        if ago := re.fullmatch(r"(\d{1,6})([mhd])", text):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"invalid time {text!r}; use 90m, 12h, 7d, 2026-05-01 or 2026-05-01T12:00") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def tag_of(text: str) -> str:
    """The text itself. Raises ValueError for anything but NAME=VALUE."""
    if not TAG.fullmatch(text):
        raise ValueError(f"invalid tag {text!r}; use NAME=VALUE, as in run=first")
    return text


def _tag(text: str) -> str:
    try:
        return tag_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _step(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_STEP:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, not {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)
