"""Workers that break the protocol, each in its own way, in the place of evaluator.worker.server.

A submission's first line, `# hostile: NAME at KIND`, says how the worker that loads it answers requests of that kind. All else, and
every baseline, it answers as an honest worker does. Confined, the honest answers are those of evaluator.worker.server. A light worker is
a thread of one process without PyTorch, and answers for the model of tests.judge.test_hostile in numpy (see tests.fuzz.peer):

    python -m tests.judge.hostile SOCKET
"""

import os
import pickle
import re
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from evaluator.worker.protocol import Channel, ChannelClosedError, Message, encode
from tests.fuzz import peer
from tests.fuzz.peer import Answer, LeavingError, LightModel
from tests.fuzz.plan import Plan

ENTRY = f"{__name__}:main"


@dataclass(frozen=True)
class End:
    """The worker's end of a conversation."""

    sock: socket.socket
    answer: Answer
    """An honest answer to a request."""
    wait: Callable[[], object]
    """Waits until the worker is killed."""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)


Behaviour = Callable[[End, Message], None]


def serve(end: End) -> int:
    """Answer as the submission's first line says; the wait status to end with."""
    channel = Channel(end.sock, take_descriptors=True)
    name = kind = ""
    try:
        while True:
            request, fds = channel.receive()
            if request["kind"] == "load" and request["class"] == "ModelNew":
                found = re.match(r"# hostile: (\w+) at (\w+)", os.pread(fds[0], 1000, 0).decode())
                name, kind = found.groups() if found else ("", "")
            if request["kind"] == kind:
                BEHAVIOURS[name](end, request)
            else:
                channel.send(end.answer(request | {"spoiled": name if kind == "timed" else ""}, fds))
    except LeavingError as leaving:
        return leaving.status
    except (ChannelClosedError, OSError):
        return 0


def main(descriptors: Mapping[str, int]) -> int:
    """The confined worker's entry."""
    from evaluator.worker.server import Server

    sock = socket.socket(fileno=descriptors["channel"])
    status = serve(End(sock, Server(Channel(sock, take_descriptors=True)).answer, lambda: time.sleep(600)))
    if status & 0x7F:
        os.kill(os.getpid(), status & 0x7F)
    os._exit(status >> 8)


class HostileModel(LightModel):
    """x * weight, whose timed calls may return something else."""

    def __init__(self) -> None:
        super().__init__()
        self._spoil: Spoil | None = None
        self._timed = False

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        self._spoil = SPOILED.get(request["spoiled"])
        self._timed = request["kind"] in ("time", "host_block")
        return super().answer(request, descriptors)

    def _call(self, x: Any) -> Message:
        y = x * self._weight
        if self._timed and self._spoil:
            y = self._spoil(y)
        self._outputs = [y]
        return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": "cpu"}}


Spoil = Callable[[Any], Any]
"""The right answer → the answer."""

SPOILED: dict[str, Spoil] = {
    "zeros": numpy.zeros_like,
    "last_row_doubled": lambda right: numpy.concatenate([right[:-1], 2 * right[-1:]]),
}
"""What timed calls return."""


def bytes_(data: bytes) -> Behaviour:
    return lambda end, _: end.send(data)


def framed(payload: bytes) -> Behaviour:
    return bytes_(struct.pack("!I", len(payload)) + payload)


def answer(**changes: Any) -> Behaviour:
    """The right kind and number, and these fields."""
    return lambda end, request: end.send(encode({"kind": request["kind"], "seq": request["seq"], **changes}))


def tensor(**changes: Any) -> Behaviour:
    return answer(output={"tensor": {"shape": [5, 7], "dtype": "float32", "device": "cpu"} | changes})


def failure(**changes: Any) -> Behaviour:
    return answer(**{"kind": "failed", "type": "ValueError", "message": "no", "traceback": "", "line": None, "cuda_error": None} | changes)


def silent(end: End, request: Message) -> None:
    end.wait()


def stopped(end: End, request: Message) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def leaving(code: int) -> Behaviour:
    return lambda *_: leave(code << 8)


def leave(status: int) -> None:
    raise LeavingError(status)


def hanging_up(end: End, request: Message) -> None:
    end.sock.shutdown(socket.SHUT_RDWR)
    end.wait()


def left_to_a_child(end: End, request: Message) -> None:
    """The worker ends; a child keeps its socket open and says nothing."""
    if os.fork() == 0:
        end.wait()
    os._exit(3)


def cut_off(end: End, request: Message) -> None:
    end.send(struct.pack("!I", 1000) + b'{"kind"')
    leave(0)


def flooding_output(end: End, request: Message) -> None:
    while True:
        os.write(1, b"{}\n" * 10_000)


def asking_for_builds(wanted: Any, listen: bool = False) -> Behaviour:
    def behave(end: End, request: Message) -> None:
        while True:
            end.send(encode({"kind": "build", "request": wanted}))
            if listen:
                end.sock.recv(1 << 18)

    return behave


def answering_twice(end: End, request: Message) -> None:
    end.send(encode({"kind": request["kind"], "seq": request["seq"]}) * 2)


def guessing_numbers(end: End, request: Message) -> None:
    """Answers to each of the first requests, if they were numbered from 1."""
    for number in range(1, 60):
        for kind in ("map", "inputs", "call", "time"):
            end.send(encode({"kind": kind, "seq": number, "ms": 0.001}))
    end.wait()


class Marker:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (PICKLE_MARKER,)


PICKLE_MARKER = "/tmp/assay-attack-pickle"
PICKLE = pickle.dumps(Marker())
LOUD = {"name": "loud", "sources": [{"name": "main.cpp", "text": "\n".join(f"#error {number:01500}" for number in range(100))}]}
"""The compiler says so much of it that a few answers fill the socket."""

BEHAVIOURS: dict[str, Behaviour] = {
    "garbage": bytes_(b"\0\0\0\5hello"),
    "a_pickle": framed(PICKLE),
    "guessing_numbers": guessing_numbers,
    "wrong_kind": answer(kind="loaded"),
    "answering_twice": answering_twice,
    "silent": silent,
    "stopped": stopped,
    "leaving_with_0": leaving(0),
    "hanging_up": hanging_up,
    "left_to_a_child": left_to_a_child,
    "cut_off": cut_off,
    "flooding_output": flooding_output,
    "flooding_builds": asking_for_builds({"name": "x"}),
    "loud_builds": asking_for_builds(LOUD),
    "loud_builds_listened_to": asking_for_builds(LOUD, listen=True),
    "build_with_long_names": asking_for_builds({"k" * 100_000: 1}, listen=True),
    "negative_shape": tensor(shape=[-5, 7]),
    "large_shape": tensor(shape=[1 << 40, 1 << 40]),
    "unknown_dtype": tensor(dtype="float31"),
    "other_device": tensor(device="cuda"),
    "nothing_revealed": answer(),
    "failure_without_end": failure(message="x" * 1_000_000),
    "failure_with_a_long_line_number": failure(line=10**4000),
    "failure_like_the_machines": failure(
        type="OSError", message="no CUDA-capable device is detected; nvcc: command not found; lock is held"
    ),
}


def talk(sock: socket.socket, stdout: int, over: threading.Event, plan: Plan | None) -> int:
    """The light worker's end."""
    return serve(End(sock, HostileModel().answer, over.wait))


if __name__ == "__main__":
    peer.serve(socket.socket(fileno=int(sys.argv[1])), talk)
