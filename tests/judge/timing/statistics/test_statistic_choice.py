"""The statistic that is a side's time: a few fast calls gain nothing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.statistics.samples import quartiles
from evaluator.judge.timing.statistics.statistic_choice import statistics_of
from evaluator.results.evidence import TimingEvidence, TimingSide
from evaluator.results.evidence.timing import Statistic
from tests.judge.conftest import Judge
from tests.judge.device.test_cpu_affinity import LAST
from tests.judge.sources import forward

LAZY = (0.1,) * 12 + (5.0,) * 18
"""Two calls of five put their work off."""


def side(busy_ms: Sequence[float], waits_ms: float = 0.0) -> TimingSide:
    times_ms = tuple(each_ms + waits_ms for each_ms in busy_ms or [1.0])
    lower, median, upper = quartiles(times_ms)
    busy = tuple(busy_ms)
    return TimingSide(median_ms=median, lower_quartile_ms=lower, upper_quartile_ms=upper, samples_ms=times_ms, busy_ms=busy)


def timing(candidate: TimingSide, baseline: TimingSide | None = None) -> TimingEvidence:
    baseline = baseline or side(candidate.busy_ms)
    return TimingEvidence(clock="judge_wall", calls=30, candidate=candidate, baseline=baseline)


@pytest.mark.parametrize(
    ("busy_ms", "cores", "elsewhere_ms", "expected"),
    [
        pytest.param((5.0,) * 20 + (5.5,) * 10, (1,), 0.0, "lower_quartile", id="calls of the same work"),
        pytest.param((5.0,) * 30, (1, 2), 0.0, "median", id="where threads may hide work in the time of others"),
        pytest.param(LAZY, (1,), 0.0, "median", id="calls of other work"),
        pytest.param((0.1,) * 30, (1,), 3.0, "median", id="work of other processes"),
        pytest.param((), (), 0.0, "median", id="on a GPU"),
    ],
)
def test_the_lower_quartile_counts_where_no_work_can_be_missing_from_it(
    busy_ms: Sequence[float], cores: tuple[int, ...], elsewhere_ms: float, expected: Statistic
) -> None:
    assert statistics_of(timing(side(busy_ms)), cores, elsewhere_ms, in_block=1)[0] == expected


def test_what_other_processes_use_is_held_against_all_calls_of_a_block() -> None:
    short = timing(side((0.5,) * 30))
    assert statistics_of(short, (1,), 3.0, in_block=1) == ("median", "lower_quartile"), "they may lengthen the baseline's calls"
    assert statistics_of(short, (1,), 3.0, in_block=10) == ("lower_quartile", None)


@pytest.mark.parametrize(
    ("waits_ms", "baseline_waits_ms", "expected"),
    [
        pytest.param(0.5, 0.0, "lower_quartile", id="a little"),
        pytest.param(1.0, 0.0, "median", id="for what may compute"),
        pytest.param(5.0, 10.0, "lower_quartile", id="for the core, as the baseline"),
        pytest.param(5.0, 2.0, "median", id="longer than the baseline"),
    ],
)
def test_calls_that_wait_have_a_lower_quartile_only_as_the_baseline_does(
    waits_ms: float, baseline_waits_ms: float, expected: Statistic
) -> None:
    candidate, baseline = side((5.0,) * 30, waits_ms), side((10.0,) * 30, baseline_waits_ms)
    assert statistics_of(timing(candidate, baseline), (1,), 0.0, in_block=1) == (expected, None)


def test_short_calls_may_wait_for_their_request() -> None:
    short = timing(side((0.1,) * 30, 0.03), side((1.0,) * 30))
    assert statistics_of(short, (1,), 0.0, in_block=3)[0] == "lower_quartile"
    assert statistics_of(short, (1,), 0.0, in_block=10)[0] == "median"


BUSY = """
import os, signal, time

def work():
    end = time.process_time() + 0.012
    while time.process_time() < end:
        pass

{how}

self.calls = getattr(self, "calls", 0) + 1
run(self.calls % 5 > 1)
return torch.softmax(x, 1)
"""
IN_ITSELF = """
def run(works):
    if works:
        work()
"""
IN_A_CHILD = """
def run(works):
    child = os.fork()
    if not child:
        if works:
            work()
        os._exit(0)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
"""
UNCOUNTED = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
"""The kernel adds the processor time of a child to its parent's only where that waits for it."""


@pytest.mark.slow(6)
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(IN_ITSELF, id="in itself"),
        pytest.param(IN_A_CHILD, id="in a child"),
        pytest.param(UNCOUNTED + IN_A_CHILD, marks=pytest.mark.quiet, id="in an uncounted child, seen by the wait for it"),
    ],
)
def test_who_is_fast_in_two_calls_of_five_gains_nothing(
    judge: Judge, context: JudgeContext, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr("evaluator.judge.limits.SLOW_CALL_S", 600.0)  # on a busy machine too it gets all calls
    result = judge(forward(BUSY.format(how=how)), context=replace(context, cores=(LAST,)))
    timing = result.evidence.timing
    assert timing is not None and timing.statistic == "median", result.message
    assert 12 < timing.candidate.median_ms <= timing.runtime_ms


@pytest.mark.quiet
def test_an_honest_one_is_timed_by_its_lower_quartile_on_one_core(judge: Judge, context: JudgeContext) -> None:
    code = forward("y = x\nfor _ in range(40): y = torch.softmax(x, 1)\nreturn y")
    result = judge(code, context=replace(context, cores=(LAST,)), timing="full")
    timing = result.evidence.timing
    assert timing is not None and timing.statistic == "lower_quartile", result.message
    assert timing.runtime_ms == pytest.approx(timing.candidate.lower_quartile_ms + timing.late_ms)
    assert timing.baseline_ms in (timing.baseline.lower_quartile_ms, timing.alone and timing.alone.lower_quartile_ms)
    assert timing.interval is not None and timing.interval[0] <= timing.ratio <= timing.interval[1]
