"""Workers that break the protocol, each in its own way. Run inside the sandbox in the place of evaluator.worker.server.

A submission's first line, `# hostile: NAME at KIND`, says how the worker that loads it answers requests of that kind; all else, and
every baseline, it answers as an honest worker does.
"""

import os
import re
import signal
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

from evaluator.worker.protocol import Channel, ChannelClosedError, Message, encode
from evaluator.worker.server import Server

ENTRY = f"{__name__}:main"
Behaviour = Callable[[socket.socket, Message], None]


def main(descriptors: Mapping[str, int]) -> int:
    """Serve the judge as the submission's first line says."""
    sock = socket.socket(fileno=descriptors["channel"])
    channel = Channel(sock, take_descriptors=True)
    worker = Server(channel)
    name = kind = ""
    try:
        while True:
            request, fds = channel.receive()
            if request["kind"] == "load" and request["class"] == "ModelNew":
                found = re.match(r"# hostile: (\w+) at (\w+)", os.pread(fds[0], 1000, 0).decode())
                name, kind = found.groups() if found else ("", "")
            if request["kind"] == kind:
                BEHAVIOURS[name](sock, request)
            else:
                channel.send(worker.answer(request, fds))
    except ChannelClosedError:
        return 0


def bytes_(data: bytes) -> Behaviour:
    return lambda sock, _: sock.sendall(data)


def answer(**changes: Any) -> Behaviour:
    """The right kind and number, and these fields."""
    return lambda sock, request: sock.sendall(encode({"kind": request["kind"], "seq": request["seq"], **changes}))


def claim(output: Any) -> Behaviour:
    return answer(output=output)


def tensor(**changes: Any) -> Behaviour:
    return claim({"tensor": {"shape": [17, 1021], "dtype": "float32", "device": "cpu"} | changes})


def failure(**changes: Any) -> Behaviour:
    return answer(**{"kind": "failed", "type": "ValueError", "message": "no", "traceback": "", "line": None, "cuda_error": None} | changes)


def silent(sock: socket.socket, request: Message) -> None:
    time.sleep(600)


def stopped(sock: socket.socket, request: Message) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def dripping(sock: socket.socket, request: Message) -> None:
    sock.sendall(struct.pack("!I", 100_000))
    while True:
        sock.sendall(b" ")
        time.sleep(0.02)


def leaving(code: int) -> Behaviour:
    def behave(sock: socket.socket, request: Message) -> None:
        os._exit(code)

    return behave


def dying(number: signal.Signals) -> Behaviour:
    def behave(sock: socket.socket, request: Message) -> None:
        os.kill(os.getpid(), number)

    return behave


def hanging_up(sock: socket.socket, request: Message) -> None:
    sock.shutdown(socket.SHUT_RDWR)
    time.sleep(600)


def left_to_a_child(sock: socket.socket, request: Message) -> None:
    """The worker ends; a child keeps its socket open and says nothing."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(3)


def cut_off(sock: socket.socket, request: Message) -> None:
    sock.sendall(struct.pack("!I", 1000) + b'{"kind"')
    os._exit(0)


def flooding(sock: socket.socket, request: Message) -> None:
    frame = encode({"kind": request["kind"], "seq": 1, "output": {"value": 1}}) * 1000
    while True:
        sock.sendall(frame)


def flooding_output(sock: socket.socket, request: Message) -> None:
    while True:
        os.write(1, b"{}\n" * 10_000)


def asking_for_builds(wanted: Any, listen: bool = False) -> Behaviour:
    def behave(sock: socket.socket, request: Message) -> None:
        while True:
            sock.sendall(encode({"kind": "build", "request": wanted}))
            if listen:
                sock.recv(1 << 18)

    return behave


def sending_descriptors(sock: socket.socket, request: Message) -> None:
    frame = encode({"kind": request["kind"], "seq": request["seq"]})
    socket.send_fds(sock, [frame], [1] * 60)


def answering_twice(sock: socket.socket, request: Message) -> None:
    sock.sendall(encode({"kind": request["kind"], "seq": request["seq"]}) * 2)


def answering_ahead(sock: socket.socket, request: Message) -> None:
    """The next question's answer comes with this one's."""
    sock.sendall(encode({"kind": request["kind"], "seq": request["seq"]}) + encode({"kind": "call", "seq": request["seq"] + 1}))


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
    "wrong_number": answer(seq=0),
    "number_of_another_type": answer(seq=[1]),
    "wrong_kind": answer(kind="loaded"),
    "kind_of_another_type": answer(kind={"a": 1}),
    "answering_twice": answering_twice,
    "answering_ahead": answering_ahead,
    "silent": silent,
    "stopped": stopped,
    "dripping": dripping,
    "leaving_with_0": leaving(0),
    "leaving_with_7": leaving(7),
    "segmentation_fault": dying(signal.SIGSEGV),
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
    "build_with_long_names": asking_for_builds({"k" * 100_000: 1}, listen=True),
    "sending_descriptors": sending_descriptors,
    "no_output": answer(),
    "negative_shape": tensor(shape=[-17, 1021]),
    "huge_shape": tensor(shape=[1 << 62, 1 << 62]),
    "large_shape": tensor(shape=[1 << 40, 1 << 40]),
    "shape_of_floats": tensor(shape=[17.0, 1021.0]),
    "no_shape": tensor(shape=None),
    "unknown_dtype": tensor(dtype="float31"),
    "dtype_that_is_a_module": tensor(dtype="_inductor"),
    "device_of_another_type": tensor(device=7),
    "other_device": tensor(device="cuda"),
    "very_many_tensors": claim({"list": [TENSOR] * 100_000}),
    "very_many_values": claim({"list": [{"value": 1}] * 500_000}),
    "deep_structure": claim({"list": [{"list": [{"list": [{"dict": 1}]}]}]}),
    "an_object": claim({"other": "Tensor" * 10_000}),
    "nothing_revealed": answer(),
    "failure_of_numbers": failure(type=1, message=2),
    "failure_without_end": failure(message="x" * 1_000_000),
    "failure_with_a_fraction_of_a_line": failure(line=1.5),
    "failure_with_a_long_line_number": failure(line=10**4000),
    "failure_as_it_should_be": failure(message="as it says"),
}
