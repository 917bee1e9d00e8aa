"""How long a worker takes to start, both ways."""

import json
from pathlib import Path

import pytest

from benchmarks.workers import main


def test_both_ways_get_to_their_first_operation_and_the_forked_one_sooner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "workers.json"
    assert main(["--repetitions", "2", "--device", "cpu", "--json", str(target)]) == 0
    report = json.loads(target.read_text())
    forked, fresh = report["ways"]
    assert (forked["name"], fresh["name"]) == ("forked", "fresh")
    for way in report["ways"]:
        assert len(way["ready_s"]) == len(way["first_s"]) == 2
        assert all(ready < first for ready, first in zip(way["ready_s"], way["first_s"], strict=True))
    assert max(forked["first_s"]) < min(fresh["first_s"])
    assert report["ratio"] > 1
    assert "times faster" in capsys.readouterr().out
