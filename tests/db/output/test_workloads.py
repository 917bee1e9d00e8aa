"""Workloads in the text output, the picture and the page."""

import json

import pytest

from db.output.plot_workloads import workloads_figure
from db.output.show_timing import workloads_section
from db.store import Store
from tests.db.queries.test_workload_boards import in_workloads, timing
from tests.db.test_main import output, run


def test_show_lists_the_workloads(sqlite_store: Store, sqlite_url: str) -> None:
    number = sqlite_store.save(in_workloads("ada", small=2.0, large=None), "of ada")
    lines = output("--db", sqlite_url, "show", str(number)).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("Workloads (2;"))
    assert lines[start + 2].split() == ["small", "4096", "2", "4", "2", "1.8", "to", "2.2"]
    assert lines[start + 3].split() == ["large", "4096", "0.1", "no"]


def test_leaderboard_ranks_by_a_workload(sqlite_store: Store, sqlite_url: str) -> None:
    sqlite_store.save(in_workloads("ada", small=2.0, large=8.0), "of ada")
    sqlite_store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    text = output("--db", sqlite_url, "leaderboard", "--case", "small")
    assert "softmax · small · NVIDIA H200" in text and text.index("bob.py") < text.index("ada.py")
    rows = json.loads(output("--db", sqlite_url, "leaderboard", "--case", "large", "--json"))
    assert [(row["rank"], row["author"], row["case"], row["speedup"]) for row in rows] == [
        (1, "ada", "large", 8.0),
        (2, "bob", "large", 4.0),
    ]
    missing = run("--db", sqlite_url, "leaderboard", "--case", "smal")
    assert missing.returncode != 0 and "no case 'smal'" in missing.stderr


def test_nothing_is_told_of_one_case() -> None:
    assert list(workloads_section(timing(2.0))) == []


def test_every_workload_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    found = in_workloads("ada", small=2.0, large=8.0, huge=None).evidence.timing
    assert found is not None
    (axes,) = workloads_figure(found).axes
    assert [text.get_text() for text in axes.texts] == ["small", "large", "huge"]
    assert [container.lines[0].get_ydata()[0] for container in axes.containers] == [2.0, 8.0, 0.1]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
