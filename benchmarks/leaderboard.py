"""Measures the time of the pages of a large database, and of storing results.

    python -m benchmarks.leaderboard [--evaluations N] [--problems N] [--authors N] [--db URL] [--repetitions N] [--json FILE]

Builds a database (in a temporary folder, or an empty one given by `--db`), requests each page many times with random parameters, and stores
results from two processes at once, in batches. Nearly all evaluations are written in bulk without evidence; `--with-evidence` of them are
saved with all evidence. Pages cache expensive answers until new results are stored, so the first time is reported too.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.filling import build, result
from benchmarks.pages import ask
from db.store import Store

TARGET_MS = 200.0
"""Aim for the 95th percentile."""
INSERT_TARGET_S = 10.0
BATCH = 100
"""Results in a transaction."""


def insert_side(url: str, name: str, count: int, options: argparse.Namespace, start: Barrier) -> None:
    """One of two processes."""
    with Store.open(url) as store:
        draw = random.Random(name)
        items = [result(draw, f"{name} {number}", options.authors, options.problems) for number in range(count)]
        start.wait()
        for first in range(0, count, BATCH):
            store.save_all(items[first : first + BATCH])


def insert(url: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds that two processes take to store results together, without making the results."""
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(3)
    sides = [
        context.Process(target=insert_side, args=(url, f"{os.getpid()} {time.time()} {side}", options.inserts // 2, options, start))
        for side in range(2)
    ]
    for side in sides:
        side.start()
    start.wait()
    begun = time.perf_counter()
    for side in sides:
        side.join()
    assert all(side.exitcode == 0 for side in sides)
    return {"results": options.inserts, "wall_s": time.perf_counter() - begun}


def run(options: argparse.Namespace, url: str) -> dict[str, Any]:
    with Store.open(url) as store:
        kind = url.split(":")[0].split("+")[0]
        begun = time.perf_counter()
        if store.count() == 0:
            build(store, options)
        record: dict[str, Any] = {"database": kind, "evaluations": store.count(), "built_s": time.perf_counter() - begun}
        if kind == "sqlite":
            record["size_bytes"] = store.path.stat().st_size
        print(f"{record}", file=sys.stderr, flush=True)
        record["pages"] = ask(store, options)
    record["inserts"] = insert(url, options)
    record["load_average"] = os.getloadavg()[0]
    return record


def show(record: dict[str, Any]) -> Table:
    table = Table(title=f"{record['evaluations']} evaluations in {record['database']}", title_justify="left")
    for name in ("page", "first ms", "median ms", "p95 ms"):
        table.add_column(name, justify="left" if name == "page" else "right")
    for name, figures in record["pages"].items():
        mark = "" if figures["p95_ms"] <= TARGET_MS else f" over {TARGET_MS:g}"
        shown = (f"{figures[key]:.2f}" for key in ("first_ms", "median_ms", "p95_ms"))
        table.add_row(name + mark, *shown)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--authors", type=int, default=40)
    parser.add_argument("--with-evidence", type=int, default=2000, help="evaluations with all their evidence (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=100, help="requests of each page (default: %(default)s)")
    parser.add_argument("--inserts", type=int, default=10_000, help="results that the two writers store (default: %(default)s)")
    parser.add_argument("--db", metavar="DB", help="a database that is empty, or that an earlier run has built")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args()
    if options.repetitions < 2:
        parser.error("--repetitions must be at least 2: a 95th percentile needs two times")
    with tempfile.TemporaryDirectory() as folder:
        record = run(options, options.db or f"sqlite:///{folder}/assay.db")
    Console().print(show(record))
    stored = record["inserts"]
    print(f"{stored['results']} results stored in {stored['wall_s']:.2f} s (target {INSERT_TARGET_S:g})")
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
