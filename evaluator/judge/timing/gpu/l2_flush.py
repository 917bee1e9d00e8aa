"""The flush of the L2 cache before a timed call."""

import secrets
from typing import Any

import torch

from evaluator.judge.workers.shared_memory import Allocation, SharedMemory, describe

FLUSH_FACTOR = 3
"""Sizes of the L2 cache that are written: nothing of the inputs is left there."""
LEAST_FLUSH_BYTES = 32 << 20


class L2Flush:
    """Memory that a worker overwrites before a timed call, so that the L2 cache holds no inputs; an area for each call in a row.

    The judge owns the memory, and draws the word to write anew for each area. The word comes together with the inputs, so that no flush
    can be done ahead. The judge sees a flush that was left out to hide work of the same length behind its time.
    """

    def __init__(self, memory: SharedMemory, room_bytes: int, areas: int = 1) -> None:
        """So many areas as there is room for, one at the least. Raises RuntimeError where there is no memory for them."""
        self.device = memory.device
        words = torch.zeros(max(_flush_bytes(memory.device) // 8, 1), dtype=torch.int64, device="meta")
        self._areas = [memory.allocate(words.nbytes) for _ in range(max(1, min(areas, room_bytes // words.nbytes)))]
        self._shape, self._ordered = words.shape, 0
        self._shown = memory.allocate(8 * len(self._areas))
        self._drawn = torch.zeros(len(self._areas), dtype=torch.int64, device=self.device)

    @property
    def allocations(self) -> list[Allocation]:
        """All memory that the worker sees."""
        return [*self._areas, self._shown]

    @property
    def areas(self) -> int:
        return len(self._areas)

    def order(self, count: int = 1) -> list[dict[str, Any]]:
        """How the next request says what to write, before each of so many calls."""
        self._ordered = count
        drawn = [secrets.randbits(63) for _ in range(count)]
        self._drawn[:count] = torch.tensor(drawn, dtype=torch.int64, device=self.device)
        self._words().zero_()
        words, word = (torch.empty(shape, dtype=torch.int64, device="meta") for shape in (self._shape, ()))
        return [
            {"memory": describe(area, 0, words), "word": describe(self._shown, 8 * number, word)}
            for number, area in enumerate(self._areas[:count])
        ]

    def show(self) -> None:
        """Let the worker see what to write."""
        self._words()[: self._ordered].copy_(self._drawn[: self._ordered])

    def done(self) -> bool:
        """Whether everything has been written that was last ordered."""
        pairs = zip(self._areas[: self._ordered], self._drawn, strict=False)
        return all(bool((area.view(self._shape, torch.int64) == word).all()) for area, word in pairs)

    def _words(self) -> torch.Tensor:
        return self._shown.view((len(self._areas),), torch.int64)


def _flush_bytes(device: torch.device) -> int:
    l2_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size) if device.type == "cuda" else 0
    return max(FLUSH_FACTOR * l2_bytes, LEAST_FLUSH_BYTES)
