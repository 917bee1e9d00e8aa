"""`python -m db`: shows the leaderboard, the failures by cause, or all that is known of one evaluation."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from db import DEFAULT_URL

if TYPE_CHECKING:
    from db.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 where the database or the evaluation is missing or can't be read."""
    options = _parser().parse_args(arguments)
    # The heavy imports come after the options, so that --help and mistyped options answer at once.
    from db.error import StoreError
    from db.store import Store
    from evaluator.plain import plain_line

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with Store.open(options.db, read_only=True) as store:
            return _show(store, options)
    except StoreError as error:
        sys.stderr.write(plain_line(str(error)) + "\n")
        return 2
    except BrokenPipeError:
        # The reader has seen enough (`| head`); nothing may be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _show(store: "Store", options: argparse.Namespace) -> int:
    from db import report, show
    from db.error import StoreError
    from db.leaderboard import failures, leaderboard

    if options.command == "show":
        stored = store.get(options.id)
        if stored is None:
            raise StoreError(f"There is no evaluation {options.id} in {store.path}. `python -m db leaderboard --json` lists ids.")
        text = show.evaluation_json(stored, options.source) if options.json else show.evaluation_text(stored, options.source)
    else:
        filters = {"problem": options.problem, "author": options.author, "device": options.device, "case": options.case}
        if options.command == "leaderboard":
            rows = leaderboard(store, **filters)
            text = report.leaderboard_json(rows) if options.json else report.leaderboard_text(rows)
        else:
            counts = failures(store, **filters)
            text = report.failures_json(counts) if options.json else report.failures_text(counts)
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m db", description="Shows what a database of evaluations holds.")
    parser.add_argument("--db", metavar="URL", default=DEFAULT_URL, help="SQLAlchemy URL of the database (default: %(default)s)")
    commands = parser.add_subparsers(dest="command", required=True)
    board = commands.add_parser("leaderboard", help="ranking by speedup, for every problem, case and device")
    causes = commands.add_parser("failures", help="how many evaluations failed, by cause")
    for command in (board, causes):
        command.add_argument("--problem", metavar="P", help="only this problem")
        command.add_argument("--author", metavar="A", help="only this author; ranks stay those among all")
        command.add_argument("--device", metavar="D", help='only this device model, as in "NVIDIA H200"')
        command.add_argument("--case", metavar="C", help="only this case, as in full")
        command.add_argument("--json", action="store_true", help="print JSON")
    show = commands.add_parser("show", help="everything known about one evaluation")
    show.add_argument("id", metavar="ID", type=int, help="number of the evaluation")
    show.add_argument("--json", action="store_true", help="print JSON")
    show.add_argument("--source", action="store_true", help="print the submission's source too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
