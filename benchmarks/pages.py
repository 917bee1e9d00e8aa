"""The pages of a large database, for `benchmarks.leaderboard`, called in this process through ASGI, and the time of each.

A browser also waits for the network, and for pictures, which have their own addresses and come after the page.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from urllib.parse import urlencode

from fastapi.testclient import TestClient

from benchmarks.filling import author, problem
from db.list_options import ORDERS
from db.store import Store
from web.app import create_app

BUDGET_S = 20.0
FEWEST = 20
"""Minimum repetitions of a slow page; more only within the budget."""

_SORTED = tuple(name for name in ORDERS if name != "submission")
Question = Callable[[random.Random], object]


def ask(store: Store, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Number of requests of each page, the first time, median and 95th percentile, in milliseconds."""
    last = store.count()
    with TestClient(create_app(store)) as client:

        def get(path: str, **parameters: str | int) -> bytes:
            answer = client.get(f"{path}?{urlencode(parameters)}" if parameters else path)
            assert answer.status_code == 200, (path, answer.text)
            return answer.content

        def a_problem(draw: random.Random) -> str:
            return problem(draw.randrange(options.problems))

        def an_author(draw: random.Random) -> str:
            return author(draw.randrange(options.authors))

        questions: dict[str, Question] = {
            "overall": lambda _: get("/"),
            "leaderboard": lambda draw: get("/leaderboard", sort="speedup", page=draw.randrange(1, 20)),
            "leaderboard of a problem": lambda draw: get("/leaderboard", problem=a_problem(draw)),
            "problems": lambda _: get("/problems", sort="best"),
            "problem": lambda draw: get("/problem", name=a_problem(draw)),
            "author": lambda draw: get("/author", name=an_author(draw)),
            "failures": lambda _: get("/failures"),
            "failures of a problem": lambda draw: get("/failures", problem=a_problem(draw)),
            "evaluations of a category": lambda draw: get("/evaluations", category="timeout", author=an_author(draw)),
            "evaluations, sorted": lambda draw: get("/evaluations", sort=draw.choice(_SORTED), page=draw.randrange(1, 200)),
            "search": lambda draw: get("/search", q=f"{draw.randrange(1000)}/{draw.randrange(last)}.md"),
            "evaluation": lambda draw: get(f"/evaluation/{last - draw.randrange(100)}"),
            "two evaluations": lambda draw: get("/compare", left="best", right=last - draw.randrange(100)),
            "runs": lambda _: get("/runs"),
            "live": lambda _: get("/live"),
        }
        return {name: _asked(name, question, options.repetitions) for name, question in questions.items()}


def _asked(name: str, question: Question, repetitions: int) -> dict[str, float]:
    draw = random.Random(1)
    first = time.perf_counter()
    question(draw)
    first_ms = 1e3 * (time.perf_counter() - first)
    times_ms: list[float] = []
    begun = time.perf_counter()
    while len(times_ms) < repetitions and (len(times_ms) < FEWEST or time.perf_counter() - begun < BUDGET_S):
        start = time.perf_counter()
        question(draw)
        times_ms.append(1e3 * (time.perf_counter() - start))
    found = {
        "asked": len(times_ms),
        "first_ms": first_ms,
        "median_ms": statistics.median(times_ms),
        "p95_ms": statistics.quantiles(times_ms, n=20)[-1],
    }
    print(f"{name}: median {found['median_ms']:.2f} ms, p95 {found['p95_ms']:.2f} ms", file=sys.stderr, flush=True)
    return found
