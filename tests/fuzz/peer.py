"""The hostile end of a conversation: a worker that follows a plan, confined as every worker is, or light.

Confined, it gives the answers of evaluator.worker.server, changed as the first line of the submission says. The light one stands at the
end of a zygote's socket, forks nothing and imports no torch: each worker is a thread of one process, with a few lines of numpy for a model.
So it answers the judge's real requests several hundred times a second.

    python -m tests.fuzz.peer SOCKET

Each worker prints a line of JSON for each mutation that it applies, and one when it is asked on after a lie.
"""

import contextlib
import json
import mmap
import os
import re
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from evaluator.worker.protocol import Channel, ChannelClosedError, Message
from tests.fuzz.effect import effect
from tests.fuzz.mutation import steps
from tests.fuzz.plan import Mutation, Plan, Step, Turn, encoded

ENTRY = f"{__name__}:main"
PLAN_LINE = "# plan: "
PLAN_MESSAGE = b"plan"
READY_MESSAGE = b"ready"
KILLED = 9
KEPT_FRAMES = 64

Answer = Callable[[Message, Sequence[int]], Message]
Tell = Callable[[Message], None]


class LeavingError(Exception):
    """The worker is to end with this wait status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Peer:
    """One conversation, from the worker's end."""

    def __init__(self, sock: socket.socket, answer: Answer, plan: Plan | None, tell: Tell, over: threading.Event) -> None:
        self._socket, self._answer, self._plan, self._tell, self._over = sock, answer, plan, tell, over
        self._channel = Channel(sock, take_descriptors=True)
        self._earlier: list[bytes] = []
        self._mutations: list[Mutation] = []
        self._met = 0
        self._numbers: list[int] = []
        self._lies_until = ""
        """A request of this kind, or of any for `*`, shows that the judge took a lie for an answer."""

    def serve(self) -> int:
        """Answer until the judge hangs up, or the plan says to leave; the wait status to end with."""
        early: list[int] = []
        try:
            while True:
                request, descriptors = self._channel.receive()
                descriptors = [*early, *descriptors]
                early = []
                if "kind" not in request:  # the reply to a build that nobody waits for, and maybe the next request's descriptors with it
                    own = 1 if request["ok"] else 0
                    _close(descriptors[:own])
                    early = descriptors[own:]
                    continue
                if self._lies_until in ("*", request["kind"]):
                    self._tell({"asked_on": request["kind"]})
                self._lies_until = ""
                mutation = self._next_mutation(request, descriptors)
                honest = self._answer(request, descriptors)
                if mutation:
                    self._change(honest, mutation)
                else:
                    self._send(encoded(honest))
                self._numbers.append(request["seq"])
        except LeavingError as leaving:
            return leaving.status
        except (ChannelClosedError, OSError):
            return 0

    def _next_mutation(self, request: Message, descriptors: Sequence[int]) -> Mutation | None:
        if request["kind"] == "load" and self._plan is None and request["class"] == "ModelNew":
            found = re.match(re.escape(PLAN_LINE) + "(.*)", os.pread(descriptors[0], 1 << 16, 0).decode())
            self._plan = Plan.from_json(found[1]) if found else None
        if self._plan and request["kind"] == self._plan.kind:
            self._met += 1
            if self._met == self._plan.skip + 1:
                self._mutations = list(self._plan.mutations)
        return self._mutations.pop(0) if self._mutations else None

    def _change(self, honest: Message, mutation: Mutation) -> None:
        """Send what the mutation makes of an answer, and tell beforehand whether that is honest.

        What a timed call returned is read only where it is to be revealed.
        """
        turn = Turn(honest, tuple(self._earlier), tuple(self._numbers))
        todo = steps(turn, mutation)
        found = effect(turn, b"".join(step.data for step in todo))
        timed = honest["kind"] in ("time", "host_block")
        if found.trailing or todo[-1].then not in ("", "read"):
            self._lies_until = "*"
        elif honest["kind"] == "time" and not found.same_output:  # of a block, other answers may be revealed than those that are lies
            self._lies_until = "reveal"
        self._tell({"mutation": mutation.name, "kind": honest["kind"], "honest": found.answers and (timed or found.same_output)})
        for step in todo:
            self._do(step)

    def _do(self, step: Step) -> None:
        if step.pause_s:
            self._over.wait(step.pause_s)
        if step.descriptors and step.data:
            sent = socket.send_fds(self._socket, [step.data], [self._socket.fileno()] * step.descriptors)
            self._send(step.data[sent:])
        elif step.then != "flood":
            self._send(step.data)
        if step.then:
            self._stop(step)

    def _stop(self, step: Step) -> None:
        if step.then == "read":
            _close(self._channel.receive()[1])
        elif step.then == "flood":
            while True:
                self._socket.sendall(step.data * (1 + 65_536 // len(step.data)))
        elif step.then == "exit":
            raise LeavingError(step.status)
        else:
            if step.then == "hang_up":
                self._socket.shutdown(socket.SHUT_RDWR)
            elif step.then == "half_close":
                self._socket.shutdown(socket.SHUT_WR)
            self._stay_silent()

    def _stay_silent(self) -> None:
        if self._lies_until and self._socket.recv(1):
            self._tell({"asked_on": ""})
        self._over.wait()
        raise ChannelClosedError("killed")

    def _send(self, data: bytes) -> None:
        self._earlier = [*self._earlier[-KEPT_FRAMES:], data]
        self._socket.sendall(data)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def main(descriptors: Mapping[str, int]) -> int:
    """The confined worker's entry."""
    from evaluator.worker.server import Server

    sock = socket.socket(fileno=descriptors["channel"])
    worker = Server(Channel(sock, take_descriptors=True))
    status = Peer(sock, worker.answer, None, lambda line: print(json.dumps(line), flush=True), threading.Event()).serve()
    if status & 0x7F:
        os.kill(os.getpid(), status & 0x7F)
    os._exit(status >> 8)


class LightModel:
    """Answers to every request for the model of `PROBLEM` in tests.fuzz.conversation, without torch."""

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}
        self._sets: list[list[Any]] = []
        self._outputs: list[Any] = []
        self._block: list[list[Any]] = []
        """The outputs of each call of a block."""
        self._weight: Any = None

    def answer(self, request: Message, descriptors: Sequence[int]) -> Message:
        """What an honest worker says."""
        kind = request["kind"]
        if kind == "map":
            for (number, nbytes), descriptor in zip(request["allocations"], descriptors, strict=True):
                self._maps[number] = mmap.mmap(descriptor, nbytes)
        _close(descriptors)
        answer: Message = {"kind": kind, "seq": request["seq"]}
        if kind == "construct":
            self._weight = self._array(request["parameters"][0][1]).copy()
            answer |= {"changed": False, "kept": [], "converted": [], "unmatched": [], "missing": []}
        elif kind == "inputs":
            self._sets = [[self._array(value["tensor"]) for value in tree["list"]] for tree in request["sets"]]
        elif kind in ("call", "time"):
            answer["output"] = self._call(self._sets[request["set"]][0])
        elif kind == "host_block":
            self._block, answer["outputs"] = [], []
            for position in request["sets"]:
                answer["outputs"].append(self._call(self._sets[position][0]))
                self._block.append(self._outputs)
        elif kind == "reveal":
            if request.get("call") is not None:
                self._outputs = self._block[request["call"]]
            for view, output in zip(request["outputs"], self._outputs, strict=True):
                if view is not None:
                    self._array(view)[...] = output
        return answer

    def _call(self, x: Any) -> Message:
        self._outputs = [x * self._weight, x + x]
        scaled, doubled = ({"tensor": {"shape": list(each.shape), "dtype": "float32", "device": "cpu"}} for each in self._outputs)
        rest = {"list": [{"int": "3"}, {"value": True}, {"value": None}, {"value": 0.5}, {"value": "text"}]}
        pair = {"tuple": [doubled, rest]}
        return {"dict": [[{"value": "scaled"}, scaled], [{"value": "pair"}, pair]]}

    def _array(self, view: Message) -> Any:
        count = int(numpy.prod(view["shape"]))
        return numpy.frombuffer(self._maps[view["allocation"]], numpy.float32, count, view["offset"]).reshape(view["shape"])


Talk = Callable[[socket.socket, int, threading.Event, Plan | None], int]
"""Talks to the judge until the event: (channel, standard output, killed, plan) → the wait status."""


def follow(sock: socket.socket, stdout: int, over: threading.Event, plan: Plan | None) -> int:
    """Talk as the plan says."""
    return Peer(sock, LightModel().answer, plan, lambda line: void(os.write(stdout, json.dumps(line).encode() + b"\n")), over).serve()


def _supervise(control: socket.socket, stdout: int, stderr: int, sock: socket.socket, plan: Plan | None, talk: Talk) -> None:
    """A worker and what watches over it, in the place of evaluator.sandbox.supervisor: killed means that its channel is shut."""
    over = threading.Event()
    ended: list[int] = []
    done, done_end = os.pipe()

    def run() -> None:
        try:
            ended.append(talk(sock, stdout, over, plan))
        finally:
            os.close(done_end)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready, _, _ = select.select([control.fileno(), done], [], [])
    if done not in ready:
        over.set()
        sock.shutdown(socket.SHUT_RDWR)
    thread.join()
    _close((done, stdout, stderr))
    sock.close()
    status = KILLED if over.is_set() else ended[0] if ended else 70 << 8
    with contextlib.suppress(OSError):  # a judge that has gone away wants no answer
        control.send(json.dumps({"status": status, "memory_exceeded": False, "disk_exceeded": False}).encode())
    control.close()


def void(_: object) -> None:
    """Drop a value."""


def serve(channel: socket.socket, talk: Talk = follow) -> None:
    """Light workers on request, until the judge's end is closed; a plan holds for the worker that is started next."""
    plan: Plan | None = None
    channel.send(READY_MESSAGE)
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 18, 16)
        if not message:
            return
        if message.startswith(PLAN_MESSAGE):
            plan = Plan.from_json(message[len(PLAN_MESSAGE) :].decode())
            continue
        specification, control, stdout, stderr, sock = descriptors
        os.close(specification)
        ends = socket.socket(fileno=control), stdout, stderr, socket.socket(fileno=sock), plan, talk
        threading.Thread(target=_supervise, args=ends, daemon=True).start()
        plan = None


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
