"""Spool files: they keep results that the database did not take, until the next run imports them.

A full disk is the most likely reason, so an open store reserves space: a file of `RESERVE_BYTES` beside the database (if the file
system can reserve space), removed when the store closes. A lock on the file tells a running run from an ended one. For a server, or if
nothing can be written beside the database, the file is in `XDG_STATE_HOME/assay` (`~/.local/state/assay`).
"""

import fcntl
import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from db.address import Address
from db.error import StoreError
from db.storage.record import Entry

logger = logging.getLogger(__name__)

RESERVE_BYTES = 4 << 20


class Spool:
    """The file of one open store; it exists while it holds a reserve or results."""

    def __init__(self, address: Address) -> None:
        self._places = places(address)
        self._file: int | None = None
        self._path: Path | None = None
        self._size = 0

    def reserve(self) -> None:
        """Reserve space; if this disk is full, another place may still have some."""
        with suppress(OSError):
            self._open(self._places[0])
            if self._file is not None:
                os.posix_fallocate(self._file, 0, RESERVE_BYTES)

    def add(self, item: Entry) -> Path:
        """Keep one evaluation; it is on disk when this returns. Returns the file. Raises OSError if no place has space."""
        data = item.to_line().encode("ascii") + b"\n"
        for place in ([None] if self._file is not None else []) + list(self._places):
            try:
                if place is not None:
                    self._open(place)
                return self._append(data)
            except OSError as error:
                failure = error
                self.close()
        raise failure

    def close(self) -> None:
        """Leave results to the next run; remove an empty file."""
        if self._file is None or self._path is None:
            return
        with suppress(OSError):
            if self._size:
                os.ftruncate(self._file, self._size)
            else:
                self._path.unlink()
        os.close(self._file)
        self._file, self._path, self._size = None, None, 0

    def _append(self, data: bytes) -> Path:
        assert self._file is not None and self._path is not None
        written = 0
        while written < len(data):
            written += os.pwrite(self._file, data[written:], self._size + written)
        os.fsync(self._file)
        self._size += len(data)
        return self._path

    def _open(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        path = place.with_name(f"{place.name}.spool-{os.getpid()}-{secrets.token_hex(4)}.jsonl")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        self._file, self._path, self._size = file, path, 0


def places(address: Address) -> tuple[Path, ...]:
    """Prefixes of the paths of spool files, the preferred place first."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - pathlib's raises for a user without a home, who has the working folder
    own = home / ".local" / "state" if home.is_absolute() else Path.cwd()
    state = Path(os.environ.get("XDG_STATE_HOME") or own) / "assay"
    if address.path is None:
        return (state / hashlib.sha256(address.name.encode()).hexdigest()[:16],)
    whole = address.path.absolute()
    return whole, state / f"{hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]}-{whole.name}"


def left_behind(address: Address) -> Iterator[Path]:
    """Spool files of this database, of runs that may have ended."""
    for place in places(address):
        # An unreadable folder holds no file of this user.
        with suppress(OSError):
            yield from sorted(place.parent.glob(_escaped(place.name) + ".spool-*.jsonl"))


@contextmanager
def taken(path: Path) -> Iterator[list[Entry] | None]:
    """The evaluations of a spool file, locked meanwhile; None if a run still holds it. The file is removed unless the body raises.

    A last line cut short by a crash was never reported as kept. Raises StoreError for an invalid line.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield [Entry.from_line(line, f"{path}:{number}") for number, line in enumerate(_lines(file), 1)]
        path.unlink(missing_ok=True)
    finally:
        os.close(file)


def refuse(path: Path, error: StoreError) -> None:
    """Rename a file that can't be imported, so that it does not stop every run."""
    aside = path.with_suffix(".refused")
    path.rename(aside)
    logger.warning("results kept in %s can't be imported and stay there: %s", aside, error)


def _lines(file: int) -> list[str]:
    with os.fdopen(os.dup(file), "rb") as stream:
        text = stream.read().rstrip(b"\0")
    return text[: text.rfind(b"\n") + 1].decode("ascii", "replace").splitlines()


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
