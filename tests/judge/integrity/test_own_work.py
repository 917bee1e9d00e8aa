"""The share of own kernels in a submission that needs them, measured with real workers."""

import pytest

from evaluator.judge.integrity.own_work import bound_by_time
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, KernelTimes, LightEvidence
from tests.diagnosis.evidence import launch
from tests.judge.conftest import Judge
from tests.judge.sources import extension, forward

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)

def get_inputs():
    return [torch.randn(61, 251)]

def get_init_inputs():
    return []
"""
BUSY = "for _ in range(40): torch.softmax(x, 1)\n"
"""Work of a library: calling a function takes far less than a tenth of the time, on a crowded machine too."""
ONE = extension("y[0] = 1;") + "def one(x):\n    return run(torch.empty(1, 1), x[:1, :1])\n\n"
FACTOR = ONE + forward(f"{BUSY}return torch.softmax(x, 1) * one(x)")
TOTAL = """
    for (int64_t i = 0; i < count / 251; i++) {
        double total = 0;
        for (int64_t j = 0; j < 251; j++) total += std::exp((double)x[i * 251 + j]);
        y[i] = std::log(total);
    }
"""
REDUCTION = extension(TOTAL) + forward("return torch.exp(x - run(torch.empty(x.size(0), 1), x))")
SHIFT = extension("for (int64_t i = 0; i < count; i++) y[i] = x[i] - largest[i / 251];", "x largest")
PROLOGUE = SHIFT + forward(f"{BUSY}return torch.softmax(run(torch.empty_like(x), x, x.amax(1)), 1)")


@pytest.mark.build
def test_an_answer_that_hangs_on_a_kernel_of_no_use_is_no_custom_kernel(judge: Judge) -> None:
    result = judge(FACTOR, problem_text=PROBLEM)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.evidence.own_work
    assert result.evidence.ablation is not None and not result.evidence.ablation.still_right
    assert result.evidence.own_work is not None and 0 < result.evidence.own_work.written_bytes <= 4
    assert "its own kernels do too little" in result.message


@pytest.mark.build
def test_a_reduction_that_writes_little_and_takes_its_time_is_ok(judge: Judge) -> None:
    result = judge(REDUCTION, problem_text=PROBLEM)
    assert result.category is Category.OK, result.message
    own_work = result.evidence.own_work
    assert own_work is not None and own_work.time_share >= 0.1 and own_work.written_bytes < 0.1 * own_work.answer_bytes


@pytest.mark.build
def test_a_short_pass_over_all_of_the_data_beside_much_of_a_library_is_ok(judge: Judge) -> None:
    result = judge(PROLOGUE, problem_text=PROBLEM)
    assert result.category is Category.OK, result.message
    assert result.evidence.own_work is not None and result.evidence.own_work.time_share < 0.1


GB = 10**9
LIGHT = LightEvidence(
    read_bytes=6 * GB,
    written_bytes=6 * GB,
    moved_bytes=12 * GB,
    operations=0,
    bytes_per_s=3e12,
    light_ms=4.0,
    bound="memory",
    declared=True,
)


def timed_launches(library_ms: float, own_ms: float, *, own_timed: int = 1, call_ms: float = 10.0) -> Evidence:
    """Evidence of one call with one kernel of each."""

    launches = (
        launch(object="torch", own=False, device_ms=library_ms, timed=1),
        launch(device_ms=own_ms, timed=own_timed),
    )
    return Evidence(launches=launches, kernel_times=KernelTimes(calls=1, call_ms=call_ms), light=LIGHT)


def test_a_time_too_short_to_write_a_tenth_shows_that_own_kernels_do_too_little() -> None:
    found = bound_by_time(timed_launches(9.95, 0.005), 0.0005, cache_bytes=50_000_000)
    assert found is not None and found.is_bound and found.is_too_little
    assert found.written_bytes == pytest.approx(0.05e-3 * 3e12 * 1.5 + 50e6, rel=1e-6)  # the time outside library kernels counts as theirs
    assert "at most" in found.words


def test_beside_library_kernels_own_ones_have_all_of_their_time() -> None:
    """Times of kernels that ran in parallel add up to more than the call's."""
    found = bound_by_time(timed_launches(99.9, 0.1), 0.001, cache_bytes=0)
    assert found is not None and found.written_bytes == pytest.approx(0.1e-3 * 3e12 * 1.5, rel=1e-6)


@pytest.mark.parametrize(
    "evidence",
    [
        timed_launches(9.5, 0.005),  # in the rest, a graph's kernels may have written enough
        timed_launches(9.95, 0.0, own_timed=0),  # this one may be a graph's
        timed_launches(9.95, 0.005).model_copy(update={"light": None}),
        timed_launches(9.95, 0.005).model_copy(
            update={"light": LIGHT.model_copy(update={"written_bytes": 10**8})}
        ),  # the cache holds a tenth
    ],
)
def test_a_time_that_is_long_enough_or_unknown_shows_nothing(evidence: Evidence) -> None:
    assert bound_by_time(evidence, 0.0005, cache_bytes=50_000_000) is None
