"""Figures that benchmarks read from a run: results, seconds by stage, and device use."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.pipeline_run import FREE_STAGES, Place, RunFailedError, busy, run_pipeline, stage_sums
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from tests.command_line import PROBLEM, submission
from tests.db.samples import result

pytestmark = pytest.mark.nightly

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)


def judged(started_s: float, duration_s: float, device: str = "cuda:0", **stages_s: float) -> Result:
    started = BEGIN + timedelta(seconds=started_s)
    held_s = {stage: seconds for stage, seconds in stages_s.items() if stage not in FREE_STAGES}
    return result(started_at=started, duration_s=duration_s, device=device, evidence=Evidence(stages_s=stages_s, held_s=held_s))


def test_the_judging_phase_begins_with_the_first_device_and_ends_with_the_last() -> None:
    results = [
        judged(0, 20, start=1, load=1, queue=2, build=6, wait=0, construct=1, rounds=4, timing=4),  # has it from 10 to 20
        judged(0, 26, start=1, load=1, build=10, wait=8, construct=1, rounds=1, timing=2, ablation=2),  # from 20 to 26
        judged(0, 90, start=1, load=1, build=88),  # never
    ]
    found = busy(results)
    assert (found.held_s, found.phase_s, found.devices) == (15, 16, ("cuda:0",))
    assert found.share == pytest.approx(15 / 16)


def test_of_two_devices_each_is_half_of_the_share_and_where_nothing_had_one_nothing_was_busy() -> None:
    found = busy([judged(0, 10, rounds=10), judged(0, 10, "cuda:1", rounds=5)])
    assert found.devices == ("cuda:0", "cuda:1") and found.share == pytest.approx(0.75)
    assert busy([]).share == 0
    assert busy([judged(0, 5, start=1, build=4)]).share == 0


def test_sums_are_by_stage_and_the_longest_comes_first() -> None:
    sums = stage_sums([judged(0, 9, start=1, build=2), judged(0, 9, start=1, rounds=5)])
    assert list(sums.items()) == [("rounds", 5), ("start", 2), ("build", 2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    (root / "problems").mkdir()
    (root / "problems" / "double.py").write_text(PROBLEM.format(operation="* 2"))
    (root / "double").mkdir()
    (root / "double" / "right.py").write_text(submission("x + x"))
    (root / "double" / "wrong.py").write_text(submission("x + 1"))
    (root / "double" / "broken.py").write_text("class ModelNew(")
    return root


def test_a_run_tells_every_result_and_every_stage_is_known(folder: Path) -> None:
    arguments = [str(folder / "double"), "--reference", str(folder / "problems"), "--device", "cpu"]
    told: list[str] = []
    run = run_pipeline(arguments, Place(folder / "kept", folder / "cache"), timeout_s=400, tell=told.append)
    assert run.complete
    assert {Path(item.submission).stem: str(item.category) for item in run.results} == {
        "right": "no_custom_kernel",
        "wrong": "wrong_values",
        "broken": "syntax_error",
    }
    assert {"load", "rounds", "timing", "warm-up", "baseline alone"} <= set(stage_sums(run.results))
    found = busy(run.results)
    assert 0 < found.held_s <= found.phase_s * 1.01 < run.wall_s
    assert found.devices == ("cpu",)


def test_a_run_is_interrupted_when_its_time_is_up(folder: Path) -> None:
    slow = folder / "slow" / "double"
    slow.mkdir(parents=True)
    (slow / "asleep.py").write_text(submission(before="time.sleep(600)"))
    arguments = [str(slow), "--reference", str(folder / "problems"), "--device", "cpu"]
    run = run_pipeline(arguments, Place(folder / "interrupted", folder / "cache"), timeout_s=1, tell=lambda _: None)
    assert not run.complete
    assert run.wall_s < 100


def test_an_error_of_the_command_line_is_told(folder: Path) -> None:
    with pytest.raises(RunFailedError, match="no-such-folder"):
        run_pipeline(["no-such-folder"], Place(folder / "failed", folder / "cache"), timeout_s=100, tell=lambda _: None)
