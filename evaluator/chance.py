"""The judge's random choices. A submission can't predict them; tests repeat them."""

import os
import random
from secrets import SystemRandom
from typing import Final


class Chance(random.Random):
    """Random numbers of the operating system. Where the environment gives ASSAY_SEED, each evaluation's follow from that and from what is
    judged: an operator who sets it for a leaderboard gives the inputs away."""

    def __init__(self) -> None:
        self._source: random.Random = SystemRandom()
        super().__init__()

    def begin(self, judged: str) -> None:
        """An evaluation of `judged` begins."""
        seed = os.environ.get("ASSAY_SEED")
        self._source = random.Random(f"{seed} {judged}") if seed else SystemRandom()

    def random(self) -> float:
        """In [0, 1)."""
        return self._source.random()

    def getrandbits(self, k: int, /) -> int:
        """An integer of `k` bits."""
        return self._source.getrandbits(k)


chance: Final = Chance()
"""The process's own."""
