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
        self._timed, self._calls = False, 0
        self._last: Any = None

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        self._spoil = SPOILED.get(request["spoiled"])
        self._timed = request["kind"] in ("time", "host_block")
        return super().answer(request, descriptors)

    def _call(self, x: Any) -> Message:
        y = x * self._weight
        if self._timed and self._spoil:
            self._calls += 1
            y = self._spoil(y, y if self._last is None else self._last, self._calls)
        self._outputs, self._last = [y], y
        return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": "cpu"}}


Spoil = Callable[[Any, Any, int], Any]
"""(right answer, the last call's, number of the timed call) → the answer."""


def last_row_doubled(right: Any, last: Any, call: int) -> Any:
    return numpy.concatenate([right[:-1], 2 * right[-1:]])


SPOILED: dict[str, Spoil] = {
    "zeros": lambda right, *_: numpy.zeros_like(right),
    "every_other": lambda right, last, call: right if call % 2 else last,
    "one_in_eight": lambda right, last, call: last if call % 8 else right,
    "last_row_doubled": last_row_doubled,
}
"""What timed calls return."""


def bytes_(data: bytes) -> Behaviour:
    return lambda end, _: end.send(data)


def framed(payload: bytes, times: int = 1) -> Behaviour:
    return bytes_((struct.pack("!I", len(payload)) + payload) * times)


def answer(**changes: Any) -> Behaviour:
    """The right kind and number, and these fields."""
    return lambda end, request: end.send(encode({"kind": request["kind"], "seq": request["seq"], **changes}))


def claim(output: Any) -> Behaviour:
    return answer(output=output)


def tensor(**changes: Any) -> Behaviour:
    return claim({"tensor": {"shape": [5, 7], "dtype": "float32", "device": "cpu"} | changes})


def failure(**changes: Any) -> Behaviour:
    return answer(**{"kind": "failed", "type": "ValueError", "message": "no", "traceback": "", "line": None, "cuda_error": None} | changes)


def silent(end: End, request: Message) -> None:
    end.wait()


def stopped(end: End, request: Message) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def dripping(end: End, request: Message) -> None:
    end.send(struct.pack("!I", 100_000))
    while True:
        end.send(b" ")
        time.sleep(0.02)


def leaving(code: int) -> Behaviour:
    return lambda *_: leave(code << 8)


def dying(number: signal.Signals) -> Behaviour:
    return lambda *_: leave(number)


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


def cut_off_and_silent(end: End, request: Message) -> None:
    end.send(struct.pack("!I", 1000) + b'{"kind"')
    end.wait()


def flooding(end: End, request: Message) -> None:
    frame = encode({"kind": request["kind"], "seq": 1, "output": {"value": 1}}) * 1000
    while True:
        end.send(frame)


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


def sending_descriptors(end: End, request: Message) -> None:
    frame = encode({"kind": request["kind"], "seq": request["seq"]})
    socket.send_fds(end.sock, [frame], [1] * 60)


def answering_twice(end: End, request: Message) -> None:
    end.send(encode({"kind": request["kind"], "seq": request["seq"]}) * 2)


def guessing_numbers(end: End, request: Message) -> None:
    """Answers to each of the first requests, if they were numbered from 1."""
    for number in range(1, 60):
        for kind in ("map", "inputs", "call", "time"):
            end.send(encode({"kind": kind, "seq": number, "ms": 0.001}))
    end.wait()


def sending_very_many_descriptors(end: End, request: Message) -> None:
    for _ in range(20):
        socket.send_fds(end.sock, [b"\0\0\0\2{}"], [1] * 200)
    end.wait()


class Marker:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (PICKLE_MARKER,)


def answering_ahead(end: End, request: Message) -> None:
    """The next question's answer comes with this one's."""
    end.send(encode({"kind": request["kind"], "seq": request["seq"]}) + encode({"kind": "call", "seq": request["seq"] + 1}))


PICKLE_MARKER = "/tmp/assay-attack-pickle"
PICKLE = pickle.dumps(Marker())
LOUD = {"name": "loud", "sources": [{"name": "main.cpp", "text": "\n".join(f"#error {number:01500}" for number in range(100))}]}
"""The compiler says so much of it that a few answers fill the socket."""
TENSOR = {"tensor": {"shape": [], "dtype": "float32", "device": "cpu"}}

BEHAVIOURS: dict[str, Behaviour] = {
    "garbage": bytes_(b"\0\0\0\5hello"),
    "announcing_four_gibibytes": bytes_(b"\xff" * 100),
    "an_empty_frame": bytes_(b"\0\0\0\0"),
    "a_list": bytes_(b"\0\0\0\2[]"),
    "deep_json": bytes_(struct.pack("!I", 100_000) + b"[" * 100_000),
    "a_lone_surrogate": bytes_(struct.pack("!I", 17) + b'{"kind":"\\ud800"}'),
    "a_pickle": framed(PICKLE),
    "deeper_json": framed(b"[" * 200_000 + b"]" * 200_000),
    "a_number_of_a_million_digits": framed(b'{"kind": "call", "seq": ' + b"9" * 1_000_000 + b"}"),
    "not_a_number": framed(b'{"kind": "call", "seq": NaN, "ms": Infinity}'),
    "not_unicode": framed(b'{"kind": "\xff\xfe\xed\xa0\x80", "seq": 1}'),
    "wrong_types": framed(b'{"kind": {"call": []}, "seq": "1", "output": [[]], "type": 7, "request": null}'),
    "large_frames": framed(b'{"kind": "call", "seq": 0, "x": "' + b"x" * (1 << 20) + b'"}', times=64),
    "guessing_numbers": guessing_numbers,
    "wrong_number": answer(seq=0),
    "number_of_another_type": answer(seq=[1]),
    "wrong_kind": answer(kind="loaded"),
    "kind_of_another_type": answer(kind={"a": 1}),
    "answering_twice": answering_twice,
    "answering_ahead": answering_ahead,
    "silent": silent,
    "stopped": stopped,
    "cut_off_and_silent": cut_off_and_silent,
    "dripping": dripping,
    "leaving_with_0": leaving(0),
    "leaving_with_7": leaving(7),
    "segmentation_fault": dying(signal.SIGSEGV),
    "aborting": dying(signal.SIGABRT),
    "killed_by_itself": dying(signal.SIGKILL),
    "hanging_up": hanging_up,
    "left_to_a_child": left_to_a_child,
    "cut_off": cut_off,
    "flooding": flooding,
    "flooding_output": flooding_output,
    "flooding_builds": asking_for_builds({"name": "x"}),
    "loud_builds": asking_for_builds(LOUD),
    "loud_builds_listened_to": asking_for_builds(LOUD, listen=True),
    "build_of_nothing": asking_for_builds(None),
    "build_of_a_path": asking_for_builds({"name": "../../etc/passwd", "sources": [{"name": "/etc/shadow", "text": "x"}]}, listen=True),
    "build_with_long_names": asking_for_builds({"k" * 100_000: 1}, listen=True),
    "sending_descriptors": sending_descriptors,
    "sending_very_many_descriptors": sending_very_many_descriptors,
    "no_output": answer(),
    "negative_shape": tensor(shape=[-5, 7]),
    "huge_shape": tensor(shape=[1 << 62, 1 << 62]),
    "large_shape": tensor(shape=[1 << 40, 1 << 40]),
    "shape_of_floats": tensor(shape=[5.0, 7.0]),
    "no_shape": tensor(shape=None),
    "unknown_dtype": tensor(dtype="float31"),
    "dtype_that_is_a_module": tensor(dtype="_inductor"),
    "device_of_another_type": tensor(device=7),
    "other_device": tensor(device="cuda"),
    "very_many_tensors": claim({"list": [TENSOR] * 100_000}),
    "very_many_values": claim({"list": [{"value": 1}] * 500_000}),
    "deep_structure": claim({"list": [{"list": [{"list": [{"dict": 1}]}]}]}),
    "a_long_name": claim({"dict": [[{"value": "x" * (4 << 20)}, TENSOR]]}),
    "an_object": claim({"other": "Tensor" * 10_000}),
    "nothing_revealed": answer(),
    "failure_of_numbers": failure(type=1, message=2),
    "failure_without_end": failure(message="x" * 1_000_000),
    "failure_with_a_fraction_of_a_line": failure(line=1.5),
    "failure_with_a_long_line_number": failure(line=10**4000),
    "failure_like_the_machines": failure(
        type="OSError", message="no CUDA-capable device is detected; nvcc: command not found; lock is held"
    ),
    "failure_as_it_should_be": failure(message="as it says"),
}


def talk(sock: socket.socket, stdout: int, over: threading.Event, plan: Plan | None) -> int:
    """The light worker's end."""
    return serve(End(sock, HostileModel().answer, over.wait))


if __name__ == "__main__":
    peer.serve(socket.socket(fileno=int(sys.argv[1])), talk)
