"""How many compilers run at once, over all processes that share a cache folder.

A slot is a lock file: the kernel frees it when its holder dies, however it dies. Who needs more memory than a slot stands for takes
several.
"""

import contextlib
import fcntl
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

_POLL_S = 0.02
_COLLECTING = "collecting"


class Slots:
    """So many slots, in the lock files of `folder`, which is made when first needed. Holds no open file and can be pickled."""

    def __init__(self, folder: Path, count: int, slot_bytes: int) -> None:
        """`slot_bytes`: memory that may be used with one slot. All who share `folder` should say the same."""
        self.folder, self.count, self.slot_bytes = folder, max(count, 1), max(slot_bytes, 1)

    def needed(self, memory_bytes: int) -> int:
        """Slots that stand for so much memory; all that there are where it is more."""
        return min(max(-(-memory_bytes // self.slot_bytes), 1), self.count)

    @contextlib.contextmanager
    def taken(self, memory_bytes: int) -> Iterator[float]:
        """Hold the slots that so much memory needs; gives the seconds that they were waited for. Raises OSError where none can be made."""
        start = time.monotonic()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            wanted = self.needed(memory_bytes)
            # Whoever holds some and waits for more is alone in that: two of them could wait for each other.
            with contextlib.ExitStack() as alone:
                if wanted > 1:
                    self._take(1, [_COLLECTING], alone)
                self._take(wanted, [str(number) for number in range(self.count)], held)
            yield time.monotonic() - start

    def _take(self, wanted: int, names: list[str], held: contextlib.ExitStack) -> None:
        while True:
            random.shuffle(names)
            for name in tuple(names):
                if wanted and self._try(name, held):
                    names.remove(name)
                    wanted -= 1
            if not wanted:
                return
            time.sleep(_POLL_S)

    def _try(self, name: str, held: contextlib.ExitStack) -> bool:
        descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                return False
            raise
        held.callback(_release, descriptor)
        return True


def _release(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # a close alone would leave the lock with any child that was forked meanwhile
    os.close(descriptor)
