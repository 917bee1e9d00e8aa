"""A content-addressed store of builds, shared by all processes of a user on this machine.

Only the trusted builder writes here, under the hash of everything that went into a build. One entry is one file, renamed into place when
it is complete:

    magic, 8 bytes | SHA-256 of all that follows, 32 bytes | length of the evidence, 8 bytes, big-endian | evidence, JSON |
    1 and the shared object, or 0
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.log import waiting
from evaluator.results.evidence import BuildEvidence

MAGIC = b"ASSAYBL1"
DEFAULT_LIMIT_BYTES = 16 << 30
TRIM_SHARE = 1 / 64
"""Share of the limit: after storing this much, a process trims the cache."""
_HEAD_BYTES = len(MAGIC) + 32
_LOCK_POLL_S = 0.05

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """The cached result of one build."""

    evidence: BuildEvidence
    shared_object: bytes | None
    """None if the build failed, or only checked whether sources compile."""


class Cache:
    """Entries below `root`, which is created on first use. Instances hold no open file and can be pickled."""

    def __init__(self, root: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """Beyond `limit_bytes`, the least recently used entries are dropped. Each process may exceed the limit by TRIM_SHARE."""
        self.root, self.limit_bytes = root, limit_bytes
        self._unseen_bytes = limit_bytes

    @property
    def headers(self) -> Path:
        """Folder for `evaluator.build.fast.shared_headers`: one folder per toolchain, with one folder per prepared item."""
        return self.root / "headers"

    def load(self, key: str) -> Entry | None:
        """The entry, or None. An entry that is damaged is dropped, so that it is built again."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            entry = _decode(data, key)
        except ValueError as error:
            log.warning("dropping damaged cache entry %s: %s", path, error)
            path.unlink(missing_ok=True)
            return None
        os.utime(path)  # `trim` drops the least recently used entries
        return entry

    def store(self, key: str, entry: Entry) -> None:
        """Store `entry`. Raises OSError, for example on a full disk. The checksum detects files that a power failure cut."""
        path = self._path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._unseen_bytes += file.write(_encode(entry))
            Path(temporary).rename(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        if self._unseen_bytes > self.limit_bytes * TRIM_SHARE:
            self.trim(self.limit_bytes)
            self._unseen_bytes = 0

    @contextlib.contextmanager
    def lock(self, key: str, timeout_s: float) -> Iterator[None]:
        """Hold `key` against all other threads and processes. The kernel frees it when its holder dies.

        Raises TimeoutError after `timeout_s`.
        """
        folder = self.root / "locks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Four digits limit the number of files; two keys with the same digits only wait for each other.
        # The file stays: if it were removed, a waiter could lock a file that no other process opens.
        descriptor = os.open(folder / key[:4], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with waiting(f"another judge's build {key[:12]}"):
                _acquire(descriptor, key, time.monotonic() + timeout_s)
            yield
        finally:
            # A close alone would leave the lock with any child that was forked meanwhile.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def trim(self, limit_bytes: int) -> int:
        """Drop the least recently used entries until at most `limit_bytes` are left. Returns the number of bytes freed."""
        found = sorted((*map(_item, self.root.glob("builds/*/*")), *map(_item, self.headers.glob("*/*/"))), key=lambda item: item[0])
        excess = sum(size for _, size, _ in found) - limit_bytes
        freed = 0
        for _, size, path in found:
            if freed >= excess:
                break
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            freed += size
        return freed

    def _path(self, key: str) -> Path:
        return self.root / "builds" / key[:2] / key


def _item(path: Path) -> tuple[float, int, Path]:
    """Last use of a file, or of any file in a folder, and its size; zeros if it has been removed meanwhile."""
    used_at, size = 0.0, 0
    for file in path.rglob("*") if path.is_dir() else [path]:
        with contextlib.suppress(FileNotFoundError):
            status = file.stat()
            used_at, size = max(used_at, status.st_mtime), size + status.st_size
    return used_at, size, path


def _acquire(descriptor: int, key: str, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"build {key} is held by another process") from None
            time.sleep(_LOCK_POLL_S)
        else:
            return


def _encode(entry: Entry) -> bytes:
    evidence = entry.evidence.model_dump_json().encode()
    object_bytes = b"\0" if entry.shared_object is None else b"\1" + entry.shared_object
    body = len(evidence).to_bytes(8, "big") + evidence + object_bytes
    return MAGIC + hashlib.sha256(body).digest() + body


def _decode(data: bytes, key: str) -> Entry:
    """Raises ValueError for data that `_encode` did not write for this key."""
    body = memoryview(data)[_HEAD_BYTES:]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : _HEAD_BYTES] != hashlib.sha256(body).digest():
        raise ValueError("checksum")
    end = 8 + int.from_bytes(body[:8], "big")
    evidence = BuildEvidence.model_validate_json(bytes(body[8:end]))
    if evidence.key != key:
        raise ValueError("entry of another key")
    return Entry(evidence, bytes(body[end + 1 :]) if body[end] else None)
