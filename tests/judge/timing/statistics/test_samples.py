"""Figures of timing samples."""

import pytest

from evaluator.judge import limits
from evaluator.judge.timing.statistics.samples import Samples, quartiles


@pytest.mark.parametrize(
    ("samples", "found"), [([3.0], (3.0, 3.0, 3.0)), ([1.0, 5.0], (1.0, 3.0, 5.0)), ([1.0, 2.0, 3.0], (1.0, 2.0, 3.0))]
)
def test_quartiles_of_few_samples(samples: list[float], found: tuple[float, float, float]) -> None:
    assert quartiles(samples) == found


@pytest.mark.parametrize(("on_device", "samples_ms"), [(True, (0.5, 1.5)), (False, (2.5, 3.5))])
def test_samples_are_event_times_on_a_gpu_and_wall_times_elsewhere(on_device: bool, samples_ms: tuple[float, ...]) -> None:
    samples = Samples(on_device, event_ms=[1.0, 2.0], wall_ms=[3.0, 4.0])
    told = samples.summary(0.5, launch_lead_ms=0.25)
    assert told.samples_ms == samples_ms and (told.blank_ms, told.launch_lead_ms) == (0.5, 0.25)
    assert samples.call_ms(9.0) == [limits.LEAST_MS, limits.LEAST_MS], "no call takes nothing"


def test_warm_up_leaves_nothing_behind() -> None:
    samples = Samples(True, event_ms=[1.0], wall_ms=[1.0], at_s=[0.0], host_ms=[1.0], reveal_ms=[2.0], single_ms=[3.0], hot_ms=[3.0])
    samples.forget_calls()
    assert (samples.event_ms, samples.wall_ms, samples.at_s, samples.host_ms, samples.reveal_ms) == ([], [], [], [], [2.0])
    samples.forget_reveals()
    samples.forget_gated()
    assert (samples.reveal_ms, samples.single_ms, samples.hot_ms) == ([], [], [])


def test_work_that_one_reveal_does_for_a_block_is_shared_by_all() -> None:
    samples = Samples(on_device=False)
    samples.reveal_ms += [1.0, 8.0, 0.0, 0.0, 0.0]
    samples.arrival_ms += [1.0, 4.0, 4.0, 0.0, 0.0]
    samples.share_reveals(4)
    assert samples.reveal_ms == [1.0, 2.0, 2.0, 2.0, 2.0] == samples.arrival_ms
    assert samples.reveal_busy_ms == []
