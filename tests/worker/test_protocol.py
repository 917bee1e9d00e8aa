"""Frames from a peer that may send anything."""

import array
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.worker import protocol
from evaluator.worker.protocol import MAX_DESCRIPTORS, MAX_FRAME_BYTES, Channel, ChannelClosedError, ProtocolError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=8)
MESSAGES = st.dictionaries(st.text(), JSON, max_size=5)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    """What a hostile peer holds, and the judge's channel."""
    theirs, ours = socket.socketpair()
    channel = Channel(ours)
    yield theirs, channel
    theirs.close()
    channel.close()


def frame(payload: bytes) -> bytes:
    return struct.pack("!I", len(payload)) + payload


def receive_all(data: bytes, take_descriptors: bool = False) -> list[Any]:
    """Every message that a channel makes of these bytes, and the error that ends them."""
    theirs, ours = socket.socketpair()
    channel = Channel(ours, take_descriptors)

    def write() -> None:
        theirs.sendall(data)
        theirs.close()

    writer = threading.Thread(target=write)
    writer.start()
    found: list[Any] = []
    try:
        while True:
            found.append(channel.receive(120)[0])
    except (ProtocolError, ChannelClosedError, TimeoutError) as error:
        found.append(type(error))
    finally:
        channel.close()
        writer.join()
    return found


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400) | st.lists(st.binary(max_size=60), max_size=5).map(lambda payloads: b"".join(map(frame, payloads))))
def test_arbitrary_bytes_are_objects_and_then_an_error_of_the_protocol(data: bytes) -> None:
    *messages, error = receive_all(data)
    assert error in (ProtocolError, ChannelClosedError) and all(isinstance(message, dict) for message in messages)


@settings(max_examples=100, deadline=None)
@given(st.lists(MESSAGES, max_size=4))
def test_messages_come_out_as_they_went_in(messages: list[dict[str, Any]]) -> None:
    assert receive_all(b"".join(map(protocol.encode, messages))) == [*messages, ChannelClosedError]


@settings(max_examples=100, deadline=None)
@given(MESSAGES, st.data())
def test_a_frame_cut_short_is_no_message(message: dict[str, Any], data: st.DataObject) -> None:
    whole = protocol.encode(message)
    assert receive_all(whole[: data.draw(st.integers(0, len(whole) - 1))]) == [ChannelClosedError]


def test_a_frame_split_at_any_byte_is_one_message(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    whole = protocol.encode({"kind": "call", "text": "é"})
    for split in range(len(whole) + 1):
        theirs.sendall(whole[:split])
        if 0 < split < len(whole):
            with pytest.raises(TimeoutError):
                channel.receive(0)
        theirs.sendall(whole[split:])
        assert channel.receive(120) == ({"kind": "call", "text": "é"}, [])


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b'"kind"',
        b"17",
        b"{",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"\\uDC80": 1}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' + b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"a": "' + b"\\ud83d" + b'", "b": ' + b"[" * 900 + b"]" * 900 + b"}",
        b"{}\0",
        b"{} {}",
    ],
    ids=lambda payload: repr(payload[:24]),
)
def test_payloads_that_are_no_strict_json_object(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        protocol.decode(payload)


def test_an_escaped_surrogate_pair_is_a_character() -> None:
    assert protocol.decode(b'{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


def test_what_is_sent_holds_no_lone_surrogate() -> None:
    assert protocol.decode(protocol.encode({"message": "file \udcff"})[4:]) == {"message": "file ?"}


@pytest.mark.parametrize("length", [MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_a_length_over_the_limit_is_refused_before_its_payload_comes(ends: tuple[socket.socket, Channel], length: int) -> None:
    theirs, channel = ends
    theirs.sendall(struct.pack("!I", length))
    with pytest.raises(ProtocolError, match="announced"):
        channel.receive(120)


def test_a_frame_of_the_longest_length_passes() -> None:
    text = "x" * (MAX_FRAME_BYTES - len('{"a":""}'))
    assert receive_all(protocol.encode({"a": text})) == [{"a": text}, ChannelClosedError]
    with pytest.raises(ProtocolError, match="limit"):
        protocol.encode({"a": text + "x"})


def test_not_a_number_is_not_sent() -> None:
    with pytest.raises(ValueError, match="float"):
        protocol.encode({"a": float("nan")})


def open_descriptors(path: Path) -> int:
    """How many of ours are this file's. Other threads open and close others."""
    found = 0
    for link in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):
            found += link.readlink() == path
    return found


def test_descriptors_never_enter_the_judges_table(ends: tuple[socket.socket, Channel], tmp_path: Path) -> None:
    theirs, channel = ends
    path = tmp_path.resolve() / "sent"
    path.touch()
    with path.open("rb") as file:
        for number in range(50):
            socket.send_fds(theirs, [protocol.encode({"n": number})], [file.fileno()] * 20)
            assert channel.receive(120) == ({"n": number}, [])
        assert open_descriptors(path) == 1


def test_descriptors_reach_the_worker_with_their_frame() -> None:
    judge, theirs = socket.socketpair()
    worker = Channel(theirs, take_descriptors=True)
    descriptor = os.memfd_create("x")
    os.write(descriptor, b"hello")
    Channel(judge).send({"kind": "map"}, [descriptor])
    message, (received,) = worker.receive(120)
    assert (message, os.pread(received, 10, 0)) == ({"kind": "map"}, b"hello")
    for number in (descriptor, received):
        os.close(number)
    judge.close()
    worker.close()


def test_more_descriptors_than_a_frame_carries_are_refused(ends: tuple[socket.socket, Channel]) -> None:
    _, channel = ends
    with pytest.raises(ProtocolError, match="descriptors"):
        channel.send({}, [0] * (MAX_DESCRIPTORS + 1))


def test_other_ancillary_data_is_ignored(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    credentials = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
    theirs.sendmsg([protocol.encode({"n": 1})], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, array.array("b", credentials))])
    assert channel.receive(120) == ({"n": 1}, [])


def test_silence_is_a_timeout(ends: tuple[socket.socket, Channel]) -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        ends[1].receive(0.1)
    assert time.monotonic() - start > 0.09


def test_bytes_that_keep_coming_do_not_put_off_the_deadline(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    theirs.sendall(struct.pack("!I", 1000))
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.02):
            theirs.sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(TimeoutError):  # put off, it would end with the frame, which is no message
            channel.receive(0.3)
    finally:
        over.set()
        thread.join()


def test_a_flood_is_read_no_further_than_asked(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    theirs.setblocking(False)
    flood = protocol.encode({"kind": "flood"}) * 1000
    try:
        while True:
            theirs.send(flood)
    except BlockingIOError:
        pass
    for _ in range(1000):
        assert channel.receive(120)[0] == {"kind": "flood"}
    assert len(channel._buffer) <= 1 << 20


def test_sending_to_a_peer_that_does_not_read_is_a_timeout(ends: tuple[socket.socket, Channel]) -> None:
    with pytest.raises(TimeoutError):
        ends[1].send({"text": "x" * (4 << 20)}, timeout_s=0.1)


def test_sending_to_a_peer_that_is_gone_says_so(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    theirs.close()
    with pytest.raises(ChannelClosedError):
        channel.send({"a": 1})
    with pytest.raises(ChannelClosedError):
        channel.receive(120)


def test_the_kernel_tells_who_spoke_first() -> None:
    theirs, ours = socket.socketpair()
    channel = Channel(ours, learn_peer=True)
    assert channel.peer_pid is None
    pids = []
    for number in range(2):
        pid = os.fork()
        if not pid:
            theirs.sendall(frame(b'{"n": %d}' % number))
            os._exit(0)
        pids.append(pid)
        os.waitpid(pid, 0)
    assert [channel.receive(120)[0]["n"] for _ in pids] == [0, 1]
    assert channel.peer_pid == pids[0]
    theirs.close()
    channel.close()
