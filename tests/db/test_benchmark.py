"""The benchmark of the database, small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.leaderboard import TARGETS_MS
from db.queries.leaderboard import leaderboard
from db.store import Store
from db.upkeep import check

pytestmark = pytest.mark.slow(10)

ROOT = Path(__file__).parents[2]


def test_the_benchmark_builds_a_sound_database_and_asks_every_question(tmp_path: Path) -> None:
    sizes = ["--evaluations", "400", "--with-evidence", "20", "--problems", "5", "--authors", "4", "--repetitions", "2", "--inserts", "40"]
    url = f"sqlite:///{tmp_path}/assay.db"
    words = [sys.executable, "-m", "benchmarks.leaderboard", *sizes, "--db", url, "--json", str(tmp_path / "figures.json")]
    finished = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    record = json.loads((tmp_path / "figures.json").read_text())
    assert record["evaluations"] == 400 and set(TARGETS_MS) <= set(record["questions"])
    assert [(side["results"], side["batch"]) for side in record["inserts"]] == [(40, 100), (4, 1)]
    with Store.open(url, read_only=True) as store:
        assert store.count() == 444
        assert check(store) == []
        assert len({row.problem for row in leaderboard(store)}) == 5
