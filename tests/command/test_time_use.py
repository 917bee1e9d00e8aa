"""Where the time of a run went."""

import time

import pytest

from command import time_use
from command.time_use import TimeUse
from evaluator.judge.device.nvml import Nvml
from evaluator.machine.devices import Device
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from tests.db.samples import result
from tests.judge.stand_in_nvml import UUID, StandIn

CPU, GPU = Device("cpu", "Xeon", "cpu"), Device("cuda:0", "NVIDIA H200", UUID)


def judged(stages_s: dict[str, float], held_s: dict[str, float], duration_s: float) -> Result:
    return result(Category.TIMEOUT, duration_s=duration_s, evidence=Evidence(stages_s=stages_s, held_s=held_s))


def told(devices: tuple[Device, ...]) -> list[str]:
    """The lines on two evaluations that end 20 s after the run has begun."""
    now_s = 5.0
    use = TimeUse(devices, lambda: now_s)
    with use.watched():
        now_s = 15.0
        use.add(judged({"load": 1.0, "build": 9.0, "queue": 4.0, "wait": 2.0, "rounds": 3.0}, {"rounds": 3.0}, 20.0))
        now_s = 25.0
        use.add(judged({"build": 3.0, "place": 1.0, "wait": 1.0, "rounds": 5.0}, {"build": 1.0, "rounds": 5.0}, 10.0))
        now_s = 26.0
        use.add(result(Category.SYNTAX_ERROR))
    return use.lines()


def test_the_lines_tell_how_busy_the_device_was_and_an_evaluation_s_mean() -> None:
    busy, means = told((CPU,))
    assert busy == "Evaluations had the device alone 45% of 20 s."
    assert means == (
        "Mean time of an evaluation: 15.0 s: 5.5 s building, 2.0 s waiting to build, 2.0 s waiting for the device, "
        "4.5 s alone on the device, 1.0 s else."
    )


def test_several_devices_share_the_evaluations() -> None:
    assert told((CPU, CPU))[0] == "Evaluations had the device alone 22% of 20 s (mean of 2)."


def test_one_evaluation_has_no_mean() -> None:
    use = TimeUse((CPU,))
    use.add(judged({"rounds": 1.0}, {"rounds": 1.0}, 1.0))
    assert use.lines() == []


def test_the_utilization_is_told_where_nvml_knows_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_use, "SAMPLE_S", 0.01)
    monkeypatch.setattr(time_use, "nvml_of", lambda unique_id: Nvml.open(unique_id, StandIn()))
    for devices, known in (((GPU,), True), ((GPU, Device("cuda:1", "NVIDIA H200", "GPU-other")), False)):
        use = TimeUse(devices)
        with use.watched():
            deadline = time.monotonic() + 60
            while known and not use._utilization:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            for _ in range(2):
                use.add(judged({"rounds": 1.0}, {"rounds": 1.0}, 1.0))
        assert ("kernels ran 64% of the time (NVML)" in use.lines()[0]) is known
