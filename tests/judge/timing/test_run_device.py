"""Protocols on a GPU: each measures honest calls well, and none accepts a forged time."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.judge.timing.effort import FULL
from evaluator.results.category import Category, Status
from evaluator.results.evidence import TimingEvidence
from evaluator.results.result import Result
from tests.judge.conftest import make_job
from tests.judge.sources import SOFTMAX, forward
from tests.judge.timing.gelu import LEGACY, gelu

pytestmark = pytest.mark.gpu

WAITS = forward("return torch.softmax(x, 1) if x.abs().sum().item() > -1 else x")
LIES = """
import sys
handlers = sys.modules["evaluator.worker.server"].HANDLERS
for name in ("block", "replay"):
    def claiming(state, request, descriptors, honest=handlers[name]):
        answer = honest(state, request, descriptors)
        return {**answer, "ms": [1e-3 for _ in answer["ms"]]}
    handlers[name] = claiming
"""
DOUBLED = """import torch

ASSAY = {"rows_independent": False}


class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x


def get_inputs():
    return [torch.randn(1 << 28)]


def get_init_inputs():
    return []
"""
"""Answers of 1 GiB, every element of which is compared."""
TWICE = forward("return x + x")
ONE_BUFFER = """
import torch

class ModelNew(torch.nn.Module):
    out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        return torch.add(x, x, out=self.out)
"""
SLOW = forward("for _ in range(20):\n    y = torch.softmax(x, 1)\nreturn y")
GARBAGE = """
import sys, torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name in ("block", "record"):
                return torch.empty_like(x)
            frame = frame.f_back
        return torch.softmax(x, 1)
"""


HELD_S = 4.5
"""3 is aimed at; 3.5 to 4 were seen for a kernel of 4.6 ms."""


def timed(context: JudgeContext, code: str, protocol: str | None, problem: str = "softmax", case: str = "small") -> Result:
    return evaluate(context, replace(make_job(code, problem, 60.0), protocol=protocol, case=case), lambda _: None)


def timing_of(result: Result) -> TimingEvidence:
    assert result.evidence.timing is not None, (result.message, result.evidence.detail)
    return result.evidence.timing


@pytest.mark.parametrize("protocol", ["cold", "throughput", "graph"])
@pytest.mark.parametrize("case", ["small", "full"])
def test_the_librarys_call_takes_as_long_as_itself(gpu_context: JudgeContext, protocol: str, case: str) -> None:
    result = timed(gpu_context, SOFTMAX, protocol, case=case)
    timing = timing_of(result)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert (timing.protocol, timing.fallback) == (protocol, "")
    assert result.protocol == (None if protocol == "cold" else protocol)
    # Calls of 2 µs: the host, and what the judge's clock can tell, are in them.
    assert result.speedup == pytest.approx(1.0, abs=0.05 if case == "full" else 0.5), timing.interval
    assert timing.unflushed == timing.unflushed_bursts == 0
    assert timing.candidate.single_ms and timing.gated, "the judge's own measurement"
    if (protocol, case) == ("cold", "small"):
        assert timing.calls_in_block > 4 and timing.blocks >= FULL.least_blocks, "a short kernel has many samples"
        assert len(timing.candidate.samples_ms) == len(timing.baseline.samples_ms) == timing.calls >= 100


def test_a_replayed_kernel_is_not_longer_than_one_in_a_row_nor_that_than_a_cold_one(gpu_context: JudgeContext) -> None:
    cold, row, replayed = (timing_of(timed(gpu_context, SOFTMAX, name)).candidate.median_ms for name in ("cold", "throughput", "graph"))
    assert replayed <= 1.1 * row and replayed <= 1.1 * cold + limits.LAUNCH_GAP_MS, (cold, row, replayed)


@pytest.mark.parametrize("protocol", ["throughput", "graph"])
def test_an_own_kernel_on_the_current_stream(gpu_context: JudgeContext, protocol: str) -> None:
    result = timed(gpu_context, gelu(), protocol, "gelu_tanh", "full")
    assert result.category is Category.OK, (result.message, result.evidence.detail)
    assert (timing_of(result).protocol, result.protocol) == (protocol, protocol)


@pytest.mark.parametrize(("code", "problem"), [(WAITS, "softmax"), (gelu(stream=LEGACY), "gelu_tanh")])
def test_what_can_not_be_recorded_is_timed_by_the_default_and_says_so(gpu_context: JudgeContext, code: str, problem: str) -> None:
    result = timed(gpu_context, code, "graph", problem)
    timing = timing_of(result)
    assert result.status is Status.CORRECT, (result.message, result.evidence.detail)
    assert timing.protocol == "cold" and timing.fallback.startswith("graph: ") and len(timing.fallback) > 10
    assert result.protocol is None, "it belongs to the default's board"
    assert result.evidence.builds == () or len(result.evidence.builds) == 1


@pytest.mark.parametrize("protocol", ["cold", "throughput", "graph"])
def test_a_claim_that_is_too_short_gains_nothing(gpu_context: JudgeContext, protocol: str) -> None:
    honest, lying = (timed(gpu_context, code, protocol, case="full") for code in (SLOW, SLOW + LIES))
    if lying.category is Category.NO_CUSTOM_KERNEL:
        assert lying.runtime_ms is not None and honest.runtime_ms is not None and lying.runtime_ms > 0.75 * honest.runtime_ms
    else:
        assert lying.category is Category.IMPLAUSIBLE_SPEED, lying.message


@pytest.mark.parametrize("protocol", ["cold", "throughput", "graph"])
def test_answers_that_are_wrong_only_in_blocks_are_found(gpu_context: JudgeContext, protocol: str) -> None:
    result = timed(gpu_context, GARBAGE, protocol)
    if protocol == "graph" and result.status is Status.CORRECT:
        timing = timing_of(result)
        assert timing.protocol == "cold" and "another" in timing.fallback
    else:
        assert result.category in (Category.TIMING_TAMPERING, Category.CACHED_OUTPUT), result.message  # its memory holds an earlier answer


def test_a_long_kernel_is_known_to_a_few_per_cent_while_the_device_is_held_for_some_seconds(gpu_context: JudgeContext) -> None:
    result = timed(gpu_context, SOFTMAX, None, case="full")
    timing = timing_of(result)
    assert timing.interval is not None
    low, high = timing.interval
    assert low / high > 0.9, (timing.stop, timing.interval, timing.blocks)
    assert sum(result.evidence.held_s.values()) <= HELD_S, result.evidence.held_s


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """The file of a problem with large answers."""
    path = tmp_path / "doubled.py"
    path.write_text(DOUBLED)
    return path


def test_a_large_answer_is_not_late_for_the_copying_of_the_one_before(gpu_context: JudgeContext, doubled: Path) -> None:
    timing = timing_of(evaluate(gpu_context, make_job(TWICE, "doubled", 60.0, doubled), lambda _: None))
    assert timing.alone is not None and timing.calls_in_block > 1 and timing.unclaimed_ms == 0.0


def test_large_answers_in_one_buffer_are_not_charged_for_being_copied(gpu_context: JudgeContext, doubled: Path) -> None:
    result = evaluate(gpu_context, make_job(ONE_BUFFER, "doubled", 60.0, doubled), lambda _: None)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    timing = timing_of(result)
    assert timing.calls_in_block > 1 and timing.late_ms == 0.0


def test_the_compilers_baseline(gpu_context: JudgeContext) -> None:
    result = evaluate(gpu_context, replace(make_job(SOFTMAX, timeout_s=60.0), case="small", baselines=("eager", "compile")), lambda _: None)
    timing = timing_of(result)
    assert timing.failed_baselines == {} and timing.others["compile"].median_ms > 0
    assert result.best_baseline in ("eager", "compile")
