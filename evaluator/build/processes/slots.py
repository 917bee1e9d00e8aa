"""Limits how many compilers run at once, over all processes that share a cache folder.

A slot is a lock file: the kernel frees it when its holder dies, for any reason. A program that needs more memory than one slot takes
several.
"""

import fcntl
import os
import random
from pathlib import Path
from typing import Self

POLL_S = 0.02
_COLLECTING = "collecting"


class Slots:
    """`count` slots, as lock files in `folder`, which is created on first use. Holds no open file and can be pickled."""

    def __init__(self, folder: Path, count: int, slot_bytes: int) -> None:
        """`slot_bytes`: memory per slot. All processes that share `folder` should use the same value."""
        self.folder, self.count, self.slot_bytes = folder, max(count, 1), max(slot_bytes, 1)

    def needed(self, memory_bytes: int) -> int:
        """Number of slots for this much memory; all slots if it needs more."""
        return min(max(-(-memory_bytes // self.slot_bytes), 1), self.count)

    def claim(self, memory_bytes: int, programs: int) -> "Claim":
        """A claim to the slots of `programs` programs with `memory_bytes` each. Close it after use."""
        return Claim(self, self.needed(memory_bytes), programs)

    def path(self, name: str) -> Path:
        """The lock file of that name. Raises OSError if the folder can't be made."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder / name


class Claim:
    """Slots that are taken as they become free: first one program's, waiting if necessary, then others' without waiting. A context manager,
    which gives them back."""

    def __init__(self, slots: Slots, each: int, programs: int) -> None:
        """`each`: slots per program."""
        self._slots, self._each, self._programs = slots, each, programs
        self._held: dict[str, int] = {}
        self._collecting: int | None = None

    def take(self) -> int:
        """How many programs may run at once; 0 while it has too few slots. Never waits. Raises OSError if slots can't be taken at all."""
        if len(self._held) < self._each:
            # Only one claim at a time may hold some slots and wait for more: two could wait for each other.
            if self._each > 1 and self._collecting is None:
                self._collecting = self._try(_COLLECTING)
            if self._each == 1 or self._collecting is not None:
                self._take_free(self._each)
            if len(self._held) < self._each:
                return 0
            self._stop_collecting()
        self._take_free(self._each * self._programs)
        return self.keep(self._programs)

    def keep(self, programs: int) -> int:
        """Keep the slots of at most `programs` programs. Returns how many may run at once now."""
        self._programs = min(self._programs, programs)
        kept = min(len(self._held) // self._each, self._programs)
        while len(self._held) > kept * self._each:
            _release(self._held.popitem()[1])
        return kept

    def close(self) -> None:
        """Give back all slots."""
        self._stop_collecting()
        self.keep(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_free(self, wanted: int) -> None:
        """Take free slots until `wanted` are held."""
        names = [name for name in map(str, range(self._slots.count)) if name not in self._held]
        random.shuffle(names)
        for name in names:
            if len(self._held) >= wanted:
                return
            if (descriptor := self._try(name)) is not None:
                self._held[name] = descriptor

    def _try(self, name: str) -> int | None:
        descriptor = os.open(self._slots.path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                return None
            raise
        return descriptor

    def _stop_collecting(self) -> None:
        if self._collecting is not None:
            _release(self._collecting)
            self._collecting = None


def _release(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # a close alone would leave the lock with any child that was forked meanwhile
    os.close(descriptor)
