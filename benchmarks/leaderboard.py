"""Measures the time of queries of a large database, and of inserting results.

    python -m benchmarks.leaderboard [--evaluations N] [--problems N] [--authors N] [--db URL] [--repetitions N] [--json FILE]

Builds a database (in a temporary folder, or an empty one given by `--db`), runs each query many times with random parameters, and inserts
results from two processes at once, one by one as a run does (`save`) and in batches (`save_all`). Nearly all evaluations are written in
bulk without evidence; `--with-evidence` of them are saved with all evidence, and `show` is run on these. CPU time is this process's own:
with SQLite the whole cost of a query. Pages cache expensive answers until new results are stored, so the first time is reported too.
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
from benchmarks.questions import ask
from db.store import Store

TARGETS_MS = {
    "leaderboard of a problem": 50.0,
    "failures, all": 50.0,
    "failures of a problem": 50.0,
    "failures of an author": 50.0,
    "show": 20.0,
    "page: overall": 200.0,
    "page: leaderboard": 200.0,
    "page: leaderboard of a problem": 200.0,
    "page: problems": 200.0,
    "page: problem": 200.0,
    "page: author": 200.0,
    "page: failures": 200.0,
    "page: evaluations, sorted": 200.0,
    "page: evaluation": 200.0,
    "page: two evaluations": 200.0,
    "page: runs": 200.0,
    "page: live": 200.0,
}
INSERT_TARGET_S = 10.0


def insert_side(
    url: str, name: str, count: int, batch: int, options: argparse.Namespace, start: Barrier, busy: "multiprocessing.Queue[float]"
) -> None:
    """One of two processes; `busy` gets its CPU time in seconds."""
    with Store.open(url) as store:
        draw = random.Random(name)
        items = [result(draw, f"{name} {number}", options.authors, options.problems) for number in range(count)]
        start.wait()
        begun = time.process_time()
        for first in range(0, count, batch):
            store.save_all(items[first : first + batch])
        busy.put(time.process_time() - begun)


def insert(url: str, count: int, batch: int, options: argparse.Namespace) -> dict[str, float]:
    """Seconds that two processes take to store so many results together, and their CPU time, without making the results."""
    context = multiprocessing.get_context("spawn")
    start, busy = context.Barrier(3), context.Queue()
    sides = [
        context.Process(target=insert_side, args=(url, f"{os.getpid()} {time.time()} {side}", count // 2, batch, options, start, busy))
        for side in range(2)
    ]
    for side in sides:
        side.start()
    start.wait()
    begun = time.perf_counter()
    busy_s = sum(busy.get() for _ in sides)
    for side in sides:
        side.join()
    assert all(side.exitcode == 0 for side in sides)
    return {"results": count, "batch": batch, "wall_s": time.perf_counter() - begun, "processor_s": busy_s}


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
        record["questions"] = ask(store, options)
    record["inserts"] = [insert(url, options.inserts, 100, options), insert(url, options.inserts // 10, 1, options)]
    record["load_average"] = os.getloadavg()[0]
    return record


def show(record: dict[str, Any]) -> Table:
    table = Table(title=f"{record['evaluations']} evaluations in {record['database']}", title_justify="left")
    for name in ("what", "first", "median", "p95", "processor", "target"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for name, figures in record["questions"].items():
        target = f"{TARGETS_MS[name]:g} ms" if name in TARGETS_MS else ""
        table.add_row(
            name,
            f"{figures['first_ms']:.2f} ms",
            f"{figures['median_ms']:.2f} ms",
            f"{figures['p95_ms']:.2f} ms",
            f"{figures['processor_ms']:.2f} ms",
            target,
        )
    for figures in record["inserts"]:
        how = f"insert {figures['results']}, two writers, {figures['batch']} at once"
        target = f"{INSERT_TARGET_S:g} s" if figures["batch"] > 1 else ""
        table.add_row(how, "", "", f"{figures['wall_s']:.2f} s", f"{figures['processor_s']:.2f} s", target)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--authors", type=int, default=40)
    parser.add_argument("--with-evidence", type=int, default=2000, help="evaluations with all their evidence (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=100, help="times that each question is asked (default: %(default)s)")
    parser.add_argument(
        "--inserts",
        type=int,
        default=10_000,
        help="results that the two writers insert in batches, and a tenth one by one (default: %(default)s)",
    )
    parser.add_argument("--db", metavar="DB", help="a database that is empty, or that an earlier run has built")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args()
    if options.repetitions < 2:
        parser.error("--repetitions must be at least 2: a 95th percentile needs two times")
    with tempfile.TemporaryDirectory() as folder:
        record = run(options, options.db or f"sqlite:///{folder}/assay.db")
    Console().print(show(record))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
