"""Loads the submission's source, makes its model, and maps the judge's memory."""

import contextlib
import ctypes
import gc
import importlib.util
import os
import random
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy.random  # numpy would import it in the worker, which may not be able to
import torch

from evaluator.dsl import dsls
from evaluator.worker import structure
from evaluator.worker.gate import MappedGate
from evaluator.worker.memory import checked, keep_freed_memory
from evaluator.worker.origin import kernel_names
from evaluator.worker.parameters import Agreement, agree
from evaluator.worker.patches.ablation import Ablation
from evaluator.worker.patches.caches import cache_environment
from evaluator.worker.patches.own_work import OwnWork
from evaluator.worker.patches.process import BuildReply, WorkerProcess, hooks
from evaluator.worker.procedure import Procedure
from evaluator.worker.protocol import PIECE_CHARS, Message
from evaluator.worker.records import RecordMaker
from evaluator.worker.state import MODULE_NAME, Prepared, State, synchronize

_HOOKS = hooks()
"""Imported in the worker's parent, which can reach the modules."""


def load(state: State, request: Message, descriptors: Sequence[int]) -> Message:
    """Set up the process, and import the submission's module."""
    state.place(torch.device(request["device"]))
    torch.set_num_threads(request["threads"])
    os.environ["OMP_NUM_THREADS"] = str(request["threads"])
    os.environ.update(cache_environment(state.path.parent))
    tempfile.tempdir = None  # the fork server may have found one that this process can't use
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = False
    with os.fdopen(descriptors[0], "rb") as file:
        source = file.read()
    state.path.write_bytes(source)
    _name_kernels(source)
    if not state.on_device:
        for dsl in dsls():
            os.environ.update(dsl.without_device or {})
        keep_freed_memory()
    if state.on_device:
        _settle_devices()
    if leaves_out := request.pop("ablate"):
        _ablate(state)
    elif request.get("watch"):
        _watch(state)

    def build(wanted: Message) -> BuildReply:
        for header in wanted.pop("headers"):
            for start in range(0, len(header["text"]) or 1, PIECE_CHARS):
                state.channel.send({"kind": "header", "name": header["name"], "text": header["text"][start : start + PIECE_CHARS]})
        state.channel.send({"kind": "build", "request": wanted})
        reply, built = state.channel.receive()
        return reply["ok"], reply["output"], built[0] if built else None

    compiling = partial(_aside, state, os.getpid())
    process = WorkerProcess(build, state.ablation, state.host_kernels, state.on_device, leaves_out, compiling)
    state.watches = [watch for install in _HOOKS if (watch := install(process)) is not None]
    sys.argv = [str(state.path)]
    if str(state.path.parent) not in sys.path:
        sys.path.insert(0, str(state.path.parent))
    spec = importlib.util.spec_from_file_location(MODULE_NAME, state.path)
    if spec is None or spec.loader is None:
        raise ImportError("the submission's file can't be loaded as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    spec.loader.exec_module(module)
    state.watch()
    state.module, state.records = module, RecordMaker(module)
    state.model_class = getattr(module, request["class"])
    return {}


@contextlib.contextmanager
def _aside(state: State, pid: int) -> Iterator[None]:
    """Tell the judge that this process needs no device for a while, and wait for it afterwards. Only the main thread of process `pid` does
    so."""
    speaks = threading.current_thread() is threading.main_thread() and os.getpid() == pid
    if not (speaks and state.on_device) or torch.cuda.is_current_stream_capturing():
        yield
        return
    synchronize(state.device)  # enqueued work must not run beside others
    state.channel.send({"kind": "aside"})
    try:
        yield
    finally:
        state.channel.send({"kind": "back"})
        state.channel.receive()


def start(state: State, request: Message, _: Sequence[int]) -> Message:
    """Start CUDA, unless the submission has done so: its start takes a while, and no call's time should include it.

    The judge may ask before anything is loaded. PyTorch does not know of the context then, so a submission that asks PyTorch while loading
    finds the same in every worker.
    """
    state.place(torch.device(request["device"]))
    if state.on_device and state.model_class is None:
        _settle_devices()
        _make_context(state.device)
    else:
        torch.zeros(1, device=state.device)
        synchronize(state.device)
    return {}


def reset(state: State, _request: Message, _: Sequence[int]) -> Message:
    """Drop the model and the judge's memory, so that this process can load the problem's code for another evaluation or problem."""
    state.forget()
    gc.collect()
    if state.on_device:
        torch.cuda.empty_cache()
    return {}


def restore(state: State, _request: Message, _: Sequence[int]) -> Message:
    """On a GPU, launch the submission's own kernels again after leaving them out; drop everything made without them."""
    state.forget()
    _leave_out_kernels(False)
    return {}


def construct(state: State, request: Message, _: Sequence[int]) -> Message:
    """Make the model for a case, and give it the reference's parameters if the judge says so. The reply tells how the two agreed, and
    whether the model was made on the host alone."""
    arguments = structure.decode(request["arguments"], state.mappings.tensor, state.records)
    constants = {name: structure.decode(value, _no_tensor) for name, value in request["constants"].items()}
    if not request["keeps"]:
        state.prepared.clear()
    state.set_constants(constants)
    procedure = Procedure.decode(request.get("procedure"))
    before = _device_allocations(state)
    model = _made_on_device(state, arguments) if request["on_device"] else None
    if model is None:
        _seed(request["seed"])
        with _aside(state, os.getpid()) if request.get("aside") else contextlib.nullcontext():
            model = state.model_class(*arguments)
    on_host = before is not None and _device_allocations(state) == before
    agreement = Agreement()
    parameters: dict[str, torch.Tensor] = {}
    if isinstance(model, torch.nn.Module):
        dtype = request["dtype"] and structure.named_dtype(request["dtype"])
        model = model.to(state.device, dtype) if dtype else model.to(state.device)
        given = {name: state.mappings.tensor(view) for name, view in request["parameters"]}
        agreement = agree(model, given, copies=request.get("source") != "drawn")
        model = procedure.prepare(model)
        parameters = dict(model.named_parameters())
    model = torch.compile(model) if request.get("compiled") else model
    state.prepared[request["case"]] = Prepared(model, parameters, procedure, constants)
    state.choose(request["case"])
    return {**asdict(agreement), "on_host": on_host}


def _device_allocations(state: State) -> int | None:
    """Number of allocations on the device so far; None if it is unknown, as with an allocator of the submission's own."""
    if not state.on_device:
        return 0
    with contextlib.suppress(RuntimeError):
        return int(torch.cuda.memory_stats(state.device).get("allocation.all.allocated", 0))
    return None


def _made_on_device(state: State, arguments: Sequence[Any]) -> Any:
    """The baseline's model, if it can be made there: its file may mix devices. Its values are overwritten."""
    with contextlib.suppress(Exception), state.device:
        made = state.model_class(*arguments)
        torch.cuda.empty_cache()  # of what it drew from
        return made


def choose(state: State, request: Message, _: Sequence[int]) -> Message:
    """Call the model that was made for this case from now on."""
    state.choose(request["case"])
    return {}


def map_memory(state: State, request: Message, descriptors: Sequence[int]) -> Message:
    """Map the judge's allocations."""
    for (number, nbytes), descriptor in zip(request["allocations"], descriptors, strict=True):
        state.mappings.add(number, nbytes, descriptor)
    return {}


def unmap_memory(state: State, request: Message, _: Sequence[int]) -> Message:
    """Drop the tensors in these allocations, and unmap them."""
    state.sets, state.output, state.outputs, state.graphs = [], [], [], {}
    synchronize(state.device)  # enqueued work may still read the memory
    for number in request["allocations"]:
        state.mappings.remove(number)
    return {}


def map_gate(state: State, _: Message, descriptors: Sequence[int]) -> Message:
    """Map the page of the judge that streams wait at."""
    state.gate = MappedGate(descriptors[0])
    return {}


def _name_kernels(source: bytes) -> None:
    """Tell the preloaded recorder, if any, which kernels are the submission's: those that its source names."""
    name_kernels = getattr(ctypes.CDLL(None), "assay_recorder_source", None)
    if name_kernels is not None:
        name_kernels(source.replace(b"\0", b" "), " ".join(kernel_names(source.decode(errors="replace"))).encode())


def _ablate(state: State) -> None:
    """Leave out the submission's own kernels: on a GPU in the preloaded recorder, through which they are launched."""
    if state.on_device:
        _leave_out_kernels(True)
    else:
        state.ablation = Ablation()
        state.host_kernels.leaves_out = True


def _watch(state: State) -> None:
    """Count the contribution of the submission's own functions to calls."""
    own_work = state.host_kernels.own_work = OwnWork()
    state.ablation = Ablation(own_work)
    if state.on_device:
        own_work.see_graphs()


def _leave_out_kernels(leaves_out: bool) -> None:
    ctypes.CDLL(None).assay_recorder_ablate(int(leaves_out))


def _settle_devices() -> None:
    """Fix which GPUs this process sees, before the submission's code could change that."""
    from cuda.bindings import driver

    checked(driver.cuInit(0))


def _make_context(device: torch.device) -> None:
    """Make the process's context on the device, which PyTorch uses later."""
    from cuda.bindings import driver

    checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(device.index or 0))))


def _no_tensor(_: Any) -> Any:
    raise structure.StructureError("a constant is not a tensor")


def _seed(value: int) -> None:
    """Seed the generators of Python, numpy and PyTorch, as the judge does before it constructs the reference."""
    random.seed(value)
    numpy.random.seed(value % (1 << 32))
    torch.manual_seed(value)
