"""The judge on a GPU: memory that both sides map, and library answers from end to end."""

import logging
import threading

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.device import synchronize as synchronize_module
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.workers.shared_memory import SharedMemory, describe
from evaluator.results.category import Category
from evaluator.sandbox import Program
from tests.judge import device_worker
from tests.judge.conftest import Judge

pytestmark = pytest.mark.gpu

HEAD = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"


def test_exported_memory_is_the_same_memory_in_a_confined_process(gpu_context: JudgeContext) -> None:
    memory = SharedMemory(torch.device(gpu_context.device.spec))
    allocation, other = memory.allocate(3 << 20), memory.allocate(1)
    assert (allocation.nbytes, other.nbytes) == (4 << 20, 2 << 20)
    values = allocation.view((1 << 18,), torch.float32)
    values.copy_(torch.arange(1 << 18, dtype=torch.float32))
    other.bytes.zero_()
    torch.cuda.synchronize()
    program = Program(
        entry=device_worker.ENTRY,
        env={"NBYTES": str(allocation.nbytes)},
        gpu=True,
        gpu_minor=gpu_context.device.minor,
        readonly=gpu_context.readonly,
    )
    with gpu_context.zygote.start_program(program, {"memory": allocation.descriptor}) as confined:
        ended = confined.wait(60)
        assert ended is not None and ended.code == 0, confined.output()
    assert torch.equal(values.cpu(), torch.arange(1 << 18, dtype=torch.float32) * 2)
    assert int(other.bytes.max()) == 0
    assert describe(allocation, 0, values)["dtype"] == "float32"
    memory.close()


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
    """The other one is a judge that shares the device, and ends after a while."""
    caplog.set_level(logging.INFO)
    other = DeviceLock(gpu_context.device.unique_id)
    other.acquire()
    taken = [torch.empty(int(0.45 * torch.cuda.mem_get_info()[1]), dtype=torch.uint8, device=gpu_context.device.torch_device)]

    def leave() -> None:
        taken.clear()
        torch.cuda.empty_cache()
        other.close()

    ends = threading.Timer(5.0, leave)
    ends.start()
    body = "        torch.empty(int(0.7 * torch.cuda.mem_get_info()[1]), dtype=torch.uint8, device=x.device)\n"
    result = judge(HEAD + body + "        return torch.softmax(x, 1)\n", context=gpu_context, case="small")
    ends.join()
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert "judged again, alone" in caplog.text


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("return torch.softmax(x, 1).cpu()", Category.WRONG_DEVICE),
        ("return torch.zeros_like(x)", Category.WRONG_VALUES),
        ("return x[torch.tensor([10**9], device='cuda')]", Category.DEVICE_ASSERT),
        ("return torch.empty(1 << 50, device='cuda')", Category.OUT_OF_MEMORY),
        ("y = torch.softmax(x, 1)\n        x.zero_()\n        return y", Category.MUTATED_INPUT),
    ],
)
def test_failures_on_the_device(judge: Judge, gpu_context: JudgeContext, body: str, category: Category) -> None:
    assert judge(f"{HEAD}        {body}\n", context=gpu_context, case="small").category is category


def test_after_a_broken_context_the_next_submission_is_judged(judge: Judge, gpu_context: JudgeContext) -> None:
    judge(HEAD + "        return x[torch.tensor([10**9], device='cuda')]\n", context=gpu_context, case="small")
    assert judge(HEAD + "        return torch.softmax(x, 1)\n", context=gpu_context, case="small").category is Category.NO_CUSTOM_KERNEL


HOARDER = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x, 1)
        self.kept = []
        size = 1 << 34
        while size >= 1 << 20:
            try:
                self.kept.append(torch.empty(size, dtype=torch.uint8, device=x.device))
            except RuntimeError:
                size //= 2
        return y
"""


def test_who_leaves_the_judge_no_memory_is_to_blame(judge: Judge, gpu_context: JudgeContext) -> None:
    result = judge(HOARDER, context=gpu_context, case="small")
    assert result.category is Category.OUT_OF_MEMORY, (result.message, result.evidence.detail)
    assert result.evidence.starving is not None, result.message
    assert judge(HEAD + "        return torch.softmax(x, 1)\n", context=gpu_context, case="small").category is Category.NO_CUSTOM_KERNEL


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
