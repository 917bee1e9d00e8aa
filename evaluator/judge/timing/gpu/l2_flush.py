"""The flush of the L2 cache before a timed call."""

import secrets
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory, describe

FLUSH_FACTOR = 3
"""A flush writes this many times the size of the L2 cache, so that no inputs stay there."""
LEAST_FLUSH_BYTES = 32 << 20
LOOKED_AREAS, LOOKED_WORDS = 4, 1024
"""Random areas, and words of each, that are looked at as soon as the calls are done. A flush that leaves out 1 % is noticed."""


class L2Flush:
    """Memory that a worker overwrites before a timed call, so that the L2 cache holds no inputs. Each call in a row has its own area.

    The judge owns the memory, and chooses a random word to write for each area. The word comes together with the inputs, so no flush can be
    done ahead. The judge detects a flush that was omitted to hide work of the same length in its time.
    """

    def __init__(self, memory: SharedMemory, room_bytes: int, areas: int = 1) -> None:
        """Make up to `areas` areas, as many as fit into `room_bytes`, but at least one. Raises RuntimeError if memory runs out."""
        self.device = memory.device
        words = torch.zeros(max(flush_bytes(memory.device) // 8, 1), dtype=torch.int64, device="meta")
        self._areas = [memory.allocate(words.nbytes) for _ in range(max(1, min(areas, room_bytes // words.nbytes)))]
        self._shape, self._ordered = words.shape, 0
        self._shown = memory.allocate(8 * len(self._areas))
        self._drawn = torch.zeros(len(self._areas), dtype=torch.int64, device=self.device)
        self._looked: list[tuple[int, torch.Tensor]] = []
        """The words that were looked at, by the numbers of their areas."""
        self.order()
        self.look()  # so that nothing has to be loaded for it behind the gate

    @property
    def allocations(self) -> list[Allocation]:
        """All memory that the worker sees."""
        return [*self._areas, self._shown]

    @property
    def areas(self) -> int:
        return len(self._areas)

    def order(self, count: int = 1) -> list[dict[str, Any]]:
        """The parts of the next request that say what to write before each of `count` calls."""
        self._ordered, self._looked = count, []
        self._where = torch.randint(self._shape.numel(), (LOOKED_WORDS,), device=self.device)
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

    def look(self) -> None:
        """Enqueue copies of random words of some areas: the worker could write the others after its calls. `done` compares them."""
        numbers = chance.sample(range(self._ordered), min(LOOKED_AREAS, self._ordered))
        self._looked = [(number, self._area(number).index_select(0, self._where)) for number in numbers]

    def done(self) -> bool:
        """Whether the last order was written completely, and before the last look, if there was one."""
        found = [*self._looked, *((number, self._area(number)) for number in range(self._ordered))]
        return all(bool((words == self._drawn[number]).all()) for number, words in found)

    def _area(self, number: int) -> torch.Tensor:
        return self._areas[number].view(self._shape, torch.int64)

    def _words(self) -> torch.Tensor:
        return self._shown.view((len(self._areas),), torch.int64)


def flush_bytes(device: torch.device) -> int:
    """Bytes that a flush writes."""
    l2_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size) if device.type == "cuda" else 0
    return max(FLUSH_FACTOR * l2_bytes, LEAST_FLUSH_BYTES)
