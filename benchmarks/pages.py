"""The pages of a large database as queries for `benchmarks.leaderboard`, called in this process through ASGI.

A browser also waits for the network, and for pictures, which have their own addresses and come after the page.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from fastapi.testclient import TestClient

from db.list_options import ORDERS
from db.store import Store
from web.app import create_app

_SORTED = tuple(name for name in ORDERS if name != "submission")
Question = Callable[[random.Random], object]


@contextmanager
def page_questions(
    store: Store, problem: Callable[[random.Random], str], author: Callable[[random.Random], str]
) -> Iterator[dict[str, Question]]:
    """The queries by name; the functions choose random problems and authors."""
    last = store.count()
    with TestClient(create_app(store)) as client:

        def get(path: str, **parameters: str | int) -> bytes:
            answer = client.get(f"{path}?{urlencode(parameters)}" if parameters else path)
            assert answer.status_code == 200, (path, answer.text)
            return answer.content

        yield {
            "page: overall": lambda _: get("/"),
            "page: leaderboard": lambda draw: get("/leaderboard", sort="speedup", page=draw.randrange(1, 20)),
            "page: leaderboard of a problem": lambda draw: get("/leaderboard", problem=problem(draw)),
            "page: problems": lambda _: get("/problems", sort="best"),
            "page: problem": lambda draw: get("/problem", name=problem(draw)),
            "page: author": lambda draw: get("/author", name=author(draw)),
            "page: failures": lambda _: get("/failures"),
            "page: failures of a problem": lambda draw: get("/failures", problem=problem(draw)),
            "page: evaluations of a category": lambda draw: get("/evaluations", category="timeout", author=author(draw)),
            "page: evaluations, sorted": lambda draw: get("/evaluations", sort=draw.choice(_SORTED), page=draw.randrange(1, 200)),
            "page: search": lambda draw: get("/search", q=f"{draw.randrange(1000)}/{draw.randrange(last)}.md"),
            "page: evaluation": lambda draw: get(f"/evaluation/{last - draw.randrange(100)}"),
            "page: two evaluations": lambda draw: get("/compare", left="best", right=last - draw.randrange(100)),
            "page: runs": lambda _: get("/runs"),
            "page: live": lambda _: get("/live"),
        }
