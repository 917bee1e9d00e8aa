"""Query plans of the databases: each query uses an index, and does not read all evaluations. The benchmark, small."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from db.authorship import set_author
from db.queries.compare import compare
from db.queries.counterparts import best_other, previous
from db.queries.curves import best_speedups
from db.queries.disturbances import Disturbances
from db.queries.evaluations import Choice, evaluations
from db.queries.facets import failure_facets
from db.queries.filters import Filters
from db.queries.history import history
from db.queries.leaderboard import failures, leaderboard
from db.queries.overall import overall
from db.queries.problems import problems, versions
from db.queries.progress import author_progress, problem_progress
from db.queries.ratio import timed
from db.queries.run_comparison import compare_runs
from db.queries.runs import arrivals, came_between, of_ids, runs
from db.queries.steps import steps
from db.queries.texts import matching
from db.storage.origin import Origin
from db.store import Entry, EvaluationKey, Store
from db.upkeep import check
from evaluator.results.category import Category
from tests.command_line import PROJECT
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, result, sha256

pytestmark = pytest.mark.slow(2)

ALIASES = {
    "evaluations": ("evaluations", "later"),
    "submissions": ("submissions", "later_submission"),
    "sources": ("sources",),
    "search_texts": ("search_texts",),
}
"""Tables that grow with every evaluation, and what statements call them."""

QUESTIONS: dict[str, Callable[[Store], object]] = {
    "leaderboard": leaderboard,
    "leaderboard of a problem": lambda store: leaderboard(store, Filters(problem="p4")),
    "leaderboard of an author": lambda store: leaderboard(store, Filters(author="author 1")),
    "every submission": lambda store: leaderboard(store, Filters(problem="p4"), every=True),
    "overall": overall,
    "leaderboard with reduced precision": lambda store: leaderboard(store, reduced_precision=True),
    "overall with reduced precision": lambda store: overall(store, reduced_precision=True),
    "disturbances": lambda store: Disturbances(store).told(leaderboard(store), "result_id"),
    "failures": failures,
    "failures of a problem": lambda store: failures(store, Filters(problem="p4")),
    "failures of an author": lambda store: failures(store, Filters(author="author 1", device="NVIDIA H200")),
    "facets of failures": failure_facets,
    "facets of an author's failures": lambda store: failure_facets(store, Filters(author="author 1", problem="p4")),
    "compare": lambda store: compare(store, "author 1", "author 2", Filters(case="full")),
    "history": lambda store: history(store, "s7"),
    "show": lambda store: store.get(7),
    "problems": problems,
    "versions": lambda store: versions(store, "p4"),
    "progress of a problem": lambda store: problem_progress(store, "p4"),
    "progress of an author": lambda store: author_progress(store, "author 1"),
    "best speedups": best_speedups,
    "latest": lambda store: arrivals(store, 20, after=7),
    "of a run": lambda store: arrivals(store, 20, run_id=3),
    "some": lambda store: of_ids(store, [7, 8]),
    "evaluations of a problem": lambda store: evaluations(store, Choice(Filters(problem="p4")), 20),
    "evaluations of an author": lambda store: evaluations(store, Choice(Filters(author="author 1", problem="p4")), 20),
    "a search": lambda store: matching(store, "some_words of"),
    "a search of short words": lambda store: matching(store, "1 ("),
    "evaluations of a run": lambda store: evaluations(store, Choice(run_id=3), 20),
    "evaluations of a step": lambda store: evaluations(store, Choice(step=12), 20),
    "evaluations with a tag": lambda store: evaluations(store, Choice(Filters(author="author 1"), tag="run=first"), 20),
    "steps": lambda store: steps(store, "author 1"),
    "runs": lambda store: runs(store, 20),
    "two evaluations": lambda store: timed(store, 7, 8),
    "the best other": lambda store: best_other(store, timed(store, 8)[8]),
    "the one before": lambda store: previous(store, timed(store, 990)[990]),
    "two runs": lambda store: compare_runs(store, 1, 2),
    "two runs of an author": lambda store: compare_runs(store, 1, 2, Filters(problem="p4", author="author 1")),
    "news": lambda store: came_between(store, 990, 1000),
    "judged": lambda store: store.judged_among([EvaluationKey("s7", None, sha256("7"), sha256(PROBLEM_SOURCE), "full", "NVIDIA H200")]),
    "another author": lambda store: set_author(store, "author 9", None, ["s7"]),
    "save": lambda store: store.save(result(submission="new", source="new"), "new", PROBLEM_SOURCE),
    "save again": lambda store: store.save(result(submission="s7", source="7"), "7", PROBLEM_SOURCE),
    "import": lambda store: store.add_missing([Entry(result(submission="other"), "class ModelNew: ...")]),
}


def fill(store: Store) -> None:
    """A thousand evaluations, so that PostgreSQL has a choice too."""
    items = []
    for number in range(1000):
        category = (Category.TIMEOUT, Category.OK, Category.REDUCED_PRECISION if number % 20 == 1 else Category.OK)[number % 3]
        saved = result(category, str(number), submission=f"s{number}", author=f"author {number % 5}", problem=f"p{number % 20}")
        asked = (Origin(number, None, {"run": "first"}),) if number % 4 == 0 else ()
        items.append(Entry(saved, str(number), PROBLEM_SOURCE, origins=asked))
    for part in (items[:500], items[500:]):
        store.start_run(["pipeline.py"])
        store.save_all(part)
    store.compact()


@BOTH
def test_no_question_reads_all_evaluations(store: Store) -> None:
    fill(store)
    for statement in ("SELECT * FROM evaluations WHERE message = 'x'", "SELECT * FROM sources WHERE text = 'x'"):
        assert reads_all(explain(store, statement, ())), "one that does is noticed"
    for name, question in QUESTIONS.items():
        statements: list[tuple[str, Any]] = []

        def note(
            _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool, found: Any = statements
        ) -> None:
            found.append((statement, parameters[0] if many else parameters))

        event.listen(store._engine, "before_cursor_execute", note)
        question(store)
        event.remove(store._engine, "before_cursor_execute", note)
        explained = [pair for pair in statements if re.match("SELECT (?!pg_)|WITH|UPDATE|DELETE|INSERT", pair[0])]
        assert explained, name
        for statement, parameters in explained:
            plan = explain(store, statement, parameters)
            assert not reads_all(plan), f"{name}\n{statement}\n{plan}"


def explain(store: Store, statement: str, parameters: Any) -> str:
    with store._writer.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if not sqlite:
            # A thousand rows are read at once sooner than by an index; what is asked is whether there is an index that serves.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        found = connection.exec_driver_sql(("EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN ") + statement, parameters)
        plan = "\n".join(row[-1] for row in found)
        connection.rollback()
    return plan


def reads_all(plan: str) -> bool:
    """Whether a plan reads all rows of a large table. Reading a partial index does not count."""
    names = "|".join(alias for aliases in ALIASES.values() for alias in aliases)
    return bool(re.search(rf"^\s*SCAN ({names})$|Seq Scan on ({'|'.join(ALIASES)})\b", plan, re.MULTILINE))


@pytest.mark.nightly
def test_the_benchmark_builds_a_sound_database_and_requests_every_page(tmp_path: Path) -> None:
    sizes = ["--evaluations", "400", "--with-evidence", "20", "--problems", "5", "--authors", "4", "--repetitions", "2", "--inserts", "40"]
    url = f"sqlite:///{tmp_path}/assay.db"
    words = [sys.executable, "-m", "benchmarks.leaderboard", *sizes, "--db", url, "--json", str(tmp_path / "figures.json")]
    finished = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    record = json.loads((tmp_path / "figures.json").read_text())
    assert record["evaluations"] == 400 and len(record["pages"]) == 15
    assert record["inserts"]["results"] == 40
    with Store.open(url, read_only=True) as store:
        assert store.count() == 440
        assert check(store) == []
        assert len({row.problem for row in leaderboard(store)}) == 5
