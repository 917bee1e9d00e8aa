"""How long questions to a large database take, and how fast results go into it.

    python -m benchmarks.leaderboard [--evaluations N] [--problems N] [--authors N] [--db URL] [--repetitions N] [--json FILE]

Builds a database (in a temporary folder unless `--db` names one, which must be empty), asks each question many times with parameters drawn
at random, and inserts results from two processes at once, as a pipeline does (`save`) and in batches (`save_all`). Nearly all
evaluations are written in bulk and have no evidence; `--with-evidence` many go through the store with all of it, and `show` is asked
for these. Processor time is this process's own: with SQLite all that a question costs, whatever else the machine does. Pages remember
answers that are dear to find until something new is stored: what the first costs is told too.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.pages import page_questions
from db.boards import Filters
from db.compare import compare
from db.history import history
from db.leaderboard import failures, leaderboard
from db.models import AuthorRow, BoardRow, CaseRow, EnvironmentRow, EvaluationRow, ProblemRow, SourceRow, SubmissionRow
from db.overall import overall
from db.page import page
from db.rows import Board, text_sha256
from db.show import evaluation_text
from db.standing import rebuild
from db.store import Entry, EvaluationKey, Store, StoredEvaluation
from evaluator.category import CATEGORIES, Category, Status
from evaluator.result import (
    BuildEvidence,
    Environment,
    ErrorFigures,
    Evidence,
    LaunchRecord,
    Result,
    RoundEvidence,
    TimingEvidence,
    TimingSide,
)

DEVICE = "NVIDIA H200"
REPEATED_SHARE = 0.1
"""Of the evaluations, how many are of a submission that has been evaluated before."""
OK_SHARE = 0.45
CALLS = 30
TARGETS_MS = {
    "leaderboard of a problem": 50.0,
    "failures, all": 50.0,
    "failures of a problem": 50.0,
    "failures of an author": 50.0,
    "show": 20.0,
    "page: overall": 200.0,
    "page: leaderboard": 200.0,
    "page: leaderboard of a problem": 200.0,
    "page: problem": 200.0,
    "page: author": 200.0,
    "page: failures": 200.0,
    "page: evaluation": 200.0,
    "page: live": 200.0,
}
INSERT_TARGET_S = 10.0
BUDGET_S = 20.0
FEWEST = 20
"""A slow question is asked this often at least, and no longer than the budget otherwise."""
_START = datetime(2026, 1, 1, tzinfo=UTC)
_FAILED = [category for category, info in CATEGORIES.items() if info.status not in (Status.CORRECT, Status.REJECTED, Status.NOT_EVALUATED)]
_ENVIRONMENT = Environment(
    device_kind="cuda", device_name=DEVICE, torch="2.11.0", python="3.12.0", cpu="a CPU", cpu_count=16, platform="Linux"
)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def author(number: int) -> str:
    return f"author {number:02}"


def problem(number: int) -> str:
    return f"problem_{number:03}"


def problem_source(number: int) -> str:
    return f"class Model: ...  # {number}\n"


def build(store: Store, options: argparse.Namespace) -> None:
    """Fill an empty database; the same options make the same database."""
    draw = random.Random(0)
    authors, problems, bulk = options.authors, options.problems, options.evaluations - options.with_evidence
    names = [author(number) for number in range(authors)]
    boards = [Board(problem(number), sha256(problem_source(number)), "full", DEVICE, "own") for number in range(problems)]
    environment = _ENVIRONMENT.model_dump_json()
    _insert(store, AuthorRow, ("id", "sha256", "name"), ((1 + number, text_sha256(name), name) for number, name in enumerate(names)))
    _insert(store, EnvironmentRow, ("id", "sha256", "device_name", "json"), [(1, sha256("first"), DEVICE, environment)])
    _insert(
        store,
        ProblemRow,
        ("name", "sha256", "source"),
        ((problem(n), sha256(problem_source(n)), problem_source(n)) for n in range(problems)),
    )
    _insert(store, CaseRow, ("problem", "problem_sha256", "name"), ((board.problem, board.problem_sha256, "full") for board in boards))
    columns = ("problem", "problem_sha256", "case", "device_name", "precision")
    _insert(
        store,
        BoardRow,
        ("id", "sha256", *columns),
        ((1 + number, board.sha256, *(getattr(board, name) for name in columns)) for number, board in enumerate(boards)),
    )
    submissions = int(bulk * (1 - REPEATED_SHARE))
    _insert(
        store,
        SourceRow,
        ("id", "sha256", "exact", "text"),
        ((n, sha256(f"source {n}"), 1, f"source {n}") for n in range(1, submissions + 1)),
    )
    owners = [1 + draw.randrange(authors) for _ in range(submissions)]
    _insert(
        store,
        SubmissionRow,
        ("id", "name", "block", "author_id", "sample_id"),
        ((n, f"responses/{n % problems:03}/{n}.md", 1, owners[n - 1], n % 50) for n in range(1, submissions + 1)),
    )
    _insert(store, EvaluationRow, _COLUMNS, _evaluations(draw, bulk, submissions, owners, authors, problems))
    with store.change() as connection:
        if connection.dialect.name == "postgresql":
            for table in ("authors", "environments", "boards", "sources", "submissions", "evaluations"):
                connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))")
        rebuild(connection)
    for start in range(0, options.with_evidence, 200):
        store.save_all([result(draw, f"evident {start + n}", authors, problems) for n in range(min(200, options.with_evidence - start))])
    store.compact()


_COLUMNS = (
    *("id", "submission_id", "author_id", "board_id", "source_id", "environment_id", "is_current", "is_ranked", "status", "category"),
    *("runtime_ms", "baseline_ms", "speedup", "speedup_low", "speedup_high", "device", "started_at", "duration_s", "evaluator_version"),
    *("message", "hint", "digest", "evidence"),
)


def _evaluations(
    draw: random.Random, count: int, submissions: int, owners: Sequence[int], authors: int, problems: int
) -> Iterator[tuple[Any, ...]]:
    evidence = zlib.compress(b"{}")
    for number in range(1, count + 1):
        submission = number if number <= submissions else draw.randrange(1, submissions + 1)
        owner = owners[submission - 1]
        category = Category.OK if draw.random() < OK_SHARE else draw.choice(_FAILED)
        times: tuple[float | None, ...] = (None,) * 5
        if category is Category.OK:
            speedup = draw.lognormvariate((owner - authors / 2) / authors, 0.5)
            times = (1.0, speedup, speedup, speedup * 0.99, speedup * 1.01)
        moment = (_START + timedelta(seconds=number)).isoformat(timespec="microseconds")
        yield (
            *(number, submission, owner, 1 + submission % problems, submission, 1, False, False, category.status.value, category.value),
            *(*times, "cuda:0", moment, 1.5, "0.2.0", "as observed", "", draw.randbytes(16), evidence),
        )


def _insert(store: Store, model: Any, columns: Sequence[str], rows: Any) -> None:
    """Bulk loading, as fast as either database has it."""
    names = ", ".join(f'"{name}"' for name in columns)
    with store.change() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        if connection.dialect.name == "sqlite":
            driver.executemany(f"INSERT INTO {model.__tablename__} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
            return
        with driver.cursor() as cursor, cursor.copy(f"COPY {model.__tablename__} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def result(draw: random.Random, name: str, authors: int, problems: int) -> Entry:
    """A correct result with the evidence that a real one has."""
    candidate, baseline = ([draw.lognormvariate(mean, 0.02) for _ in range(CALLS)] for mean in (0.0, 0.5))
    speedup = statistics.median(baseline) / statistics.median(candidate)
    figures = ErrorFigures(
        output="", elements=1 << 24, wrong=0, max_error=1e-6, rms_error=1e-7, tolerance=4e-5, reference_error=1e-6, pattern=""
    )
    rounds = tuple(RoundEvidence(index=n, seed=draw.getrandbits(62), distribution="own", passed=True, outputs=(figures,)) for n in range(5))
    output = "".join(f"cuda.cu({draw.randrange(100)}): warning: declared and not used\n" for _ in range(20))
    launch = LaunchRecord(
        api="cudaLaunchKernel",
        kernel="kernel(float const*, float*, long)",
        object="extension",
        own=True,
        count=60,
        grid=(1024, 1, 1),
        block=(256, 1, 1),
        shared_bytes=0,
        code=0,
        first=1,
    )
    evidence = Evidence(
        sandbox="namespaces",
        stage="time",
        builds=(BuildEvidence(name="ext", key="k" * 64, ok=True, uses_cuda=True, duration_s=9.5, output=output),),
        launches=(launch,),
        rounds=rounds,
        timing=TimingEvidence(clock="cuda_event", calls=CALLS, candidate=_side(candidate), baseline=_side(baseline)),
        stages_s={"load": 0.25, "build": 9.5, "rounds": 0.5, "time": 1.5},
    )
    number = draw.randrange(problems)
    source = f"class ModelNew: ...  # {name}\n" * 40
    made = Result(
        submission=f"responses/{name}.md",
        author=author(draw.randrange(authors)),
        problem=problem(number),
        case="full",
        precision="own",
        device="cuda:0",
        status=Status.CORRECT,
        category=Category.OK,
        message="",
        runtime_ms=statistics.median(candidate),
        baseline_ms=statistics.median(baseline),
        speedup=speedup,
        source_sha256=sha256(source),
        problem_sha256=sha256(problem_source(number)),
        started_at=_START,
        duration_s=12.5,
        evidence=evidence,
        environment=_ENVIRONMENT,
    )
    return Entry(made, source, problem_source(number))


def _side(samples: list[float]) -> TimingSide:
    lower, median, upper = statistics.quantiles(samples, n=4)
    return TimingSide(
        median_ms=median,
        lower_quartile_ms=lower,
        upper_quartile_ms=upper,
        samples_ms=tuple(samples),
        wall_ms=tuple(s + 0.2 for s in samples),
    )


def questions(store: Store, options: argparse.Namespace) -> dict[str, Callable[[random.Random], object]]:
    """What is asked, by name; each takes its parameters from the generator."""
    last = store.count()

    def a_problem(draw: random.Random) -> str:
        return problem(draw.randrange(options.problems))

    def an_author(draw: random.Random) -> str:
        return author(draw.randrange(options.authors))

    def stored(draw: random.Random) -> StoredEvaluation:
        found = store.get(last - draw.randrange(max(1, options.with_evidence)))
        assert found is not None
        return found

    def keys(draw: random.Random) -> list[EvaluationKey]:
        numbers = [draw.randrange(1, last) for _ in range(500)]
        return [
            EvaluationKey(f"responses/{n % options.problems:03}/{n}.md", 1, sha256(f"source {n}"), None, "full", DEVICE) for n in numbers
        ]

    return {
        "leaderboard of a problem": lambda draw: leaderboard(store, problem=a_problem(draw)),
        "leaderboard of a problem, every submission": lambda draw: leaderboard(store, problem=a_problem(draw), every=True),
        "leaderboard of an author": lambda draw: leaderboard(store, author=an_author(draw)),
        "leaderboard, all, first three ranks": lambda _: leaderboard(store, top=3),
        "leaderboard, all": lambda _: leaderboard(store),
        "overall board": lambda _: overall(store),
        "failures, all": lambda _: failures(store),
        "failures of a problem": lambda draw: failures(store, problem=a_problem(draw)),
        "failures of an author": lambda draw: failures(store, author=an_author(draw)),
        "compare two authors": lambda draw: compare(store, author(0), author(draw.randrange(1, options.authors)), Filters()),
        "history of a submission": lambda draw: history(
            store, f"responses/{(n := draw.randrange(1, last // 2)) % options.problems:03}/{n}.md"
        ),
        "show": stored,
        "show, laid out as text": lambda draw: evaluation_text(stored(draw), with_source=True),
        "500 look-ups of what is judged": lambda draw: store.judged_among(keys(draw)),
        "HTML page of everything": lambda _: page(store),
    }


def ask(store: Store, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """How often each question was asked, the first time, the median and 95th percentile, and the mean of this process's processor time, in
    milliseconds."""

    def a_problem(draw: random.Random) -> str:
        return problem(draw.randrange(options.problems))

    def an_author(draw: random.Random) -> str:
        return author(draw.randrange(options.authors))

    with page_questions(store, a_problem, an_author) as of_pages:
        return {name: _asked(name, question, options) for name, question in (questions(store, options) | of_pages).items()}


def _asked(name: str, question: Callable[[random.Random], object], options: argparse.Namespace) -> dict[str, float]:
    draw = random.Random(1)
    first = time.perf_counter()
    question(draw)
    first_ms = 1e3 * (time.perf_counter() - first)
    times_ms: list[float] = []
    busy = time.process_time()
    begun = time.perf_counter()
    while len(times_ms) < options.repetitions and (len(times_ms) < FEWEST or time.perf_counter() - begun < BUDGET_S):
        start = time.perf_counter()
        question(draw)
        times_ms.append(1e3 * (time.perf_counter() - start))
    busy_ms = 1e3 * (time.process_time() - busy) / len(times_ms)
    found = {
        "asked": len(times_ms),
        "first_ms": first_ms,
        "median_ms": statistics.median(times_ms),
        "p95_ms": statistics.quantiles(times_ms, n=20)[-1],
        "processor_ms": busy_ms,
    }
    print(f"{name}: median {found['median_ms']:.2f} ms, p95 {found['p95_ms']:.2f} ms", file=sys.stderr, flush=True)
    return found


def insert_side(url: str, name: str, count: int, batch: int, options: argparse.Namespace, start: Any, busy: Any) -> None:
    """One of two processes; `busy` gets the seconds of processor time that it took."""
    with Store.open(url) as store:
        draw = random.Random(name)
        items = [result(draw, f"{name} {number}", options.authors, options.problems) for number in range(count)]
        start.wait()
        begun = time.process_time()
        for first in range(0, count, batch):
            store.save_all(items[first : first + batch])
        busy.put(time.process_time() - begun)


def insert(url: str, count: int, batch: int, options: argparse.Namespace) -> dict[str, float]:
    """Seconds that two processes take for so many results together, and their processor time; making the results is not counted."""
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
    parser.add_argument("--db", metavar="URL", help="a database that is empty, or that an earlier run has built")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = run(options, options.db or f"sqlite:///{folder}/assay.db")
    Console().print(show(record))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
