"""Kernels that reach past their memory, or never end, on a GPU: what they leave of the judge's."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.procedure import Procedure
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.worker.nested import tensors_of
from tests.judge.conftest import Judge, make_job

pytestmark = pytest.mark.gpu

PROBLEM = "gelu_tanh"
DEADLINE_S = 5.0
KILLED_WITHIN_S = 2.0
CANARIES = 33
CANARY = 0x5A

SOURCE = '''
import torch
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor gelu(torch::Tensor x);
void spray(torch::Tensor around, int64_t side);
void endless(torch::Tensor flag);
"""
CUDA = """
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>

constexpr int64_t REACH = 1 << 18;

__global__ void gelu_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608028654f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

__global__ void spray_kernel(float* begin, int64_t n, int64_t side) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < REACH) begin[side < 0 ? -1 - i : n + i] = 123.0f;
}

__global__ void endless_kernel(volatile float* flag) { while (*flag == 0.0f) {} }

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

void spray(torch::Tensor around, int64_t side) {
    spray_kernel<<<REACH / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(around.data_ptr<float>(), around.numel(), side);
}

void endless(torch::Tensor flag) { endless_kernel<<<1, 1, 0, c10::cuda::getCurrentCUDAStream()>>>(flag.data_ptr<float>()); }
"""
extension = load_inline(name="hostile", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu", "spray", "endless"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
'''
"""The beginning of each submission here; the lines of forward() follow. A reach is 1 MiB, in steps of four bytes."""


def forward(*lines: str) -> str:
    return SOURCE + "".join(f"        {line}\n" for line in lines)


HONEST = forward("return extension.gelu(x)")
ENDLESS = forward("extension.endless(torch.zeros(1, device=x.device))", "return extension.gelu(x)")
SPRAYING = {
    "before its output": forward("y = torch.zeros_like(x)", "extension.spray(y, -1)", "return y"),
    "after its output": forward("y = torch.zeros_like(x)", "extension.spray(y, 1)", "return y"),
    "before its input": forward("extension.spray(x, -1)", "return torch.zeros_like(x)"),
    "after its input": forward("extension.spray(x, 1)", "return torch.zeros_like(x)"),
}
FAIR = {
    Category.WRONG_VALUES,
    Category.NAN_OR_INF,
    Category.UNWRITTEN_OUTPUT,
    Category.NONDETERMINISTIC,
    Category.MUTATED_INPUT,
    Category.ILLEGAL_MEMORY_ACCESS,
}


def remembering(case: ProblemCase, remember: Callable[[list[Any]], None]) -> ProblemCase:
    """Return a copy of the case that calls `remember` with each set of inputs."""

    class Remembering(ProblemCase):
        def inputs(self, seed: int, device: torch.device | str, *, with_files: bool = True) -> list[Any]:
            drawn = super().inputs(seed, device, with_files=with_files)
            remember(drawn)
            return drawn

    return Remembering(case.problem, case.name, case.constants, case.module)


@pytest.mark.parametrize("where", SPRAYING)
def test_a_kernel_that_writes_past_its_memory_changes_nothing_of_the_judges(gpu_context: JudgeContext, where: str) -> None:
    """Canaries are physically between the judge's allocations: before, every other one of a row of allocations is freed."""
    memory = SharedMemory(torch.device(gpu_context.device.torch_device))
    row = [memory.allocate(1) for _ in range(2 * CANARIES - 1)]
    for canary in row[::2]:
        canary.bytes.fill_(CANARY)
    memory.free(row[1::2])
    drawn: list[tuple[torch.Tensor, torch.Tensor]] = []
    problem = load(SHIPPED / f"{PROBLEM}.py")
    case = remembering(
        problem.instance("small"), lambda arguments: drawn.extend((tensor, tensor.cpu()) for _, tensor in tensors_of(arguments))
    )
    attempt = Procedure(Task(gpu_context, make_job(SPRAYING[where], PROBLEM, 60.0), problem, case, lambda _: None))
    try:
        verdict = attempt.run()
    finally:
        attempt.close()
    assert verdict.category in FAIR, verdict
    assert any(launch.own and "spray" in launch.kernel and launch.code == 0 for launch in attempt.evidence.launches)
    assert len(drawn) >= 2
    assert all(torch.equal(tensor.cpu(), copy) for tensor, copy in drawn)
    assert all(int(canary.bytes.min()) == int(canary.bytes.max()) == CANARY for canary in row[::2])
    memory.close()


def test_an_endless_kernel_is_killed_at_its_deadline_and_the_device_is_free_again(judge: Judge, gpu_context: JudgeContext) -> None:
    before = judge(HONEST, PROBLEM, context=gpu_context)
    assert before.category is Category.OK, before.message
    endless = judge(ENDLESS, PROBLEM, context=gpu_context, timeout_s=DEADLINE_S, case="small")
    assert (endless.category, f"did not end within {DEADLINE_S:g} s" in endless.message) == (Category.TIMEOUT, True), endless.message
    rounds_s = endless.evidence.stages_s["rounds"]
    elsewhere_s = sum(endless.evidence.stages_s.values()) - rounds_s
    assert DEADLINE_S <= rounds_s <= DEADLINE_S + KILLED_WITHIN_S
    assert endless.duration_s - elsewhere_s <= DEADLINE_S + KILLED_WITHIN_S
    after = judge(HONEST, PROBLEM, context=gpu_context)
    assert after.category is Category.OK, after.message
    assert before.runtime_ms is not None and after.runtime_ms is not None
    assert after.runtime_ms <= 1.5 * before.runtime_ms + 0.02
