"""The length of a launch lead."""

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.timing.gpu.launch_lead import LaunchLead


@pytest.mark.parametrize(
    ("host_ms", "length", "ms"),
    [((0.01, 0.04), 16, 0.09), ((3.0, 0.04), 2, 4.53), ((3.0, 0.04), 16, 1.25), ((60.0,), 1, 10.0)],
)
def test_a_launch_lead_is_longer_than_launching_takes_the_slower_side(
    monkeypatch: pytest.MonkeyPatch, host_ms: tuple[float, ...], length: int, ms: float
) -> None:
    monkeypatch.setattr("evaluator.judge.timing.gpu.launch_lead._cycles_per_ms", lambda _: 1.5e6)
    found = LaunchLead.of(host_ms, length, torch.device("cuda"))
    assert found.ms == pytest.approx(ms) and found.cycles == pytest.approx(1.5e6 * ms)
    assert LaunchLead.of(host_ms, length, torch.device("cuda"), limits.LEAD_LARGE_BYTES).ms == found.ms
    of_large = LaunchLead.of(host_ms, length, torch.device("cuda"), limits.LEAD_LARGE_BYTES + 1)
    assert of_large.ms == pytest.approx(min(ms, limits.TALK_SLACK_MS)), "no place to hide in"
