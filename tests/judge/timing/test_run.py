"""Timings in whole evaluations on the CPU."""

import statistics
from dataclasses import replace
from typing import Any

import pytest

from evaluator.judge import limits
from evaluator.judge.timing import warmup
from evaluator.judge.timing.protocols import PROTOCOLS, TimingProtocol
from evaluator.judge.timing.timed_worker import TimedWorker, UnrecordableError
from evaluator.judge.timing.warmup import MOST_WARM_UP_CALLS, WARM_UP_CALLS
from evaluator.judge.workers.input_buffers import Given
from evaluator.problem.catalogue import SHIPPED
from evaluator.results.category import Category
from evaluator.results.evidence import TimingSide
from evaluator.results.result import Result
from tests.judge.conftest import Judge
from tests.judge.sources import forward

SLEEPING = forward("import time; time.sleep(0.02)\nreturn torch.softmax(x, 1)")


@pytest.fixture(autouse=True)
def no_pause_makes_it_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that a pause of the machine lengthens is no slow one."""
    monkeypatch.setattr("evaluator.judge.limits.SLOW_CALL_S", 600.0)


def check(side: TimingSide, calls: int) -> None:
    assert len(side.samples_ms) == len(side.wall_ms) == calls
    assert side.median_ms == pytest.approx(statistics.median(side.samples_ms))
    assert 0 < side.lower_quartile_ms <= side.median_ms <= side.upper_quartile_ms


@pytest.mark.slow
def test_a_timing_on_record_says_how_it_went(judge: Judge) -> None:
    result = judge(SLEEPING)
    timing = result.evidence.timing
    assert timing is not None and timing.interval is not None and result.speedup_interval is not None
    for side in (timing.candidate, timing.baseline):
        check(side, timing.calls)
        assert list(side.at_s) == sorted(side.at_s) and len(side.at_s) == len(side.samples_ms)
    # The machine may be busy with others: both wait for it alike, and sleep comes on top.
    assert timing.candidate.median_ms > 19
    assert min(timing.baseline.samples_ms) < 10
    assert (timing.protocol, timing.fallback, timing.calls_in_block) == ("cpu", "", 1)
    assert timing.blocks == timing.calls >= limits.LEAST_CALLS and timing.stop in ("precise", "budget")
    assert WARM_UP_CALLS <= timing.warm_up_calls <= MOST_WARM_UP_CALLS and timing.steady is not None
    low, high = result.speedup_interval
    assert result.speedup is not None and 0 < low <= result.speedup <= high and result.speedup < 1
    assert result.protocol is None, "the default needs no name"
    assert (result.best_baseline, list(result.baselines)) == ("eager", ["eager"])


@pytest.mark.build
def test_a_baseline_by_the_compiler_is_timed_in_the_same_turns(judge: Judge) -> None:
    result = judge(SLEEPING, baselines=("eager", "compile"))
    timing = result.evidence.timing
    assert timing is not None and timing.failed_baselines == {}
    compiled = timing.others["compile"]
    # In the same turns; where it was slower in them, by chance, it counts as it is without the candidate.
    check(compiled, len(compiled.samples_ms))
    assert limits.LEAST_CALLS <= len(compiled.samples_ms) <= timing.calls
    assert list(result.baselines) == ["eager", "compile"] and result.baselines["compile"][0] == compiled.figure_ms(timing.of_baselines)
    assert result.summary()["baselines"]["compile"]["speedup"] == pytest.approx(
        compiled.figure_ms(timing.of_baselines) / (result.runtime_ms or 0)
    )
    assert result.baseline_ms == timing.baseline_ms, "the speedup is over the eager one"


@pytest.mark.slow
def test_a_baseline_that_can_not_be_compiled_costs_nothing_but_itself(judge: Judge) -> None:
    text = "import torch\ntorch.compile = None\n" + (SHIPPED / "softmax.py").read_text(encoding="utf-8")
    result = judge(SLEEPING, problem_text=text, baselines=("eager", "compile"))
    timing = result.evidence.timing
    assert timing is not None and timing.others == {}
    assert "TypeError" in timing.failed_baselines["compile"] and result.speedup is not None


TURNS_WHEN_TIMED = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.softmax(x, 1)
        if self.calls > {honest}:
            {body}
        return y
"""


def test_who_turns_when_timed_is_found_out(judge: Judge) -> None:
    result = judge(TURNS_WHEN_TIMED.format(honest=30, body="y = self.last if hasattr(self, 'last') else y; self.last = y"))
    assert (result.category, "elements of the output are wrong" in result.message) == (Category.WRONG_VALUES, True), result.message
    assert result.message.startswith("right in every round, wrong in ")


def test_who_ends_when_inputs_come_again_is_as_wrong(judge: Judge) -> None:
    body = "seen = self.__dict__.setdefault('seen', set()); key = float(x.sum()); key in seen and os._exit(1); seen.add(key); y = y * 2"
    result = judge("import os\n" + TURNS_WHEN_TIMED.format(honest=30, body=body))
    assert result.category is Category.WRONG_VALUES and "again" not in result.message, result.message
    assert result.evidence.exit is None


def refuse(timed: TimedWorker, given: Given) -> list[Any]:
    raise UnrecordableError("it waits for the device")


REPLAYING = replace(PROTOCOLS["cpu"], name="replaying", replays=True)
"""The default protocol, except that outputs come from replays."""
REFUSING = replace(REPLAYING, name="refusing", take=refuse)
"""Has no time of a candidate, as where calls can't be recorded."""


def timed_by(judge: Judge, monkeypatch: pytest.MonkeyPatch, protocol: TimingProtocol, code: str) -> Result:
    monkeypatch.setitem(PROTOCOLS, protocol.name, protocol)
    return judge(code, protocol=protocol.name)


@pytest.mark.slow
def test_an_alternative_is_stored_with_the_timing(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    result = timed_by(judge, monkeypatch, REPLAYING, SLEEPING)
    timing = result.evidence.timing
    assert timing is not None and (timing.protocol, timing.fallback, result.protocol) == ("replaying", "", "replaying")


@pytest.mark.slow
def test_what_can_not_be_timed_as_asked_for_is_timed_by_the_default(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    result = timed_by(judge, monkeypatch, REFUSING, SLEEPING)
    timing = result.evidence.timing
    assert timing is not None and result.category is Category.NO_CUSTOM_KERNEL, (result.message, result.evidence.detail)
    assert (timing.protocol, timing.fallback) == ("cpu", "refusing: it waits for the device")
    assert result.protocol is None and result.speedup is not None
    assert result.evidence.exit is None and result.evidence.exception is None
    assert {"load", "rounds", "timing"} <= set(result.evidence.stages_s)


def test_a_fallback_pardons_nothing(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is wrong in a replay may be the graph's fault; one that is wrong by the default too is the submission's."""
    code = TURNS_WHEN_TIMED.format(honest=16, body="y = y[:, 1:]")
    result = timed_by(judge, monkeypatch, REPLAYING, code)
    assert result.category is Category.WRONG_SHAPE, (result.message, result.evidence.detail)


def test_who_dies_in_the_fallback_has_died(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second worker is called more often than the first, in which it was warmed up only."""
    monkeypatch.setattr(warmup, "MOST_WARM_UP_CALLS", WARM_UP_CALLS)
    result = timed_by(judge, monkeypatch, REFUSING, TURNS_WHEN_TIMED.format(honest=30, body="import os; os._exit(7)"))
    assert result.category is Category.EARLY_EXIT, (result.message, result.evidence.detail)
    assert result.evidence.exit is not None and (result.evidence.exit.code, result.evidence.exit.stage) == (7, "timing")
