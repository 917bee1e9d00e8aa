"""The worker: loads one submission, constructs its model, and answers the judge's calls until the channel ends.

What it answers is a claim. It is small so that it can be read at one sitting, and it holds nothing that a submission could use.
"""

import ctypes
import importlib.util
import io
import os
import random
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.random  # numpy itself would import it in the worker, where there may be no way to it
import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from evaluator.worker import structure
from evaluator.worker.ablation import Ablation
from evaluator.worker.caches import cache_environment
from evaluator.worker.extension import BuildReply, Extensions
from evaluator.worker.gate import MappedGate
from evaluator.worker.interpreter import ENVIRONMENT, Interpreter
from evaluator.worker.kernel_clock import KernelClock, event
from evaluator.worker.memory import Mappings, checked, keeps_cache, reset_persisting, share_memory
from evaluator.worker.origin import INSTALLED_KERNELS, installed_folders
from evaluator.worker.procedure import PLAIN, Procedure, copied
from evaluator.worker.protocol import Channel, ChannelClosedError, Message, ProtocolError

MODULE_NAME = "submission"
MAX_MESSAGE_CHARS = 20_000
HEAD_START_CYCLES = 40_000
"""Of a GPU's clock: some 20 µs."""
EMPTY_CYCLES = 1
SPIN_S = 0.005
"""How long the next request is waited for awake: being woken takes the kernel up to half a millisecond, in which the clock runs."""

_M_PERTURB = -6
"""Fills memory with the complement of a byte when it is allocated, and with the byte itself when it is freed; 0 turns that off."""


def main(descriptors: Mapping[str, int]) -> int:
    """Serve the judge on descriptors["channel"] until it hangs up."""
    channel = Channel(socket.socket(fileno=descriptors["channel"]), take_descriptors=True)
    if "launches" in descriptors:
        _record_launches(descriptors["launches"])
    return serve(Server(channel, Interpreter(descriptors.get("interpreted"))), channel)


def serve(worker: "Server", channel: Channel) -> int:
    """Answer the judge's requests until it hangs up."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what was printed must not die with the process
    while True:
        try:
            request, fds = channel.receive(spin_s=SPIN_S if worker.on_device else 0.0)
            try:
                channel.send(worker.answer(request, fds))
            except ProtocolError as error:  # forward() returned more than a frame can describe
                channel.send(worker.failed(request, error))
        except ChannelClosedError:
            return 0


class Server:
    """One submission, from its source to its answers."""

    def __init__(self, channel: Channel, interpreter: Interpreter | None = None) -> None:
        self._channel = channel
        self._interpreter = interpreter or Interpreter(None)
        self._path = Path.cwd() / f"{MODULE_NAME}.py"
        self._device = torch.device("cpu")
        self._mappings = Mappings(self._device)
        self._model_class: Any = None
        self._model: Any = None
        self._procedure = PLAIN
        self._parameters: dict[str, torch.Tensor] = {}
        self._ablation: Ablation | None = None
        self._gate: MappedGate | None = None
        self._sets: list[list[Any]] = []
        self._output: list[torch.Tensor] = []
        self._outputs: list[list[torch.Tensor]] = []
        self._graphs: dict[str, Recording] = {}
        self._reuses = False
        """Whether answers of different calls have been seen to lie in the same memory: then those of a block are copied, or the last one
        would be all of them."""

    @property
    def on_device(self) -> bool:
        """Whether the submission runs on a GPU."""
        return self._device.type == "cuda"

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        """Carry out one request; whatever the submission raises becomes a `failed` answer."""
        kind, seq = request["kind"], request["seq"]
        handlers = {
            "load": self._load,
            "start": self._start,
            "construct": self._construct,
            "map": self._map,
            "unmap": self._unmap,
            "gate": self._map_gate,
            "inputs": self._inputs,
            "call": self._call,
            "reveal": self._reveal,
            "poison": self._poison,
            "time": self._time,
            "block": self._block,
            "blank": self._blank,
            "record": self._record,
            "replay": self._replay,
            "burst": self._burst,
            "ping": self._ping,
        }
        try:
            return {"kind": kind, "seq": seq, **handlers[kind](request, descriptors)}
        # The submission's code runs in there: SystemExit, KeyboardInterrupt and whatever it derives from BaseException are its answer too.
        except BaseException as error:  # noqa: BLE001
            return self.failed(request, error)

    def failed(self, request: Message, error: BaseException) -> Message:
        """The answer to a request that an exception ended."""
        return {"kind": "failed", "seq": request["seq"], **self._failure(error)}

    def _load(self, request: Message, descriptors: Sequence[int]) -> Message:
        self._device = torch.device(request["device"])
        self._mappings = Mappings(self._device)
        torch.set_num_threads(request["threads"])
        os.environ["OMP_NUM_THREADS"] = str(request["threads"])
        os.environ.update(cache_environment(self._path.parent))
        tempfile.tempdir = None  # the warm parent may have looked for one, which is none of this process's
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = False
        with os.fdopen(descriptors[0], "rb") as file:
            source = file.read()
        self._path.write_bytes(source)
        _name_kernels(source)
        if not self.on_device:
            os.environ.update(ENVIRONMENT)
        if self.on_device:
            # From here on it is settled which GPUs there are to this process: the submission's code could name others.
            from cuda.bindings import driver

            checked(driver.cuInit(0))
        if request.pop("ablate"):
            self._ablate()
        Extensions(self._build, self._ablation).install()
        sys.argv = [str(self._path)]
        sys.path.insert(0, str(self._path.parent))
        spec = importlib.util.spec_from_file_location(MODULE_NAME, self._path)
        if spec is None or spec.loader is None:
            raise ImportError("the submission's file can't be loaded as a module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE_NAME] = module
        spec.loader.exec_module(module)
        self._interpreter.watch()
        for name, value in request["constants"].items():
            setattr(module, name, structure.decode(value, _no_tensor))
        self._model_class = getattr(module, request["class"])
        return {}

    def _start(self, _request: Message, _: Sequence[int]) -> Message:
        """Start CUDA, unless the submission has done so: it takes a while, in which nobody's clock is to run."""
        torch.zeros(1, device=self._device)
        synchronize(self._device)
        return {}

    def _ablate(self) -> None:
        """Leave out the submission's own kernels: on a GPU by the preloaded recorder, which they are launched through."""
        if self._device.type == "cuda":
            ctypes.CDLL(None).assay_recorder_ablate()
        else:
            self._ablation = Ablation()
            self._interpreter.leaves_out = True

    def _build(self, request: Message) -> BuildReply:
        self._channel.send({"kind": "build", "request": request})
        reply, descriptors = self._channel.receive()
        return reply["ok"], reply["output"], descriptors[0] if descriptors else None

    def _construct(self, request: Message, _: Sequence[int]) -> Message:
        arguments = structure.decode(request["arguments"], self._mappings.tensor)
        seed(request["seed"])
        self._procedure = Procedure.decode(request.get("procedure"))
        model = self._model_class(*arguments)
        if isinstance(model, torch.nn.Module):
            model = self._prepare(model, request)
            self._parameters = dict(model.named_parameters())
        self._model = torch.compile(model) if request.get("compiled") else model
        return {}

    def _answer(self, values: Sequence[Any]) -> Any:
        """What the model makes of a set of inputs."""
        if self._ablation:
            values = self._procedure.spared(values)  # what a child writes into shared memory would be seen
        return self._procedure.call(self._model, self._parameters, values)

    def _prepare(self, model: torch.nn.Module, request: Message) -> torch.nn.Module:
        dtype = request["dtype"] and structure.named_dtype(request["dtype"])
        model = model.to(self._device, dtype) if dtype else model.to(self._device)
        given = {name: self._mappings.tensor(view) for name, view in request["parameters"]}
        own = model.state_dict()
        with torch.no_grad():
            for name, value in given.items():
                if isinstance(own.get(name), UninitializedTensorMixin):
                    own[name].materialize(value.shape)
                if name in own and isinstance(own[name], torch.Tensor) and own[name].shape == value.shape:
                    own[name].copy_(value)
        return self._procedure.prepare(model)

    def _map(self, request: Message, descriptors: Sequence[int]) -> Message:
        for (number, nbytes), descriptor in zip(request["allocations"], descriptors, strict=True):
            self._mappings.add(number, nbytes, descriptor)
        return {}

    def _unmap(self, request: Message, _: Sequence[int]) -> Message:
        self._sets, self._output, self._outputs, self._graphs = [], [], [], {}
        synchronize(self._device)  # what was enqueued may still read what is to be unmapped
        for number in request["allocations"]:
            self._mappings.remove(number)
        return {}

    def _map_gate(self, _: Message, descriptors: Sequence[int]) -> Message:
        self._gate = MappedGate(descriptors[0])
        return {}

    def _inputs(self, request: Message, _: Sequence[int]) -> Message:
        """Keep the sets of inputs that the coming calls name by their position, and let go of the last answer, while no clock runs."""
        if not request.get("keep"):
            self._output, self._outputs = [], []
        reset_persisting()
        self._sets = [structure.decode(tree, self._mappings.tensor) for tree in request["sets"]]
        return {}

    def _call(self, request: Message, _: Sequence[int]) -> Message:
        self._interpreter.watch()  # forward() may have imported it
        if self._ablation:
            self._ablation.seal()  # what was loaded past the builder too
        clock = KernelClock() if request.get("kernels") else None
        with torch.no_grad(), clock.running() if clock else nullcontext():
            value = self._answer(self._sets[request["set"]])
        synchronize(self._device)
        self._output = []
        return {"output": structure.encode(value, self._describe), **({"ms": clock.read()} if clock else {})}

    def _describe(self, tensor: torch.Tensor) -> Message:
        self._output.append(tensor)
        return self._description(tensor)

    def _description(self, tensor: torch.Tensor) -> Message:
        described = {"shape": list(tensor.shape), "dtype": structure.dtype_name(tensor.dtype), "device": tensor.device.type}
        order = memory_order(tensor)
        return {**described, "order": order} if order else described

    def _reveal(self, request: Message, _: Sequence[int]) -> Message:
        """Copy the outputs of the last call into the judge's memory, or of one `call` of a block; to `release`, give all free memory of the
        device back."""
        if request.get("call") is not None:
            self._output = self._outputs[request["call"]]
        with torch.no_grad():
            self._copy_out(request["outputs"])
        self._output = []
        synchronize(self._device)
        if request["release"] and self.on_device:
            torch.cuda.empty_cache()
        return {}

    def _copy_out(self, views: Sequence[Any]) -> None:
        """In the order in which they were described, and laid out as they were; a view that is None leaves its output out."""
        for view, tensor in zip(views, self._output, strict=True):
            if view is not None:
                self._mappings.tensor(view).copy_(tensor.permute(view["order"]) if "order" in view else tensor)

    def _poison(self, request: Message, _: Sequence[int]) -> Message:
        """Fill free memory with a byte, so that an output which is not written shows it; without a byte, leave memory alone again.

        The C library's allocator fills what it hands out from now on. CUDA's hands out what was freed last.
        """
        pattern = request["pattern"]
        _fill_allocations(pattern)
        if pattern is not None:
            blocks = [torch.full((size,), pattern, dtype=torch.uint8, device=self._device) for size in request["sizes"] for _ in "ab"]
            del blocks
        elif self.on_device:
            torch.cuda.empty_cache()  # the blocks that were filled are no doing of the submission's
        synchronize(self._device)
        return {}

    def _time(self, request: Message, _: Sequence[int]) -> Message:
        """One call over one set of inputs; on a GPU after its flush, where there is one, and between two events."""
        inputs = self._sets[request["set"]]
        with torch.no_grad():
            if self._device.type != "cuda":
                return {"output": structure.encode(self._answer(inputs), self._describe)}
            start, end = event(), event()
            if request["flush"] is not None:
                self._flush(request["flush"])
            start.record()
            value = self._answer(inputs)
            end.record()
        synchronize(self._device)
        return {"ms": start.elapsed_time(end), "output": structure.encode(value, self._describe)}

    def _block(self, request: Message, _: Sequence[int]) -> Message:
        """Calls one after another on a GPU, each over one of these sets and after its flush, where there is one: each between two events of
        its own (`apart`), or all of them between two. The device is waited for in the end.

        Before each call that is apart, and its flush, the device is kept busy for the cycles of a head start, so that the host gets ahead.
        Answers that share memory are copied: between two calls where they are apart, and otherwise as a part of them. So are others, where
        `copies` are asked for.
        """
        apart, values, host_ms = request["apart"], [], []
        copies = self._reuses or request["copies"]
        events = [(event(), event()) for _ in (request["sets"] if apart else "1")]
        with torch.no_grad():
            for number, (position, flush) in enumerate(zip(request["sets"], request["flushes"], strict=True)):
                inputs = self._sets[position]
                if flush is not None and number and keeps_cache():
                    synchronize(self._device)  # only what nothing uses any more can be let go of
                    reset_persisting()
                _keep_busy(request["head_start"])
                if flush is not None:
                    self._flush(flush)
                asked = time.perf_counter()
                if apart or number == 0:
                    events[number][0].record()
                values.append(self._answer(inputs))
                if apart:
                    events[number][1].record()
                host_ms.append((time.perf_counter() - asked) * 1e3)
                if copies:
                    values[-1] = copied(values[-1])
            if not apart:
                events[0][1].record()
        synchronize(self._device)
        descriptions = [self._kept(value) for value in values]
        self._reuses = self._reuses or share_memory(self._outputs)
        return {"ms": [start.elapsed_time(end) for start, end in events], "host_ms": host_ms, "outputs": descriptions, "copies": copies}

    def _blank(self, request: Message, _: Sequence[int]) -> Message:
        """What calls of a block, each apart, would take that do no more than launch an empty kernel."""
        events = [(event(), event()) for _ in request["flushes"]]
        for (start, end), flush in zip(events, request["flushes"], strict=True):
            _keep_busy(request["head_start"])
            if flush is not None:
                self._flush(flush)
            start.record()
            _keep_busy(EMPTY_CYCLES)
            end.record()
        synchronize(self._device)
        return {"ms": [start.elapsed_time(end) for start, end in events]}

    def _kept(self, value: Any) -> Any:
        """The description of one answer of several, which is kept with the others."""
        self._output = []
        description = structure.encode(value, self._describe)
        self._outputs.append(self._output)
        return description

    def _record(self, request: Message, _: Sequence[int]) -> Message:
        """Record calls over these sets as a CUDA graph of this `name`, each followed by the copying of its answer where there is a
        place for it; without `calls`, the copying of the last answer alone. Whatever keeps it from being recorded is the reason given."""
        last = self._output
        synchronize(self._device)
        try:
            recording = self._recorded(request)
            if not self._reuses and share_memory(recording.outputs):
                self._reuses = True
                recording = self._recorded(request)
            self._graphs[request["name"]] = recording
        # The submission's code runs in there, and fails for reasons of its own.
        except Exception as error:  # noqa: BLE001
            return {"recorded": False, "reason": self._failure(error)["message"]}
        finally:
            self._output, self._outputs = last, []
        return {"recorded": True}

    def _recorded(self, request: Message) -> "Recording":
        """These calls as a graph. Raises whatever keeps them from being recorded."""
        last, self._outputs = self._output, []
        graph, descriptions = torch.cuda.CUDAGraph(), []
        with torch.no_grad(), torch.cuda.graph(graph):
            for position, views in zip(request["sets"], request["outputs"], strict=True):
                if request["calls"]:
                    value = self._answer(self._sets[position])
                    descriptions.append(self._kept(copied(value) if self._reuses and views is None else value))
                if views is not None:
                    self._copy_out(views)
        return Recording(graph, self._outputs or [last], descriptions)

    def _replay(self, request: Message, _: Sequence[int]) -> Message:
        """Replay a block's graph between two events."""
        recording, start, end = self._graphs[request["name"]], event(), event()
        _keep_busy(HEAD_START_CYCLES)
        start.record()
        recording.graph.replay()
        end.record()
        synchronize(self._device)
        self._outputs = recording.outputs
        return {"ms": [start.elapsed_time(end)], "outputs": recording.descriptions}

    def _flush(self, order: Message) -> None:
        """Write over memory of the judge's, with a word that comes with the inputs."""
        self._mappings.tensor(order["memory"]).copy_(self._mappings.tensor(order["word"]))

    def _burst(self, request: Message, _: Sequence[int]) -> Message:
        """Calls back to back, one over each of these sets, each after a flush and with its answer copied into the judge's memory; where
        there is no place for answers, the last one is kept. Without `calls`, everything but the calls: the last answer is copied again,
        after a wait for the device where forward() `waits` for it.

        Of calls that were recorded under a `name`, the graph is replayed.

        They wait for the gate, where its value is given: until it opens, there are no inputs. It opens when they have all been enqueued.
        Where `kernels` are asked for, the time of each launch is taken, and that of the last call.
        """
        value = request["gate"]
        clock = KernelClock() if request.get("kernels") else None
        if value is not None and self._gate is not None:
            self._gate.wait_for(value)
        if request.get("name") is not None:
            recording = self._graphs[request["name"]]
            recording.graph.replay()
            self._output = recording.outputs[-1]
        else:
            self._call_in_row(request, clock)
        if value is not None:
            self._channel.send({"kind": "queued", "seq": request["seq"]})
        synchronize(self._device)
        return {"ms": clock.read()} if clock else {}

    def _call_in_row(self, request: Message, clock: KernelClock | None) -> None:
        """A burst's calls, or what is left of them without, enqueued one by one."""
        for position, views, flush in zip(request["sets"], request["outputs"], request["flushes"], strict=True):
            if flush is not None:
                self._flush(flush)
            with torch.no_grad():
                if request["calls"]:
                    self._output = []
                    with clock.running() if clock else nullcontext():
                        answer = self._answer(self._sets[position])
                    structure.encode(answer, self._describe)
                    del answer
                elif request["waits"]:
                    synchronize(self._device)
                    structure.encode(self._output, self._description)
                if views is not None:
                    self._copy_out(views)

    def _ping(self, _request: Message, _: Sequence[int]) -> Message:
        """Nothing, so that the judge learns what asking costs."""
        return {}

    def _failure(self, error: BaseException) -> Message:
        frames = self._frames(error)
        lines = "".join(f"line {frame.lineno}, in {frame.name}\n    {frame.line}\n" for frame in frames[-20:])
        try:
            message = told(error)
        except Exception as second:  # noqa: BLE001  (an exception class of the submission's own)
            message = f"(no message: {type(second).__name__})"
        return {
            "type": type(error).__name__[:200],
            "message": message
            if len(message) <= MAX_MESSAGE_CHARS
            else message[: MAX_MESSAGE_CHARS // 2] + message[-MAX_MESSAGE_CHARS // 2 :],
            "traceback": lines[:MAX_MESSAGE_CHARS],
            "line": frames[-1].lineno if frames else None,
            "cuda_error": device_error() if self._device.type == "cuda" else None,
        }

    def _frames(self, error: BaseException) -> list[traceback.FrameSummary]:
        """Where in the submission an exception comes from; a compiler's or an interpreter's wraps another, which tells more exactly."""
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self._path)]
        cause = error.__cause__
        return own + self._frames(cause) if cause is not None and is_of_triton(error) else own


@dataclass(frozen=True)
class Recording:
    """Calls as a CUDA graph, with their answers, which each replay writes anew."""

    graph: Any
    outputs: list[list[torch.Tensor]]
    descriptions: list[Any]


def is_of_triton(error: BaseException) -> bool:
    return type(error).__module__.startswith("triton.")


def told(error: BaseException) -> str:
    """What an exception says; one of Triton's may leave it to the one that it comes from, of a function called by the kernel."""
    deeper = error.__cause__ if is_of_triton(error) else None
    return f"{error}\n{told(deeper)}" if deeper is not None and is_of_triton(deeper) else str(error)


def _record_launches(descriptor: int) -> None:
    """Give the preloaded recorder (launch_recorder.c) its table."""
    recorder = ctypes.CDLL(None)
    for folder in installed_folders():
        recorder.assay_recorder_installed(folder.encode())
    recorder.assay_recorder_attach(descriptor, ctypes.c_size_t(os.fstat(descriptor).st_size))
    os.close(descriptor)


def _name_kernels(source: bytes) -> None:
    """Tell the preloaded recorder, where there is one, which kernels are the submission's: those that its source names."""
    name_kernels = getattr(ctypes.CDLL(None), "assay_recorder_source", None)
    if name_kernels is not None:
        name_kernels(source.replace(b"\0", b" "), " ".join(INSTALLED_KERNELS).encode())


def _fill_allocations(pattern: int | None) -> None:
    """Have the C library fill every block of memory that it hands out with a byte (mallopt(3)), where it is glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, 0 if pattern is None else pattern ^ 0xFF)


def _no_tensor(_: Any) -> Any:
    raise structure.StructureError("a constant is no tensor")


def seed(value: int) -> None:
    """Seed the generators of Python, numpy and PyTorch, as the judge does before it constructs the reference."""
    random.seed(value)
    numpy.random.seed(value % (1 << 32))
    torch.manual_seed(value)


def _keep_busy(cycles: int) -> None:
    """Give the device something to do, while the host asks for what comes next; launching is no part of a call's time."""
    if cycles:
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]


def memory_order(tensor: torch.Tensor) -> list[int] | None:
    """A tensor's dimensions from the widest stride to the narrowest, where its elements lie densely in that order and not in its own."""
    if tensor.layout is not torch.strided or tensor.is_contiguous():
        return None
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dimension: -strides[dimension])
    return order if tensor.permute(order).is_contiguous() else None


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def device_error() -> int | None:
    """The sticky error of this process's CUDA context (700 for an illegal access, …), or None where the context is sound."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    from cuda.bindings import driver

    return int(driver.cuCtxSynchronize()[0]) or None
