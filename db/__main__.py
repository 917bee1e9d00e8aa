"""The database's command line (`assay list`, `show`, `leaderboard`, …; `python -m db`): query, compare, import, export, maintain."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from configuration.options import use_file
from db import DEFAULT_DATABASE
from db.list_options import LAST, ORDERS, add_choice, add_filters, add_list_options, choice_of, evaluation_of, filters_of
from db.queries.filters import ANSWER_HELP, ANSWERS, HELP

if TYPE_CHECKING:
    from db.keeping import SiteWriter
    from db.store import Store

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
PROGRAM = "python -m db"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM, write_site: "SiteWriter | None" = None) -> int:
    """Returns the exit code: 0; 1 if `check` finds a fault; 2 if something is missing or can't be done; 130 for Ctrl-C.

    write_site: writes all pages into a folder, for `export --site`; without it there is no such option, as the database has no pages.
    """
    whole, commands = parsers(program, write_site)
    use_file(whole, arguments)
    options, unknown = whole.parse_known_args(arguments)
    if unknown:
        commands[options.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    # The heavy imports come after the options, so that --help and mistyped options answer at once.
    from db.error import StoreError
    from db.store import Store
    from evaluator.results.advice import runnable
    from evaluator.results.display.text import plain_line

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with Store.open(options.db, read_only=not (options.writes or getattr(options, "repair", False))) as store:
            answer: Callable[[Store, argparse.Namespace], int] = options.answer
            return answer(store, options)
    except StoreError as error:
        sys.stderr.write(plain_line(runnable(str(error))) + "\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; stored results are kept\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`); nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _leaderboard(store: "Store", options: argparse.Namespace) -> int:
    from db.error import StoreError
    from db.output import report
    from db.queries.disturbances import Disturbances

    reduced = options.allow_reduced_precision
    if options.overall:
        from db.queries.overall import overall, told

        if options.generalises or options.robust:
            raise StoreError("--generalises and --robust can't be used with --overall: they filter the places of single boards.")
        boards = overall(store, filters_of(store, options), reduced_precision=reduced)
        return _say(report.dump(told(boards, Disturbances(store))) if options.json else report.overall_text(boards))
    from db.queries.generality import only
    from db.queries.leaderboard import leaderboard

    rows = leaderboard(store, filters_of(store, options), every=options.all, top=options.top, reduced_precision=reduced)
    rows = Disturbances(store).told(only(store, rows, options.generalises, options.robust), "result_id")
    return _say(report.leaderboard_json(rows) if options.json else report.leaderboard_text(rows))


def _list(store: "Store", options: argparse.Namespace) -> int:
    from db.output import evaluation_list, report
    from db.queries.disturbances import Disturbances
    from db.queries.evaluations import evaluations
    from db.queries.texts import matching
    from db.queries.timeline import sorted_evaluations

    choice, limit = choice_of(store, options), options.limit
    if options.search is not None:
        choice = replace(choice, among=matching(store, options.search))
    if options.sort:
        found = sorted_evaluations(store, choice, limit + 1, options.sort, descending=ORDERS[options.sort])
    else:
        found = evaluations(store, choice, limit + 1)
    rows = Disturbances(store).told(found[:limit])
    return _say(report.dump(rows) if options.json else evaluation_list.text(rows, more=len(found) > len(rows)))


def _failures(store: "Store", options: argparse.Namespace) -> int:
    from db.output import report
    from db.queries.leaderboard import failures

    counts = failures(store, filters_of(store, options))
    return _say(report.failures_json(counts) if options.json else report.failures_text(counts, _as_words(options)))


def _show(store: "Store", options: argparse.Namespace) -> int:
    from db.error import StoreError
    from db.output import show

    number = store.newest_id if options.id == LAST else options.id
    stored = None if number is None else store.get(number)
    if stored is None:
        raise StoreError(f"There is no evaluation {options.id} in {store.name}. `assay list` lists ids.")
    told = ""
    if options.plot_error is not None:
        from db.output.plot_error import plot_error

        told += plot_error(stored.result, options.plot_error)
    if options.plot is not None:
        from db.output.plot_times import plot_times

        told += plot_times(stored.result, options.plot)
    if told and not options.json:
        return _say(told)
    return _say(show.evaluation_json(stored, options.source) if options.json else show.evaluation_text(stored, options.source))


def _compare(store: "Store", options: argparse.Namespace) -> int:
    from db.error import StoreError
    from db.output import report
    from db.queries.compare import compare, told
    from db.queries.disturbances import Disturbances

    try:
        comparison = told(compare(store, options.first, options.second, filters_of(store, options)), Disturbances(store))
    except StoreError as error:
        if not (options.first.isdecimal() and options.second.isdecimal()):
            raise
        page = f"/compare?left={options.first}&right={options.second}"
        raise StoreError(f"{error}. The page {page} of `assay serve` compares two evaluations.") from error
    return _say(report.dump(comparison) if options.json else report.comparison_text(comparison))


def _history(store: "Store", options: argparse.Namespace) -> int:
    from db.error import StoreError
    from db.foreign import foreign_history
    from db.output import report
    from db.queries.history import history

    foreign = foreign_history(store, options.submission)
    try:
        rows = history(store, options.submission)
    except StoreError:
        if not foreign:
            raise
        rows = ()
    if options.json:
        return _say(report.dump([*rows, *foreign]))
    told = [*([report.history_text(options.submission, rows)] if rows else [])]
    return _say("".join([*told, *([report.foreign_text(options.submission, foreign)] if foreign else [])]))


class _Schema(argparse.Action):
    """Prints the schema and ends; it needs no database."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from db.output.record_schema import FILE

        _say(FILE.read_text(encoding="utf-8"))
        parser.exit()


def _keeping(name: str) -> Callable[["Store", argparse.Namespace], int]:
    """A command of `db.keeping`."""

    def answer(store: "Store", options: argparse.Namespace) -> int:
        from db import keeping

        text, code = getattr(keeping, name)(store, options)
        _say(text)
        return int(code)

    return answer


def _say(text: str) -> int:
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _as_words(options: argparse.Namespace) -> str:
    """The database and the filters, as words of a command."""
    given = {name: getattr(options, name, None) for name in ("db", *HELP)}
    from db.address import without_password

    words = [
        (f"--{name}", without_password(value))
        for name, value in given.items()
        if value is not None and (name, value) != ("db", DEFAULT_DATABASE)
    ]
    return shlex.join(word for pair in words for word in pair)


def parsers(
    program: str = PROGRAM, write_site: "SiteWriter | None" = None
) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The whole command line, and each command's part of it by the command's name."""
    parser = argparse.ArgumentParser(prog=program, description="Queries and maintains a database of evaluations.")
    url_help = "database (default: %(default)s)"
    parser.add_argument("--db", metavar="DB", default=DEFAULT_DATABASE, help=url_help)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(
        name: str, answer: Callable[["Store", argparse.Namespace], int], text: str, *, writes: bool = False
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument("--json", action="store_true", help="print JSON")
        # If omitted, the option before the command holds.
        made.add_argument("--db", metavar="DB", default=argparse.SUPPRESS, help=url_help % {"default": DEFAULT_DATABASE})
        made.set_defaults(answer=answer, writes=writes)
        return made

    board = command("leaderboard", _leaderboard, "ranking by speedup, for every problem, case, device and precision")
    add_filters(board)
    board.add_argument("--all", action="store_true", help="every submission, not only each author's best")
    board.add_argument("--top", type=int, metavar="N", help="only ranks up to N")
    board.add_argument("--overall", action="store_true", help="authors over all problems: solved, fast_p, mean speedup, pass@k, medals")
    board.add_argument("--allow-reduced-precision", action="store_true", help="also rank reduced precision, marked")
    for name, text in ANSWER_HELP.items():
        board.add_argument(f"--{name}", choices=ANSWERS, help=text)
    listing = command("list", _list, "the evaluations themselves, newest first")
    add_choice(listing)
    add_list_options(listing)
    add_filters(command("failures", _failures, "how many evaluations failed, by cause"), without="protocol")
    show = command("show", _show, "all facts about one evaluation")
    show.add_argument("id", metavar="ID", type=evaluation_of, help="number of the evaluation, or `last`")
    show.add_argument("--source", action="store_true", help="also print its source")
    show.add_argument("--plot", type=Path, metavar="FILE.png|svg", help="plot its times and the device's clock (needs matplotlib)")
    show.add_argument("--plot-error", type=Path, metavar="FILE.png", help="plot where an output was wrong (needs matplotlib)")
    comparison = command("compare", _compare, "two authors, problem by problem")
    comparison.add_argument("first", metavar="AUTHOR", help="two authors")
    comparison.add_argument("second", metavar="AUTHOR", help="two authors")
    add_filters(comparison, without="author")
    past = command("history", _history, "all evaluations of one submission")
    past.add_argument("submission", metavar="SUBMISSION", help="its name on the leaderboard")
    export = command("export", _keeping("write_all"), "write evaluations, or all pages as a site")
    add_choice(export)
    export.set_defaults(write_site=write_site)
    what = export.add_mutually_exclusive_group()
    what.add_argument("--format", choices=("csv", "json", "parquet", "kernelbench"), help="output format")
    if write_site is not None:
        what.add_argument("--site", type=Path, metavar="DIR", help="write all pages as files")
    export.add_argument("--schema", nargs=0, action=_Schema, help="print the JSON schema of records")
    export.add_argument("--output", type=Path, metavar="FILE", help="output file (default: standard output)")
    export.add_argument("--level", type=int, metavar="N", help="kernelbench: level (default: the only one)")
    bring = command("import", _keeping("read_all"), "store what `export --format json` wrote", writes=True)
    bring.add_argument("file", type=Path, metavar="FILE", help="output of `export --format json`")
    bring.add_argument("--kernelbench", action="store_true", help="FILE is an eval_results.json")
    bring.add_argument("--level", type=int, metavar="N", help="its level (default: from the kernels beside it)")
    bring.add_argument("--author", metavar="NAME", help="its author (default: its folder's name)")
    author = command("author", _keeping("set_author"), "give stored submissions another author", writes=True)
    author.add_argument("action", choices=("set",), help="what to do")
    author.add_argument("author", metavar="NAME", help="their new author")
    submissions = author.add_mutually_exclusive_group(required=True)
    submissions.add_argument("--run", metavar="N", help="those of this run, also skipped ones: number, or `last`")
    submissions.add_argument("paths", nargs="*", default=[], metavar="PATH", help="submissions, bundles or folders")
    command("gc", _keeping("collect"), "remove unused rows, and free their space", writes=True)
    checks = command("check", _keeping("check"), "look for damage; exit code 1 if there is any")
    checks.add_argument("--deep", action="store_true", help="read all evaluations and hash all sources")
    checks.add_argument("--repair", action="store_true", help="rebuild derived data from the evaluations")
    return parser, commands.choices


if __name__ == "__main__":
    sys.exit(main())
