"""The worker under one of NVIDIA's tools. Its inputs are copies in its own memory, so that the tool knows where each of them ends, and need
not save other processes' allocations.

A request may have a time limit, at which the process ends by SIGALRM; the tool can then still report. A request may ask for profiling: a
profiler that waits for the start of a range then sees only this request.
"""

import signal
import socket
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch

from evaluator.worker.memory import HostMapping, Mappings
from evaluator.worker.protocol import Channel, Message
from evaluator.worker.server import Server, serve


class Copies(Mappings):
    """Allocations on the host, whose tensors are copied to the worker's device."""

    def add(self, number: int, nbytes: int, descriptor: int) -> None:
        self._mappings[number] = HostMapping(descriptor, nbytes)

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        return super().tensor(view).to(self._device, copy=True)


class CopyingWorker(Server):
    """One submission, from its source to its outputs, which are not compared."""

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        signal.setitimer(signal.ITIMER_REAL, request.get("limit_s", 0.0))
        try:
            with torch.cuda.profiler.profile() if request.get("profile") and self.state.on_device else nullcontext():
                answer = super().answer(request, descriptors)
            if request["kind"] == "load":
                self.state.mappings = Copies(self.state.device)
            return answer
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def main(descriptor: int) -> int:
    """Serve the judge on this descriptor until it hangs up."""
    channel = Channel(socket.socket(fileno=descriptor), take_descriptors=True)
    return serve(CopyingWorker(channel), channel)
