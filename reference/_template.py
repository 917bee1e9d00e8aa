"""One line: what the problem computes. If not obvious, also why the inputs are random in this way."""

import torch
from torch import nn

# Sizes are constants of the module, so that cases can set others.
rows = 16384
columns = 8192

ASSAY = {
    "description": "One line for tables",
    # `full` is ranked: a call takes longer than a launch, and data fits several times into GPU memory. `small` has odd sizes and
    # takes a second on a laptop. The judge sets a case's constants after the file has run.
    "cases": {"full": {}, "small": {"rows": 37, "columns": 771}},
    # The least work of a right submission. `reads`: positions of forward()'s arguments, names of parameters, or "all".
    "floor": {"reads": "all", "operations": "rows * columns"},
    # "any": a submission must be right on every input distribution, not only on that of get_inputs().
    "inputs": "any",
    # Row i of every output depends only on row i of each input tensor. If not, delete this line.
    "rows_independent": True,
    # More keys. All keys are optional:
    # "dtype": "float16",                   type of floating-point inputs and parameters
    # "tolerance": 2.0,                     factor on the allowed error; or {"float16": 2.0}, which leaves other types at 1
    # "without": {"ties": "the reason"},    distributions for which several outputs are right
}


class Model(nn.Module):
    def __init__(self, columns: int) -> None:
        super().__init__()
        # Random, so that a submission without this parameter is wrong.
        self.scale = nn.Parameter(1.0 + 0.25 * torch.randn(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to the same shape."""
        return nn.functional.silu(x) * self.scale


def get_inputs() -> list[torch.Tensor]:
    """Arguments of forward(), new for every call. They name no device and set no seed."""
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[object]:
    """Arguments of Model, and of a submission's ModelNew."""
    return [columns]
