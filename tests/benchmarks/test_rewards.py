"""The benchmark of rewards: what is handed in together, and a small run on the CPU."""

import json
from pathlib import Path

import pytest

from benchmarks.rewards import groups, main, problem_of
from benchmarks.variants import variants

pytestmark = pytest.mark.nightly


def test_a_group_answers_one_problem() -> None:
    made = variants("cpp", 120)
    found = groups(made, 4)
    assert sorted(each.label for group in found for each in group) == sorted(each.label for each in made)
    assert all(1 <= len(group) <= 4 and len({problem_of(each) for each in group}) == 1 for group in found)


@pytest.mark.build
def test_a_run_counts_its_rewards(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["--count", "3", "--group", "2", "--json", str(report)]) == 0
    told = json.loads(report.read_text(encoding="utf-8"))
    assert sum(told["categories"].values()) == 3 and told["unfair"] == []
    assert told["an_hour"] == pytest.approx(3 / told["took_s"] * 3600)


@pytest.mark.gpu
def test_one_gpu_gives_a_thousand_rewards_an_hour(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["--device", "cuda", "--count", "60", "--json", str(report)]) == 0
    assert json.loads(report.read_text(encoding="utf-8"))["an_hour"] > 1000
