"""Frames on the one socket between judge and worker: a length, then a JSON object; descriptors travel beside it.

Both sides use this module. The peer may send anything: a frame has a length limit, JSON is strict (numbers are finite, text is Unicode
without lone surrogates, an object is at the top), and anything else is a ProtocolError.
"""

import array
import json
import math
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, NoReturn

MAX_FRAME_BYTES = 8 << 20
MAX_DESCRIPTORS = 64
"""Descriptors sent with one frame; the kernel's own limit is 253."""

MAX_HEADERS = 10_000
MAX_HEADERS_BYTES = 64 << 20
"""Maximum for a build. A frame holds less, so each piece of a header is a frame before the build's."""
PIECE_CHARS = 1 << 20
"""JSON writes a character in up to six bytes."""

LEAST_TIMEOUT_S = 1e-3
"""A socket with a timeout of 0 does not wait at all, and raises a different error."""

COMMON_PREFIX = "assay_build_"
"""Prefix of a memory file with an extension that was built once for all names: it is loaded by that name, and then renamed."""

Message = dict[str, Any]

MAX_PATH_PARTS, MAX_NAME_BYTES = 16, 255


def is_path(text: str) -> bool:
    """Whether it names a file or folder below another: no part is hidden or a parent folder, and a compiler takes it for no option."""
    parts = text.split("/")
    named = all(part and part[0] != "." and len(part.encode(errors="replace")) <= MAX_NAME_BYTES for part in parts)
    return named and len(parts) <= MAX_PATH_PARTS and text[0] not in "-@" and text.isprintable()


_HEADER = struct.Struct("!I")
_CREDENTIALS = struct.Struct("3i")
"""struct ucred: process, user, group."""


class ProtocolError(Exception):
    """The peer sent something that is not a frame."""


class ChannelClosedError(Exception):
    """The peer is gone."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def decode(payload: bytes) -> Message:
    """The object in a frame's payload. Raises ProtocolError."""
    try:
        message = json.loads(payload.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
        if b"\\ud" in payload.lower():
            # A lone surrogate, written as an escape, parses; but a result that holds one can't be stored.
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not a JSON frame: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"a frame holds a JSON object, not {type(message).__name__}")
    return message


def encode(message: Message) -> bytes:
    """The frame for a message. Raises ProtocolError if it is too long."""
    payload = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    if len(payload) > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame of {len(payload)} bytes; the limit is {MAX_FRAME_BYTES}")
    return _HEADER.pack(len(payload)) + payload


class Channel:
    """One end of the socket pair.

    `take_descriptors` is set only on the worker's side: the judge never accepts a descriptor, so a worker can't fill its table.
    `learn_peer` is set on the judge's: the kernel then reports as `peer_pid` the process that sent the first piece.
    """

    def __init__(self, sock: socket.socket, take_descriptors: bool = False, learn_peer: bool = False) -> None:
        self._socket = sock
        self._take = take_descriptors
        self._learn = learn_peer
        self.peer_pid: int | None = None
        if learn_peer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._buffer = bytearray()
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Message, descriptors: Sequence[int] = (), timeout_s: float | None = None) -> None:
        """Send one frame, within timeout_s (None: without limit).

        Raises ChannelClosedError if the peer is gone, TimeoutError if it does not read.
        """
        if len(descriptors) > MAX_DESCRIPTORS:
            raise ProtocolError(f"{len(descriptors)} descriptors with one frame; the limit is {MAX_DESCRIPTORS}")
        frame = encode(message)
        start = time.monotonic()
        self._socket.settimeout(timeout_s)
        try:
            sent = socket.send_fds(self._socket, [frame], descriptors) if descriptors else self._socket.send(frame)
            if timeout_s is not None:
                self._socket.settimeout(max(timeout_s - (time.monotonic() - start), LEAST_TIMEOUT_S))
            self._socket.sendall(frame[sent:])
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None, spin_s: float = 0.0) -> tuple[Message, list[int]]:
        """The next frame and its descriptors; the first spin_s seconds of waiting are a busy wait.

        Raises ProtocolError, ChannelClosedError, and TimeoutError after timeout_s seconds without a whole frame (0: take what is there).
        """
        start = time.monotonic()
        deadline = None if timeout_s is None else start + timeout_s
        while True:
            payload = self._take_frame()
            if payload is not None:
                descriptors, self._descriptors = self._descriptors, []
                return decode(payload), descriptors
            if spin_s and time.monotonic() - start < spin_s and not select.select([self._socket], [], [], 0)[0]:
                continue
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not select.select([self._socket], [], [], left)[0]:
                raise TimeoutError
            self._read()

    def _take_frame(self) -> bytes | None:
        if len(self._buffer) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._buffer)
        if length > MAX_FRAME_BYTES:
            raise ProtocolError(f"a frame of {length} bytes is announced; the limit is {MAX_FRAME_BYTES}")
        if len(self._buffer) < _HEADER.size + length:
            return None
        payload = bytes(self._buffer[_HEADER.size : _HEADER.size + length])
        del self._buffer[: _HEADER.size + length]
        return payload

    def _read(self) -> None:
        space = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize) if self._take else 0
        if self._learn and self.peer_pid is None:
            space = socket.CMSG_SPACE(_CREDENTIALS.size)
        try:
            data, ancillary, _, _ = self._socket.recvmsg(1 << 18, space)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
                self._descriptors.extend(numbers)
            elif level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and self.peer_pid is None:
                self.peer_pid = _CREDENTIALS.unpack(payload)[0]
        if not data:
            raise ChannelClosedError("end of stream")
        self._buffer += data
