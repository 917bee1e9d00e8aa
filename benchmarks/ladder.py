"""The ladder of honest kernels, for comparing times with the truth. They are PyTorch's own, so that nothing is compiled."""

from dataclasses import dataclass

_PROBLEM = '''"""{text}."""

import torch
from torch import nn

{constants}
ASSAY = {{"description": "{text}", "cases": {{"full": {{}}, "small": {{}}}}, "rows_independent": False}}


class Model(nn.Module):
    def forward(self, {parameters}):
        return {reference}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
'''
_SUBMISSION = """import torch
from torch import nn


def chain(x, count):
    for _ in range(count):
        x = torch.add(x, 0.01)
    return x


class ModelNew(nn.Module):
    def forward(self, {parameters}):
        return {call}
"""


@dataclass(frozen=True)
class Rung:
    """One kernel in one size."""

    kind: str
    size: int
    call: str
    reference: str
    inputs: tuple[str, ...]
    """Expressions in `size`."""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.size}"

    @property
    def parameters(self) -> str:
        return ", ".join("xyz"[: len(self.inputs)])

    def problem(self) -> str:
        """Text of the problem's file."""
        return _PROBLEM.format(
            text=self.name,
            constants=f"size = {self.size}\n",
            parameters=self.parameters,
            reference=self.reference,
            inputs=", ".join(self.inputs),
        )

    def submission(self) -> str:
        """Text of the submission."""
        return _SUBMISSION.format(parameters=self.parameters, call=self.call)


def ladder(device_kind: str) -> list[Rung]:
    """The rungs, shortest first within each kind: on an H200 from about 2 µs to about 100 ms."""
    on_gpu = device_kind == "cuda"
    elements = (1 << 12, 1 << 20, 1 << 24, 1 << 28, 1 << 30) if on_gpu else (1 << 12, 1 << 18, 1 << 22)
    rows = (1 << 4, 1 << 10, 1 << 14, 1 << 18) if on_gpu else (1 << 4, 1 << 9)
    sides = (256, 1024, 4096, 8192, 16384) if on_gpu else (128, 512)
    counts = (8, 64, 512) if on_gpu else (8, 64)
    flat, wide, square = "torch.randn(size)", "torch.randn(size, 4096)", "torch.randn(size, size)"
    return [
        *(Rung("elementwise", n, "torch.relu(x)", "torch.maximum(x, torch.zeros_like(x))", (flat,)) for n in elements),
        *(Rung("reduction", n, "x.sum(1)", "x.mean(1) * 4096", (wide,)) for n in rows),
        *(Rung("matmul", n, "torch.mm(x, y)", "torch.einsum('ij,jk->ik', x, y)", (square, square)) for n in sides),
        *(Rung("launches", n, f"chain(x, {n})", f"x + 0.01 * {n}", ("torch.randn(4096)",)) for n in counts),
    ]
