"""Inputs, a call that is compared, and its answer."""

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext

import torch

from evaluator.worker import structure
from evaluator.worker.kernel_clock import KernelClock
from evaluator.worker.memory import reset_persisting
from evaluator.worker.protocol import Message
from evaluator.worker.state import State, synchronize

_M_PERTURB = -6
"""Fills memory with the complement of a byte when it is allocated, and with the byte itself when it is freed; 0 turns that off."""


def inputs(state: State, request: Message, _: Sequence[int]) -> Message:
    """Keep the sets of inputs that the coming calls name by their position, and let go of the last answer, while no clock runs."""
    if not request.get("keep"):
        state.output, state.outputs = [], []
    reset_persisting()
    state.sets = [structure.decode(tree, state.mappings.tensor) for tree in request["sets"]]
    return {}


def call(state: State, request: Message, _: Sequence[int]) -> Message:
    """Call the model once; where `kernels` are asked for, the time of each launch is taken, and that of the call."""
    state.watch()  # forward() may have imported it
    if state.ablation:
        state.ablation.seal()  # what was loaded past the builder too
    clock = KernelClock() if request.get("kernels") else None
    with torch.no_grad(), clock.running() if clock else nullcontext():
        value = state.call_model(state.sets[request["set"]])
    synchronize(state.device)
    state.output = []
    return {"output": structure.encode(value, state.describe), **({"ms": clock.read()} if clock else {})}


def watch(state: State, request: Message, _: Sequence[int]) -> Message:
    """Call the model once, and say what own functions contributed: with a `pattern`, which memory without content holds, the bytes that
    they wrote, up to `enough`, and without one, the time that they took."""
    state.watch()
    if state.ablation is None or state.ablation.own_work is None:
        raise RuntimeError("own functions were not watched when the submission was loaded")
    own_work, pattern = state.ablation.own_work, request["pattern"]
    state.ablation.open()  # sealing and opening would be in the time
    if pattern is not None:
        state.ablation.seal()
    with torch.no_grad():
        own_work.begin(pattern, request["enough"])
        state.call_model(state.sets[request["set"]])
        found = own_work.end()
    state.ablation.seal()
    return found


def reveal(state: State, request: Message, _: Sequence[int]) -> Message:
    """Copy the outputs of the last call into the judge's memory, or of one `call` of a block; to `release`, give all free memory of the
    device back."""
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
    """Fill free memory with a byte, so that an output which is not written shows it; without a byte, leave memory alone again.

    The C library's allocator fills what it hands out from now on. CUDA's hands out what was freed last.
    """
    pattern = request["pattern"]
    _fill_allocations(pattern)
    if pattern is not None:
        blocks = [torch.full((size,), pattern, dtype=torch.uint8, device=state.device) for size in request["sizes"] for _ in "ab"]
        del blocks
    elif state.on_device:
        torch.cuda.empty_cache()  # the blocks that were filled are no doing of the submission's
    synchronize(state.device)
    return {}


def _fill_allocations(pattern: int | None) -> None:
    """Have the C library fill every block of memory that it hands out with a byte (mallopt(3)), where it is glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, 0 if pattern is None else pattern ^ 0xFF)
