"""The ladder on which times are held against the truth."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.ladder import ladder
from benchmarks.timing import Climbed, main
from benchmarks.truth import BESIDE_KERNELS, CALL, Truth, kernel_spans_ms
from evaluator.problem.load import load

pytestmark = pytest.mark.nightly


def event(name: str, device: str, start_us: float, end_us: float) -> Any:
    return SimpleNamespace(name=name, device_type=SimpleNamespace(name=device), time_range=SimpleNamespace(start=start_us, end=end_us))


def test_a_call_is_from_its_first_kernel_to_its_last() -> None:
    events = [
        event(CALL, "CPU", 10, 20),
        event(f"{BESIDE_KERNELS[0]}<int>", "CUDA", 11, 50),
        event("first", "CUDA", 60, 70),
        event("second", "CUDA", 72, 95),
        event(CALL, "CUDA", 60, 95),
        event("aten::relu", "CPU", 12, 18),
        event(CALL, "CPU", 100, 110),
        event("first", "CUDA", 150, 170),
        event(CALL, "CPU", 200, 210),
    ]
    spans_ms, kernels = zip(*kernel_spans_ms(events), strict=True)
    assert spans_ms == pytest.approx([0.035, 0.02]) and kernels == (2, 1), "the last call had no kernel"


def test_what_the_profiler_takes_between_kernels_is_no_part_of_a_call() -> None:
    assert Truth(0.1, 5, 0.01).ms == pytest.approx(0.092)
    assert Truth(0.1, 1, 0.01).ms == 0.1, "it is beside the only kernel"


def test_the_spread_is_that_of_nineteen_of_twenty() -> None:
    one = Climbed("matmul 512", "cuda", speedups=[1.0] * 10 + [1.01] * 5 + [0.98] * 4 + [3.0], times_ms=[0.5], baselines_ms=[0.5])
    assert one.spread == pytest.approx(0.02)
    assert one.reaches is False
    one.baselines_ms = [0.05]
    assert one.reaches is True, "by the shorter of the two"
    one.baselines_ms = [0.005]
    assert one.reaches is None
    one.baselines_ms = [0.5]
    one.speedups = [1.0] * 19 + [3.0]
    assert one.spread == 0.0 and one.reaches is True
    assert Climbed("matmul 512", "cuda", speedups=[1.0]).spread is None
    slack = Climbed("matmul 512", "cpu", speedups=[1.0] * 18 + [0.96] * 2, times_ms=[0.5], baselines_ms=[0.5])
    assert slack.reaches is True, "a processor is given more"


@pytest.mark.parametrize(
    ("time_ms", "truth_ms", "is_true"), [(0.0025, 0.002, True), (0.0035, 0.002, False), (1.015, 1.0, True), (1.03, 1.0, False)]
)
def test_true_is_two_per_cent_or_a_microsecond(time_ms: float, truth_ms: float, is_true: bool) -> None:
    one = Climbed("matmul 512", "cuda", times_ms=[time_ms], truth=Truth(truth_ms))
    assert one.is_true is is_true and one.bias_ms == pytest.approx(time_ms - truth_ms)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_every_rung_is_a_problem_and_a_submission(kind: str, tmp_path: Path) -> None:
    rungs = ladder(kind)
    assert len({rung.name for rung in rungs}) == len(rungs)
    assert {rung.kind for rung in rungs} == {"elementwise", "reduction", "matmul", "launches"}
    for rung in rungs:
        path = tmp_path / f"{rung.kind}_{rung.size}.py"
        path.write_text(rung.problem(), encoding="utf-8")
        assert load(path).instance("full").inputs(0, "meta")
        compile(rung.submission(), rung.name, "exec")


def test_the_ladder_is_climbed_as_often_as_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "ladder.json"
    options = ["--device", "cpu", "--rungs", "launches 8,elementwise 4096", "--repetitions", "2", "--budget", "120"]
    assert main([*options, "--json", str(target)]) == 0
    report = json.loads(target.read_text(encoding="utf-8"))
    assert (report["device"], report["protocol"]) == ("cpu", "cpu")
    assert [rung["rung"] for rung in report["rungs"]] == ["elementwise 4096", "launches 8"]
    for rung in report["rungs"]:
        assert rung["failures"] == [] and len(rung["speedups"]) == 2
        assert rung["truth_ms"] > 0 and rung["spread"] is not None and min(rung["times_ms"]) > 0
    told = capfd.readouterr()
    assert "launches 8" in told.out
    assert "profiler_start" not in told.err, "what the profiler's library says of itself is kept away"
