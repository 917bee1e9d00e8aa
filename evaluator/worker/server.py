"""The worker: loads one submission, makes its model, and serves the judge's requests until the channel ends.

Its replies are claims. It is small enough to read in one sitting, and holds nothing that a submission could use.
"""

import ctypes
import io
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence

from evaluator.worker.handlers import calls, lifecycle, timing
from evaluator.worker.origin import installed_folders
from evaluator.worker.patches.host_kernels import HostKernels
from evaluator.worker.protocol import Channel, ChannelClosedError, Message, ProtocolError
from evaluator.worker.state import State, describe_failure

SPIN_S = 0.005
"""How long to busy-wait for the next request: waking up takes up to half a millisecond, in which the clock runs."""

Handler = Callable[[State, Message, Sequence[int]], Message]

HANDLERS: dict[str, Handler] = {
    "load": lifecycle.load,
    "start": lifecycle.start,
    "reset": lifecycle.reset,
    "restore": lifecycle.restore,
    "construct": lifecycle.construct,
    "choose": lifecycle.choose,
    "map": lifecycle.map_memory,
    "unmap": lifecycle.unmap_memory,
    "gate": lifecycle.map_gate,
    "inputs": calls.inputs,
    "call": calls.call,
    "reveal": calls.reveal,
    "poison": calls.poison,
    "watch": calls.watch,
    "time": timing.time_call,
    "block": timing.block,
    "host_block": timing.host_block,
    "blank": timing.blank,
    "record": timing.record,
    "replay": timing.replay,
    "burst": timing.burst,
    "ping": timing.ping,
}
"""Handlers of requests, by kind."""


def main(descriptors: Mapping[str, int]) -> int:
    """Serve the judge on descriptors["channel"] until it hangs up."""
    channel = Channel(socket.socket(fileno=descriptors["channel"]), take_descriptors=True)
    if "launches" in descriptors:
        _record_launches(descriptors["launches"])
    return serve(Server(channel, HostKernels(descriptors.get("interpreted"))), channel)


def serve(worker: "Server", channel: Channel) -> int:
    """Serve the judge's requests until it hangs up."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # printed text must not be lost with the process
    while True:
        try:
            request, fds = channel.receive(spin_s=SPIN_S if worker.state.on_device else 0.0)
            try:
                channel.send(worker.answer(request, fds))
            except ProtocolError as error:  # forward() returned more than a frame can describe
                channel.send(worker.failed(request, error))
        except ChannelClosedError:
            return 0


class Server:
    """One submission, from its source to its outputs."""

    def __init__(self, channel: Channel, host_kernels: HostKernels | None = None) -> None:
        self.state = State(channel, host_kernels)

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        """Carry out one request; an exception of the submission's becomes a `failed` reply."""
        kind, seq = request["kind"], request["seq"]
        try:
            return {"kind": kind, "seq": seq, **HANDLERS[kind](self.state, request, descriptors)}
        # The submission's code runs in there: SystemExit, KeyboardInterrupt and its own subclasses of BaseException are its result too.
        except BaseException as error:  # noqa: BLE001
            return self.failed(request, error)

    def failed(self, request: Message, error: BaseException) -> Message:
        """The reply to a request that an exception ended."""
        told = describe_failure(error, str(self.state.path), on_device=self.state.on_device)
        return {"kind": "failed", "seq": request["seq"], **told}


def _record_launches(descriptor: int) -> None:
    """Give the preloaded recorder (launch_recorder.c) its table."""
    recorder = ctypes.CDLL(None)
    for folder in installed_folders():
        recorder.assay_recorder_installed(folder.encode())
    recorder.assay_recorder_attach(descriptor, ctypes.c_size_t(os.fstat(descriptor).st_size))
    os.close(descriptor)
