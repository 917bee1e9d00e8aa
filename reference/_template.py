"""One line on what is computed; more on why the inputs are drawn as they are, where that is not plain."""

import torch
from torch import nn

# Sizes are constants of the module, so that cases can set others.
rows = 16384
columns = 8192

ASSAY = {
    "description": "One line for tables",
    # What counts is `full`: longer than a launch takes, and several times smaller than the GPU's memory. `small` has odd sizes and
    # runs in a second on a laptop. A case sets constants after the file has been executed.
    "cases": {"full": {}, "small": {"rows": 37, "columns": 771}},
    # What no answer can do without. `reads`: positions of forward()'s arguments and names of parameters, or "all". When in doubt, less.
    "floor": {"reads": "all", "operations": "rows * columns"},
    # An answer has to be right for inputs of every distribution, not only for what get_inputs() draws.
    "inputs": "any",
    # Row i of every output depends on row i of every input tensor alone. Leave it out where that is not so.
    "rows_independent": True,
    # May be left out, like all of the above:
    # "dtype": "float16",                   what floating-point inputs and parameters are cast to
    # "tolerance": 2.0,                     factor on the bound that errors are held against; or {"float16": 2.0}, 1 in other types
    # "without": {"ties": "the reason"},    distributions of inputs that leave the problem without one right answer
}


class Model(nn.Module):
    def __init__(self, columns: int) -> None:
        super().__init__()
        # Drawn, so that an answer that leaves the parameter out is wrong.
        self.scale = nn.Parameter(1.0 + 0.25 * torch.randn(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to the same shape."""
        return nn.functional.silu(x) * self.scale


def get_inputs() -> list[torch.Tensor]:
    """Arguments of forward(), drawn anew for every call: name no device and set no seed."""
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[object]:
    """Arguments of Model, and of a submission's ModelNew."""
    return [columns]
