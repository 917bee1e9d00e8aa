"""Timed calls: alone, in blocks, as CUDA graphs, and in bursts behind the judge's gate."""

import time
from collections.abc import Sequence
from contextlib import nullcontext

import torch

from evaluator.worker import structure
from evaluator.worker.memory import keeps_cache, reset_persisting, share_memory
from evaluator.worker.procedure import copied
from evaluator.worker.protocol import Message
from evaluator.worker.recorder import KernelClock, event
from evaluator.worker.state import Recording, State, describe_failure, description, synchronize

HEAD_START_CYCLES = 40_000
"""Cycles of a GPU's clock: about 20 µs."""
EMPTY_CYCLES = 1


def time_call(state: State, request: Message, _: Sequence[int]) -> Message:
    """One call over one input set; on a GPU after its flush, if any, and between two events."""
    inputs = state.sets[request["set"]]
    with torch.no_grad():
        if state.device.type != "cuda":
            return {"output": structure.encode(state.call_model(inputs), state.describe)}
        start, end = event(), event()
        if request["flush"] is not None:
            flush(state, request["flush"])
        start.record()
        value = state.call_model(inputs)
        end.record()
    synchronize(state.device)
    return {"ms": start.elapsed_time(end), "output": structure.encode(value, state.describe)}


def block(state: State, request: Message, _: Sequence[int]) -> Message:
    """Calls one after another on a GPU, each over one of these sets and after its flush, if any. Each is between two events of its own
    (`apart`), or all of them are between two. At the end, wait for the device.

    Before each call with its flush, the device is kept busy for `launch_lead` cycles, so that the host gets ahead. Outputs that share
    memory are copied: after a call's second event with `apart`, otherwise within the time. With `copies`, all outputs are.
    """
    apart, values, host_ms = request["apart"], [], []
    copies = state.reuses or request["copies"]
    events = [(event(), event()) for _ in (request["sets"] if apart else "1")]
    with torch.no_grad():
        for number, (position, order) in enumerate(zip(request["sets"], request["flushes"], strict=True)):
            inputs = state.sets[position]
            if order is not None and number and keeps_cache():
                synchronize(state.device)  # only unused lines can be dropped
                reset_persisting()
            keep_busy(request["launch_lead"])
            if order is not None:
                flush(state, order)
            asked = time.perf_counter()
            if apart or number == 0:
                events[number][0].record()
            values.append(state.call_model(inputs))
            if apart:
                events[number][1].record()
            host_ms.append((time.perf_counter() - asked) * 1e3)
            if copies:
                values[-1] = copied(values[-1])
        if not apart:
            events[0][1].record()
    synchronize(state.device)
    descriptions = [state.keep(value) for value in values]
    state.reuses = state.reuses or share_memory(state.outputs)
    return {"ms": [start.elapsed_time(end) for start, end in events], "host_ms": host_ms, "outputs": descriptions, "copies": copies}


def host_block(state: State, request: Message, _: Sequence[int]) -> Message:
    """Calls one after another on a CPU, each over one of these sets. Outputs that share memory are copied before the next call."""
    values = []
    with torch.no_grad():
        for position in request["sets"]:
            value = state.call_model(state.sets[position])
            values.append(copied(value) if state.reuses else value)
    descriptions = [state.keep(value) for value in values]
    state.reuses = state.reuses or share_memory(state.outputs)
    return {"outputs": descriptions}


def blank(state: State, request: Message, _: Sequence[int]) -> Message:
    """The times of calls in a block, with `apart`, that only launch an empty kernel."""
    events = [(event(), event()) for _ in request["flushes"]]
    for (start, end), order in zip(events, request["flushes"], strict=True):
        keep_busy(request["launch_lead"])
        if order is not None:
            flush(state, order)
        start.record()
        keep_busy(EMPTY_CYCLES)
        end.record()
    synchronize(state.device)
    return {"ms": [start.elapsed_time(end) for start, end in events]}


def record(state: State, request: Message, _: Sequence[int]) -> Message:
    """Record calls over these sets as a CUDA graph of this `name`, each followed by a copy of its output if there is a place for it.
    Without `calls`, record only the copy of the last output. If recording fails, the reply says why."""
    last = state.output
    synchronize(state.device)
    try:
        recording = _recorded(state, request)
        if not state.reuses and share_memory(recording.outputs):
            state.reuses = True
            recording = _recorded(state, request)
        state.graphs[request["name"]] = recording
    # The submission's code runs in there, and may raise anything.
    except Exception as error:  # noqa: BLE001
        return {"recorded": False, "reason": describe_failure(error, str(state.path), on_device=state.on_device)["message"]}
    finally:
        state.output, state.outputs = last, []
    return {"recorded": True}


def _recorded(state: State, request: Message) -> Recording:
    """These calls as a graph. Raises any exception of the calls, or of the recording."""
    last, state.outputs = state.output, []
    graph, descriptions = torch.cuda.CUDAGraph(), []
    with torch.no_grad(), torch.cuda.graph(graph):
        for position, views in zip(request["sets"], request["outputs"], strict=True):
            if request["calls"]:
                value = state.call_model(state.sets[position])
                descriptions.append(state.keep(copied(value) if state.reuses and views is None else value))
            if views is not None:
                state.copy_out(views)
    return Recording(graph, state.outputs or [last], descriptions)


def replay(state: State, request: Message, _: Sequence[int]) -> Message:
    """Replay a block's graph between two events."""
    recording, start, end = state.graphs[request["name"]], event(), event()
    keep_busy(HEAD_START_CYCLES)
    start.record()
    recording.graph.replay()
    end.record()
    synchronize(state.device)
    state.outputs = recording.outputs
    return {"ms": [start.elapsed_time(end)], "outputs": recording.descriptions}


def burst(state: State, request: Message, _: Sequence[int]) -> Message:
    """Calls back to back, one over each of these sets, each after a flush and with its output copied into the judge's memory; without a
    place for outputs, only the last one is kept. Without `calls`, everything except the calls: the last output is copied again, after
    waiting for the device if forward() `waits` for it.

    With a `name`, the graph recorded under it is replayed.

    With a `gate` value, they wait for the gate: before it opens, there are no inputs. It opens when all calls have been enqueued. When they
    are done, the stream writes that value. If `kernels` are asked for, each launch is measured, and the last call.
    """
    gate, value = state.gate if request["gate"] is not None else None, request["gate"]
    clock = KernelClock() if request.get("kernels") else None
    if gate is not None:
        gate.wait_for(value)
    if request.get("name") is not None:
        recording = state.graphs[request["name"]]
        recording.graph.replay()
        state.output = recording.outputs[-1]
    else:
        _call_in_row(state, request, clock)
    if gate is not None:
        gate.write(value)
        state.channel.send({"kind": "queued", "seq": request["seq"]})
    synchronize(state.device)
    return {"ms": clock.read()} if clock else {}


def _call_in_row(state: State, request: Message, clock: KernelClock | None) -> None:
    """A burst's calls, or with `calls` off only their flushes and copies, enqueued one by one."""
    for position, views, order in zip(request["sets"], request["outputs"], request["flushes"], strict=True):
        if order is not None:
            flush(state, order)
        with torch.no_grad():
            if request["calls"]:
                state.output = []
                with clock.running() if clock else nullcontext():
                    answer = state.call_model(state.sets[position])
                structure.encode(answer, state.describe)
                del answer
            elif request["waits"]:
                synchronize(state.device)
                structure.encode(state.output, description)
            if views is not None:
                state.copy_out(views)


def ping(_state: State, _request: Message, _: Sequence[int]) -> Message:
    """Do nothing, so that the judge can measure a request's cost."""
    return {}


def flush(state: State, order: Message) -> None:
    """Overwrite memory of the judge with a word that comes with the inputs."""
    state.mappings.tensor(order["memory"]).copy_(state.mappings.tensor(order["word"]))


def keep_busy(cycles: int) -> None:
    """Keep the device busy while the host enqueues the next work, so that launching is not part of a call's time."""
    if cycles:
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
