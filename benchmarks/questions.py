"""Queries of a large database, and the time of each answer."""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.filling import DEVICE, author, problem, sha256
from benchmarks.pages import page_questions
from db.output.page import page
from db.output.show import evaluation_text
from db.queries.compare import compare
from db.queries.filters import Filters
from db.queries.history import history
from db.queries.leaderboard import failures, leaderboard
from db.queries.overall import overall
from db.store import EvaluationKey, Store, StoredEvaluation

BUDGET_S = 20.0
FEWEST = 20
"""Minimum repetitions of a slow query; more only within the budget."""


def questions(store: Store, options: argparse.Namespace) -> dict[str, Callable[[random.Random], object]]:
    """The queries by name; each takes its parameters from the generator."""
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
        "leaderboard of a problem": lambda draw: leaderboard(store, Filters(problem=a_problem(draw))),
        "leaderboard of a problem, every submission": lambda draw: leaderboard(store, Filters(problem=a_problem(draw)), every=True),
        "leaderboard of an author": lambda draw: leaderboard(store, Filters(author=an_author(draw))),
        "leaderboard, all, first three ranks": lambda _: leaderboard(store, top=3),
        "leaderboard, all": lambda _: leaderboard(store),
        "overall board": lambda _: overall(store),
        "failures, all": lambda _: failures(store),
        "failures of a problem": lambda draw: failures(store, Filters(problem=a_problem(draw))),
        "failures of an author": lambda draw: failures(store, Filters(author=an_author(draw))),
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
    """Number of runs of each query, the first time, median, 95th percentile, and mean CPU time of this process, in
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
