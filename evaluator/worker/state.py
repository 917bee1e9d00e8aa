"""The worker's state between two requests, and functions that several handlers use."""

import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluator.dsl import dsls
from evaluator.worker import structure
from evaluator.worker.gate import MappedGate
from evaluator.worker.memory import Mappings, layout_of, memory_order
from evaluator.worker.patches.ablation import Ablation
from evaluator.worker.patches.host_kernels import HostKernels
from evaluator.worker.patches.process import Watch
from evaluator.worker.procedure import PLAIN, Procedure, written
from evaluator.worker.protocol import Channel, Message

MODULE_NAME = "submission"
MAX_MESSAGE_CHARS = 20_000
_WRAPPING = tuple(dsl.wraps_errors_of for dsl in dsls() if dsl.wraps_errors_of)
"""Prefixes of the modules whose exceptions have a more precise cause."""
_VALUES = re.compile(r"\b(?P<kind>tensor|array)\(\[[^()=]{40,}\]")
"""The values of a tensor or NumPy array, as they are printed; a few numbers may matter, and stay."""


@dataclass(frozen=True)
class Recording:
    """Calls as a CUDA graph, with their outputs, which each replay writes again."""

    graph: Any
    outputs: list[list[torch.Tensor]]
    descriptions: list[Any]


@dataclass(frozen=True)
class Prepared:
    """A model that was made for a case."""

    model: Any
    parameters: dict[str, torch.Tensor]
    procedure: Procedure
    constants: dict[str, Any]
    """The case's, which its module has."""


class State:
    """One submission, its model, and the state of its last request."""

    def __init__(self, channel: Channel, host_kernels: HostKernels | None = None) -> None:
        self.channel = channel
        self.host_kernels = host_kernels or HostKernels(None)
        self.watches: list[Watch] = []
        """The DSLs' functions to call after code that may have imported them."""
        self.path = Path.cwd() / f"{MODULE_NAME}.py"
        self.device = torch.device("cpu")
        self.mappings = Mappings(self.device)
        self.records: structure.Records = structure.plain
        """Makes values of the problem's classes."""
        self.module: Any = None
        self.model_class: Any = None
        self.model: Any = None
        self.procedure = PLAIN
        self.parameters: dict[str, torch.Tensor] = {}
        self.prepared: dict[str, Prepared] = {}
        """The models that are kept, by their cases."""
        self.ablation: Ablation | None = None
        self.gate: MappedGate | None = None
        self.sets: list[list[Any]] = []
        self.output: list[torch.Tensor] = []
        """The tensors of the last output."""
        self.outputs: list[list[torch.Tensor]] = []
        """Those of each output of a block."""
        self.graphs: dict[str, Recording] = {}
        self.reuses = False
        """Whether outputs of different calls have shared memory. If so, a block's outputs are copied: otherwise each would hold the last
        one."""

    def place(self, device: torch.device) -> None:
        """Run on this device from now on. If that changes, mapped memory is dropped."""
        if device != self.device:
            self.device, self.mappings = device, Mappings(device)

    def forget(self) -> None:
        """Drop the model, its outputs, and all memory of the judge."""
        self.sets, self.output, self.outputs, self.graphs = [], [], [], {}
        self.model, self.parameters, self.prepared, self.reuses = None, {}, {}, False
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            synchronize(self.device)  # enqueued work may still read memory that will be unmapped
        self.mappings.clear()
        if self.gate is not None:
            self.gate.close()
            self.gate = None

    def set_constants(self, constants: Mapping[str, Any]) -> None:
        """Set these in the module."""
        for name, value in constants.items():
            setattr(self.module, name, value)

    def choose(self, case: str) -> None:
        """Call the model of this case from now on."""
        chosen = self.prepared[case]
        self.model, self.parameters, self.procedure = chosen.model, chosen.parameters, chosen.procedure
        self.set_constants(chosen.constants)

    def watch(self) -> None:
        """Let DSLs see new imports."""
        for watch in self.watches:
            watch()

    @property
    def on_device(self) -> bool:
        """Whether the submission runs on a GPU."""
        return self.device.type == "cuda"

    def call_model(self, values: Sequence[Any]) -> Any:
        """The model's output for a set of inputs, written out: materialising a view is part of the call."""
        if self.ablation:
            values = self.procedure.spared(values)  # otherwise a child's writes to shared memory would be seen
        return written(self.procedure.call(self.model, self.parameters, values))

    def describe(self, tensor: torch.Tensor) -> Message:
        """Store one tensor of an output, and describe it to the judge."""
        self.output.append(tensor)
        return description(tensor)

    def keep(self, value: Any) -> Any:
        """Store one output of several, and describe it to the judge."""
        self.output = []
        described = structure.encode(value, self.describe)
        self.outputs.append(self.output)
        return described

    def copy_out(self, views: Sequence[Any]) -> None:
        """Copy the last output into the judge's memory, in the order and layout of its description. A view of None skips its tensor."""
        for view, tensor in zip(views, self.output, strict=True):
            if view is not None:
                self.mappings.tensor(view).copy_(tensor.permute(view["order"]) if "order" in view else tensor)


def description(tensor: torch.Tensor) -> Message:
    """The description of a tensor for the judge."""
    layout = layout_of(tensor)
    shape = [] if layout == "nested" else list(tensor.shape)  # its rows differ in length
    described = {"shape": shape, "dtype": structure.dtype_name(tensor.dtype), "device": tensor.device.type}
    if layout is not None:
        return {**described, "layout": layout}
    order = memory_order(tensor)
    return {**described, "order": order} if order else described


def synchronize(device: torch.device) -> None:
    """Wait for the device, if it is a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def describe_failure(error: BaseException, path: str, *, on_device: bool) -> Message:
    """The fields of a `failed` reply; `path` is the submission's file, and only its lines are named."""
    frames = _frames(error, path)
    lines = "".join(f"line {frame.lineno}, in {frame.name}\n    {frame.line}\n" for frame in frames[-20:])
    try:
        message = _VALUES.sub(r"\g<kind>([…]", _message(error))
    except Exception as second:  # noqa: BLE001  (an exception class of the submission's own)
        message = f"(no message: {type(second).__name__})"
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS // 2] + message[-MAX_MESSAGE_CHARS // 2 :]
    return {
        "type": type(error).__name__[:200],
        "message": message,
        "traceback": lines[:MAX_MESSAGE_CHARS],
        "line": frames[-1].lineno if frames else None,
        "cuda_error": _device_error() if on_device else None,
    }


def _frames(error: BaseException, path: str) -> list[traceback.FrameSummary]:
    """The places in the submission that an exception comes from. A DSL's exception may wrap another, whose place is more exact."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    cause = error.__cause__
    return own + _frames(cause, path) if cause is not None and _wraps_others(error) else own


def _message(error: BaseException) -> str:
    """An exception's text. A DSL's exception may leave it to its cause, which comes from a function that the kernel calls."""
    cause = error.__cause__ if _wraps_others(error) else None
    return f"{error}\n{_message(cause)}" if cause is not None and _wraps_others(cause) else str(error)


def _wraps_others(error: BaseException) -> bool:
    return type(error).__module__.startswith(_WRAPPING)


def _device_error() -> int | None:
    """The sticky error of this process's CUDA context (700 for an illegal access, …), or None if the context is sound."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    from cuda.bindings import driver

    return int(driver.cuCtxSynchronize()[0]) or None
