"""A worker whose inputs are copies in memory of its own, where a tool that watches memory sees their ends and how they were written.

Each request may bring a limit of time, at which its process ends by SIGALRM: who watches it can then still say what was seen.
"""

import signal
import socket
from collections.abc import Mapping, Sequence
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
    """One submission, from its source to its answers, which nobody compares."""

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        signal.setitimer(signal.ITIMER_REAL, request.get("limit_s", 0.0))
        try:
            answer = super().answer(request, descriptors)
            if request["kind"] == "load":
                self.state.mappings = Copies(self.state.device)
            return answer
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def main(descriptors: Mapping[str, int]) -> int:
    """Serve the judge on descriptors["channel"] until it hangs up."""
    channel = Channel(socket.socket(fileno=descriptors["channel"]), take_descriptors=True)
    return serve(CopyingWorker(channel), channel)
