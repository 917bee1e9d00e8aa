"""Inputs, a call that is compared, and its output."""

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext

import torch

from evaluator.worker import structure
from evaluator.worker.memory import reset_persisting
from evaluator.worker.protocol import Message
from evaluator.worker.recorder import KernelClock
from evaluator.worker.state import State, synchronize

_M_PERTURB = -6
"""Fills memory with the complement of a byte on allocation, and with the byte itself on free; 0 turns that off."""


def inputs(state: State, request: Message, _: Sequence[int]) -> Message:
    """Store the input sets, which later calls name by position, and drop the last output, while no clock runs."""
    if not request.get("keep"):
        state.output, state.outputs = [], []
    reset_persisting()
    state.sets = [structure.decode(tree, state.mappings.tensor, state.records) for tree in request["sets"]]
    return {}


def call(state: State, request: Message, _: Sequence[int]) -> Message:
    """Call the model once. If `kernels` are asked for, measure each launch and the whole call."""
    state.watch()  # forward() may have imported a DSL
    if state.ablation:
        state.ablation.seal()  # includes code that was loaded without the builder
    clock = KernelClock() if request.get("kernels") else None
    with torch.no_grad(), clock.running() if clock else nullcontext():
        value = state.call_model(state.sets[request["set"]])
    synchronize(state.device)
    state.output = []
    return {"output": structure.encode(value, state.describe), **({"ms": clock.read()} if clock else {})}


def watch(state: State, request: Message, _: Sequence[int]) -> Message:
    """Call the model once, and report the contribution of its own functions. With a `pattern`, the byte in memory without content, that is
    the bytes that they wrote, up to `enough`; without one, the time that they took."""
    state.watch()
    if state.ablation is None or state.ablation.own_work is None:
        raise RuntimeError("own functions were not watched when the submission was loaded")
    own_work, pattern = state.ablation.own_work, request["pattern"]
    state.ablation.open()  # sealing and opening would count as time
    if pattern is not None:
        state.ablation.seal()
    with torch.no_grad():
        own_work.begin(pattern, request["enough"])
        state.call_model(state.sets[request["set"]])
        found = own_work.end()
    state.ablation.seal()
    return found


def reveal(state: State, request: Message, _: Sequence[int]) -> Message:
    """Copy the outputs of the last call, or of one `call` of a block, into the judge's memory; with `release`, free the device's unused
    memory."""
    if request.get("call") is not None:
        state.output = state.outputs[request["call"]]
    with torch.no_grad():
        state.copy_out(request["outputs"])
    state.output = []
    synchronize(state.device)
    if request["release"] and state.on_device:
        torch.cuda.empty_cache()
    return {}


def poison(state: State, request: Message, _: Sequence[int]) -> Message:
    """Fill free memory with a byte, so that unwritten output shows it; without a byte, stop that.

    The C library's allocator fills each block from now on. CUDA's allocator returns the memory that was freed last.
    """
    pattern = request["pattern"]
    _fill_allocations(pattern)
    if pattern is not None:
        blocks = [torch.full((size,), pattern, dtype=torch.uint8, device=state.device) for size in request["sizes"] for _ in "ab"]
        del blocks
    elif state.on_device:
        torch.cuda.empty_cache()  # the submission did not allocate the blocks that were filled
    synchronize(state.device)
    return {}


def _fill_allocations(pattern: int | None) -> None:
    """Make the C library fill each block that it allocates with a byte (mallopt(3)), if it is glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, 0 if pattern is None else pattern ^ 0xFF)
