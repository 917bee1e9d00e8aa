"""Calls in which the time of kernels is taken: they are for the record, and failures in them have no consequence."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.checks.gated_calls import GatedCalls
from evaluator.judge.timing.effort import FULL
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.client import WorkerError
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.results.category import Category
from evaluator.results.evidence import KernelTimes
from evaluator.worker.protocol import ProtocolError
from tests.judge.conftest import Judge
from tests.judge.timing.checks.test_gated_calls import HONEST, HOOKED, bursts_of

CLAIMS = f"""{HOOKED}
def clocked(state, request, descriptors, burst=handlers["burst"]):
    wanted = request.pop("kernels", False)
    answer = burst(state, request, descriptors)
    return {{**answer, **({{"ms": CLAIM}} if wanted else {{}})}}
handlers["burst"] = clocked
"""
ENDS = f"""{HOOKED}
import os
def end(state, request, descriptors, burst=handlers["burst"]):
    return END if request.get("kernels") else burst(state, request, descriptors)
handlers["burst"] = end
"""


@contextmanager
def recorded(context: JudgeContext, hook: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[GatedCalls, TimedWorker]]:
    """Calls of a worker with this hook whose launches are recorded."""
    with bursts_of(context, HONEST + hook, monkeypatch) as (bursts, timed):
        timed.worker.launches = LaunchTable()
        yield bursts, timed


def test_the_calls_and_their_time_are_noted(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FULL, "kernels", FULL.kernels._replace(seconds=60.0))
    with recorded(context, CLAIMS.replace("CLAIM", "1.5"), monkeypatch) as (bursts, timed):
        timed.worker.launches = None
        bursts.time_kernels(timed)
        assert timed.worker.kernel_times is None, "without a recorder there is nothing to be timed"
        timed.worker.launches, burst = LaunchTable(), timed.burst

        def waiting(*arguments: object, **options: object) -> float:
            timed.waits = True
            return burst(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(timed, "burst", waiting)
        bursts.time_kernels(timed)
        assert timed.worker.kernel_times == KernelTimes(calls=FULL.kernels.most, call_ms=1.5 * FULL.kernels.most)
        assert timed.samples.burst_ms == timed.samples.single_ms == [], "these calls are no samples"
        assert not timed.waits, "a worker that waits only while kernels are timed is timed as before"


@pytest.mark.parametrize(
    "hook", ["", ENDS.replace("END", "os._exit(3)"), ENDS.replace("END", "os.abort()")], ids=["raises", "ends", "dies"]
)
def test_a_worker_that_fails_then_is_not_blamed(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    """Without the hook it raises: there are no events of CUDA's here."""
    with recorded(context, hook, monkeypatch) as (bursts, timed):
        bursts.time_kernels(timed)
        assert (timed.worker.kernel_times, timed.worker.failure) == (None, "")


def test_a_time_that_is_none_is_no_answer(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = CLAIMS.replace("CLAIM", "'long'")
    with recorded(context, hook, monkeypatch) as (bursts, timed), pytest.raises(ProtocolError, match="a time must be a number"):
        bursts.time_kernels(timed)


KILLED = ENDS.replace("END", "os.kill(os.getpid(), 31)")
"""As the kernel does for a forbidden system call."""
FORGES = HOOKED + "handlers['burst'] = lambda state, request, descriptors: {'kind': 'ping'}\n"


@pytest.mark.parametrize(
    ("hook", "signal", "protocol_error"), [(KILLED, "SIGSYS", ""), (FORGES, None, "instead of burst")], ids=["leaves", "forges"]
)
def test_a_worker_that_leaves_the_sandbox_or_breaks_the_protocol_is_blamed_all_the_same(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str, signal: str | None, protocol_error: str
) -> None:
    with recorded(context, hook, monkeypatch) as (bursts, timed):
        with pytest.raises(WorkerError):
            bursts.time_kernels(timed)
        assert protocol_error in timed.worker.protocol_error
        assert signal is None or (timed.worker.exit is not None and timed.worker.exit.signal == signal)


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
    assert times is not None and times.calls == FULL.kernels.most
    (own,) = (launch for launch in launches if launch.own)
    assert own.timed == 3 * FULL.kernels.most and own.device_ms > 0
    assert sum(launch.timed for launch in launches if not launch.own) >= 4 * FULL.kernels.most, "two reductions, a difference, a quotient"
    # Kernels of one stream do not overlap; events are good to half a microsecond.
    assert sum(launch.device_ms for launch in launches) <= 1.05 * times.call_ms + 0.05


@pytest.mark.gpu
def test_kernels_of_a_wrong_answer_are_timed_too(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(KERNELS % " + 1", context=gpu_context, case="small")
    assert result.category is Category.WRONG_VALUES, result.message
    assert result.evidence.kernel_times is not None and result.evidence.kernel_times.calls == 1
    assert [launch.timed for launch in result.evidence.launches if launch.own] == [3]
