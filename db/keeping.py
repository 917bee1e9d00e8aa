"""The commands that import, export and maintain. Each returns the text to print, and the exit code."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from db import authorship, exchange, upkeep
from db.error import StoreError
from db.foreign import import_kernelbench
from db.kernelbench_results import export_kernelbench
from db.list_options import choice_of
from db.output import report
from db.queries.evaluations import chosen
from evaluator.results.display.figures import count_text
from evaluator.results.display.pace import Tell
from evaluator.results.display.progress import long_work
from evaluator.results.display.text import plain_line

if TYPE_CHECKING:
    from db.store import Store

EXIT_FAULT = 1
"""Exit code of `check` when it finds a fault."""
Answer = tuple[str, int]
SiteWriter = Callable[["Store", Path], int]
"""Writes all pages into a folder. Returns the number of files."""


def write_all(store: "Store", options: argparse.Namespace) -> Answer:
    """`export`."""
    where = chosen(store, choice_of(store, options))
    if getattr(options, "site", None) is not None:
        if where or options.output is not None or options.level is not None:
            raise StoreError("--site writes all pages: filters, --output and --level are for --format.")
        return _write_site(store, options)
    if options.format is None:
        raise StoreError("Nothing to export is named: give --format FORMAT" + (", or --site DIR." if options.write_site else "."))
    if options.output is None and options.json:
        raise StoreError("With --json, also give --output FILE: --json prints what was written.")
    if options.format != "kernelbench" and options.level is not None:
        raise StoreError("--level is for --format kernelbench.")
    with long_work("Writing", store.count(where), beside_output=options.output is None) as work:
        if options.output is None:
            _, left_out = _write(store, options, sys.stdout.buffer, work.advance, where)
            sys.stdout.flush()
            sys.stderr.write(f"{count_text(left_out, 'evaluation')} left out\n" if left_out else "")
            return "", 0
        # An existing file is replaced only when the new one is complete.
        unfinished = options.output.with_name(options.output.name + ".part")
        try:
            with unfinished.open("wb") as file:
                count, left_out = _write(store, options, file, work.advance, where)
            unfinished.replace(options.output)
        except OSError as error:
            raise StoreError(f"{options.output} can't be written: {error.strerror}.") from error
        finally:
            unfinished.unlink(missing_ok=True)
    told = {"file": str(options.output), "format": options.format, "evaluations": count, "left_out": left_out}
    more = f", {left_out} left out" if left_out else ""
    return report.dump(told) if options.json else f"{count_text(count, 'evaluation')} written to {options.output}{more}\n", 0


def _write_site(store: "Store", options: argparse.Namespace) -> Answer:
    files, start = options.write_site(store, options.site), options.site / "index.html"
    if options.json:
        return report.dump({"start": str(start), "files": files}), 0
    return plain_line(f"{count_text(files, 'file')} written; open {start}") + "\n", 0


def _write(store: "Store", options: argparse.Namespace, file: IO[bytes], tell: Tell, where: Sequence[Any]) -> tuple[int, int]:
    """Write evaluations; returns the numbers of those written and left out."""
    if options.format == "kernelbench":
        return export_kernelbench(store, file, options.level, tell, where)
    writers = {"csv": exchange.export_csv, "json": exchange.export_json, "parquet": exchange.export_parquet}
    return writers[options.format](store, file, tell, where), 0


def read_all(store: "Store", options: argparse.Namespace) -> Answer:
    """`import`."""
    if options.kernelbench:
        read, added = import_kernelbench(store, options.file, options.level, options.author)
    else:
        with long_work("Reading") as work:
            read = exchange.count_lines(options.file, tell=work.advance)
        with long_work("Storing", read) as work:
            added = exchange.store_lines(store, options.file, tell=work.advance)
    told = {"file": str(options.file), "read": read, "added": added, "known": read - added}
    return report.dump(
        told
    ) if options.json else f"{count_text(read, 'evaluation')} read, {added} added; the others were already stored\n", 0


def set_author(store: "Store", options: argparse.Namespace) -> Answer:
    """`author set`."""
    change = authorship.set_author(store, options.author, options.run, options.paths)
    return report.dump(change) if options.json else report.author_change_text(change), 0


def collect(store: "Store", options: argparse.Namespace) -> Answer:
    """`gc`."""
    with long_work("Removing", upkeep.COLLECT_STEPS) as work:
        removed = upkeep.collect(store, work.advance)
    went = ", ".join(f"{count} {table}" for table, count in removed.items() if count) or "nothing"
    return report.dump({"removed": removed}) if options.json else f"removed unused rows: {went}\n", 0


def check(store: "Store", options: argparse.Namespace) -> Answer:
    """`check`."""
    with long_work("Checking", store.count() if options.deep else None) as work:
        if options.repair:
            upkeep.repair(store)
        faults, spooled = upkeep.check(store, options.deep, work.advance), upkeep.waiting(store)
    code = EXIT_FAULT if faults else 0
    if options.json:
        return report.dump({"ok": not faults, "faults": faults, "evaluations": store.count(), "waiting": spooled}), code
    told = [*faults, *(f"{path} waits for the next run to import it, or belongs to a run under way" for path in spooled)]
    told.append(f"{count_text(store.count(), 'evaluation')}: {count_text(len(faults), 'fault') if faults else 'no fault'}")
    return "".join(plain_line(line) + "\n" for line in told), code
