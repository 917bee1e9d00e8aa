"""Calls in which the time of kernels is taken: they are for the record, and nothing that goes wrong in them is held against anybody."""

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.gated_calls import KERNEL_CALLS
from evaluator.judge.workers.client import WorkerError
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.results.category import Category
from evaluator.results.evidence import KernelTimes
from tests.judge.conftest import Judge
from tests.judge.timing.test_gated_calls import HONEST, HOOKED, bursts_of

CLAIMS = (
    HOOKED
    + """
def clocked(self, request, descriptors, burst=Worker._burst):
    wanted = request.pop("kernels", False)
    answer = burst(self, request, descriptors)
    return {**answer, **({"ms": %s} if wanted else {})}
Worker._burst = clocked
"""
)
ENDS = (
    HOOKED
    + """
import os
def end(self, request, descriptors, burst=Worker._burst):
    return END if request.get("kernels") else burst(self, request, descriptors)
Worker._burst = end
"""
)


def test_the_calls_and_their_time_are_noted(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST + CLAIMS % 1.5, monkeypatch) as (bursts, side):
        bursts.time_kernels(side)
        assert side.worker.kernel_times is None, "without a recorder there is nothing to be timed"
        side.worker.launches = LaunchTable()
        bursts.time_kernels(side)
        assert side.worker.kernel_times == KernelTimes(calls=KERNEL_CALLS, call_ms=1.5 * KERNEL_CALLS)
        assert side.burst_ms == side.single_ms == [], "these calls are no samples"


def test_what_waits_for_the_device_only_while_kernels_are_timed_is_timed_as_before(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bursts_of(context, HONEST + CLAIMS % 1.5, monkeypatch) as (bursts, side):
        side.worker.launches = LaunchTable()
        burst = side.burst

        def waiting(*arguments: object, **options: object) -> float:
            side.waits = True
            return burst(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(side, "burst", waiting)
        bursts.time_kernels(side)
        assert not side.waits


@pytest.mark.parametrize(
    "hook", ["", ENDS.replace("END", "os._exit(3)"), ENDS.replace("END", "os.abort()")], ids=["raises", "ends", "dies"]
)
def test_a_worker_that_fails_then_is_not_blamed(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    """Without the hook it raises: there are no events of CUDA's here."""
    with bursts_of(context, HONEST + hook, monkeypatch) as (bursts, side):
        side.worker.launches = LaunchTable()
        bursts.time_kernels(side)
        assert (side.worker.kernel_times, side.worker.failure) == (None, "")


@pytest.mark.parametrize("claim", ["'long'", "-1.0", "True"])
def test_a_time_that_is_none_is_no_answer(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, claim: str) -> None:
    with bursts_of(context, HONEST + CLAIMS % claim, monkeypatch) as (bursts, side):
        side.worker.launches = LaunchTable()
        with pytest.raises(Exception, match="a time is a number"):
            bursts.time_kernels(side)


def test_who_tries_to_leave_the_sandbox_is_blamed_all_the_same(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = ENDS.replace("END", "os.kill(os.getpid(), 31)")  # as the kernel does for a forbidden system call
    with bursts_of(context, HONEST + killed, monkeypatch) as (bursts, side):
        side.worker.launches = LaunchTable()
        with pytest.raises(WorkerError):
            bursts.time_kernels(side)
        assert side.worker.exit is not None and side.worker.exit.signal == "SIGSYS"


def test_who_breaks_the_protocol_is_blamed_all_the_same(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    forges = HOOKED + "Worker._burst = lambda self, request, descriptors: {'kind': 'ping'}\n"
    with bursts_of(context, HONEST + forges, monkeypatch) as (bursts, side):
        side.worker.launches = LaunchTable()
        with pytest.raises(WorkerError):
            bursts.time_kernels(side)
        assert "where burst was asked" in side.worker.protocol_error


KERNELS = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void exponentials(const float* in, float* out, int columns) {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * (long)columns + i] = expf(in[blockIdx.x * (long)columns + i]);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    for (int again = 0; again < 3; ++again) exponentials<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
ops = load_inline(name="timed_kernels", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = ops.run(x - x.amax(1, keepdim=True))
        return y / y.sum(1, keepdim=True)%s
'''


@pytest.mark.gpu
def test_kernels_are_timed_on_a_gpu(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(KERNELS % "", context=gpu_context, case="small")
    assert result.category is Category.OK, result.message
    times, launches = result.evidence.kernel_times, result.evidence.launches
    assert times is not None and times.calls == KERNEL_CALLS
    (own,) = (launch for launch in launches if launch.own)
    assert own.timed == 3 * KERNEL_CALLS and own.device_ms > 0
    assert sum(launch.timed for launch in launches if not launch.own) >= 4 * KERNEL_CALLS, "two reductions, a difference, a quotient"
    # Kernels of one stream do not overlap; events are good to half a microsecond.
    assert sum(launch.device_ms for launch in launches) <= 1.05 * times.call_ms + 0.05


@pytest.mark.gpu
def test_kernels_of_a_wrong_answer_are_timed_too(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(KERNELS % " + 1", context=gpu_context, case="small")
    assert result.category is Category.WRONG_VALUES, result.message
    assert result.evidence.kernel_times is not None and result.evidence.kernel_times.calls == 1
    assert [launch.timed for launch in result.evidence.launches if launch.own] == [3]
