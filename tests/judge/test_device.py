"""The judge on a GPU: memory, library answers from end to end, and the kernels of failures."""

import logging
import threading
import time

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.device import synchronize as synchronize_module
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.results.category import Category
from tests.judge.conftest import Judge

pytestmark = pytest.mark.gpu

HEAD = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"


def test_allocations_are_freed(gpu_context: JudgeContext) -> None:
    memory = SharedMemory(torch.device(gpu_context.device.spec))
    memory.free([memory.allocate(1 << 20)])
    before = torch.cuda.mem_get_info()[0]
    for _ in range(20):
        memory.free([memory.allocate(1 << 30)])
    assert torch.cuda.mem_get_info()[0] >= before - (64 << 20)


def test_the_librarys_answer_has_no_kernel_of_its_own(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(HEAD + "        return torch.softmax(x, 1)\n", context=gpu_context, case="small")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert result.evidence.launches
    assert not any(launch.own for launch in result.evidence.launches)
    timing = result.evidence.timing
    assert timing is not None and timing.clock == "cuda_event"
    held_s, stages_s = result.evidence.held_s, result.evidence.stages_s
    assert held_s["gated calls"] == pytest.approx(stages_s["gated calls"], abs=0.01)
    assert "problem check" in stages_s and "problem check" not in held_s, "the next submission may have the device by then"
    assert result.environment is not None and result.environment.device_kind == "cuda"


def test_memory_that_another_submission_has_is_held_against_nobody(
    judge: Judge, gpu_context: JudgeContext, caplog: pytest.LogCaptureFixture
) -> None:
    """The other one is a judge that shares the device, and ends once the submission asks for more than is free."""
    caplog.set_level(logging.INFO)
    other = DeviceLock(gpu_context.device.unique_id)
    other.acquire()
    taken = [torch.empty(int(0.45 * torch.cuda.mem_get_info()[1]), dtype=torch.uint8, device=gpu_context.device.torch_device)]

    def leave() -> None:
        taken.clear()
        torch.cuda.empty_cache()
        other.close()

    def leave_at_the_end_of_others() -> None:
        while "waiting for the end of other evaluations" not in caplog.text:
            time.sleep(0.1)
        leave()

    ends = threading.Thread(target=leave_at_the_end_of_others, daemon=True)
    ends.start()
    body = "        torch.empty(int(0.7 * torch.cuda.mem_get_info()[1]), dtype=torch.uint8, device=x.device)\n"
    result = judge(HEAD + body + "        return torch.softmax(x, 1)\n", context=gpu_context, case="small")
    ends.join(60)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert "judged again, alone" in caplog.text


TWO_KERNELS = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void sound(const float* in, float* out, long n) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void faulty(float* out, long n) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) %s
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const unsigned blocks = (x.numel() + 255) / 256;
    sound<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    faulty<<<blocks, 256>>>(y.data_ptr<float>(), x.numel());
    sound<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
ops = load_inline(name="two_kernels", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ops.run(x)
'''


@pytest.mark.parametrize(
    ("statement", "category"),
    [
        ("out[i + (1L << 40)] = 1.0f;", Category.ILLEGAL_MEMORY_ACCESS),
        ("*reinterpret_cast<double*>(out + 1) = 1.0;", Category.MISALIGNED_ADDRESS),
        ("while (*static_cast<volatile float*>(out) < 1e30f) {}", Category.TIMEOUT),
    ],
)
def test_a_second_run_names_the_kernel_that_broke_the_device(
    judge: Judge, gpu_context: JudgeContext, statement: str, category: Category
) -> None:
    result = judge(TWO_KERNELS % statement, context=gpu_context, case="small", timeout_s=10.0)
    assert result.category is category, result.message
    assert result.evidence.fault is not None and result.evidence.fault.own
    assert "`faulty`" in result.message and "`sound`" not in result.message


def test_what_limits_a_kernel_is_recorded(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(TWO_KERNELS % "out[i] *= 2.0f;", context=gpu_context, case="small")
    limits = {launch.kernel.split("(")[0]: launch.limits for launch in result.evidence.launches if launch.own}
    assert set(limits) == {"sound", "faulty"}
    for found in limits.values():
        assert found is not None and 0 < found.registers < 256
        assert (found.max_threads, found.max_dynamic_shared_bytes) == (1024, 48 << 10)


def test_memory_that_the_judge_keeps_unused_is_left_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda:0")
    monkeypatch.setattr(synchronize_module, "LEAST_KEPT_BYTES", 0)
    torch.empty(1 << 28, dtype=torch.uint8, device=device)
    kept_bytes = torch.cuda.memory_reserved(device)
    monkeypatch.setattr(synchronize_module, "LEFT_FACTOR", 0)  # there is plenty left
    synchronize_module.leave_memory(device)
    assert torch.cuda.memory_reserved(device) == kept_bytes
    monkeypatch.setattr(synchronize_module, "LEFT_FACTOR", 1 << 20)
    synchronize_module.leave_memory(device)
    assert torch.cuda.memory_reserved(device) <= kept_bytes - (1 << 28)
