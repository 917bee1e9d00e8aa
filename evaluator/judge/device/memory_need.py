"""The minimum memory that a case needs, from the sizes of its tensors, which are found without allocating them."""

from dataclasses import asdict, dataclass

import torch

from evaluator.machine.devices import Device
from evaluator.machine.memory import machine_bytes
from evaluator.problem import kept_figures
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import tensors

GIB = 2**30


def memory_bytes_of(device: Device) -> int:
    """Memory of a GPU, or the main memory that this process may use."""
    return device.memory_bytes or machine_bytes()


@dataclass(frozen=True)
class MemoryNeed:
    """Sizes of a case's tensors."""

    inputs_bytes: int
    outputs_bytes: int
    parameters_bytes: int

    @property
    def tensor_bytes(self) -> int:
        """Size of all tensors, counted once."""
        return self.inputs_bytes + self.outputs_bytes + self.parameters_bytes

    @property
    def least_bytes(self) -> int:
        """Memory that is needed at the same time while an output is compared, without intermediate results."""
        # Inputs: the judge's and the worker's. Output: the worker's, the shared memory's, the judge's. Parameters: the two models'.
        return 2 * self.inputs_bytes + 3 * self.outputs_bytes + 2 * self.parameters_bytes

    def describe(self, memory_bytes: int) -> str:
        """The need in words, compared with the device's memory."""
        parts = {"inputs": self.inputs_bytes, "outputs": self.outputs_bytes, "parameters": self.parameters_bytes}
        sizes = ", ".join(f"{name} of {size / GIB:.3g} GiB" for name, size in parts.items() if size)
        needed = f"judging needs at least {self.least_bytes / GIB:.3g} GiB, plus intermediate results"
        return f"the problem has {sizes}; {needed}; the device has {memory_bytes / GIB:.3g} GiB"


_KNOWN: dict[tuple[str, str, str | None], MemoryNeed | None] = {}


def memory_need(case: ProblemCase) -> MemoryNeed | None:
    """The sizes; None if the reference does not run on the device `meta`. Kept in the cache folder: PyTorch may load its compiler for them.

    Raises ProblemError if the problem's file fails.
    """
    key = case.problem.sha256, case.name, case.dtype_name
    if key not in _KNOWN:
        kept = kept_figures.case_key("memory", case)
        need = kept_figures.read_as(MemoryNeed, kept)
        if need is None and (need := _found(case)) is not None:
            kept_figures.write(kept, asdict(need))
        _KNOWN[key] = need
    return _KNOWN[key]


def _found(case: ProblemCase) -> MemoryNeed | None:
    try:
        inputs, model = case.inputs(0, "meta"), case.model(0, "meta")
        with torch.no_grad():
            output = model(*inputs)
    except ProblemError:
        raise
    # The reference may run on a device even if it fails here.
    except Exception:  # noqa: BLE001
        return None
    sizes = [sum(tensor.nbytes for tensor in tensors(value)) for value in (inputs, output, dict(model.state_dict()))]
    return MemoryNeed(*sizes)
