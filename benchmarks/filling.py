"""Makes a large database for queries: made-up problems, authors and evaluations, some with all evidence of a real one."""

import argparse
import hashlib
import random
import statistics
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import DeclarativeBase

from db.schema.models import AuthorRow, BoardRow, CaseRow, EnvironmentRow, EvaluationRow, ProblemRow, SourceRow, SubmissionRow
from db.storage.rows import BoardKey, text_sha256
from db.storage.standing import rebuild
from db.store import Entry, Store
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.evidence import BuildEvidence, ErrorFigures, Evidence, LaunchRecord, RoundEvidence, TimingEvidence, TimingSide
from evaluator.results.result import Environment, Result

DEVICE = "NVIDIA H200"
REPEATED_SHARE = 0.1
"""Share of evaluations of an already evaluated submission."""
OK_SHARE = 0.45
CALLS = 30
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
    """Fill an empty database; equal options make equal databases."""
    draw = random.Random(0)
    authors, problems, bulk = options.authors, options.problems, options.evaluations - options.with_evidence
    names = [author(number) for number in range(authors)]
    boards = [BoardKey(problem(number), sha256(problem_source(number)), "full", DEVICE, "own") for number in range(problems)]
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


def _insert(store: Store, model: type[DeclarativeBase], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Load in bulk, by the fastest way of each database."""
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
    """A correct result with all evidence of a real one."""
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
