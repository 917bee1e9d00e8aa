"""Chains solved by number of repairs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from assay_client.repair.journal import Attempt, Place


@dataclass(frozen=True)
class Row:
    """Solved chains after a number of repairs."""

    repairs: int
    solved: int
    chains: int
    """Chains with this many repairs judged, or solved with fewer."""

    @property
    def share(self) -> float:
        """Solved share of the chains; 0 without chains."""
        return self.solved / self.chains if self.chains else 0.0

    def to_json(self) -> dict[str, float]:
        return {**asdict(self), "share": self.share}


def rows(attempts: Mapping[Place, Attempt], most: int) -> list[Row]:
    """One row per number of repairs, from 0 to `most` − 1."""
    chains: dict[tuple[str, int], list[Attempt]] = {}
    for place in sorted(attempts):
        if attempts[place].judged:
            chains.setdefault((place.problem, place.chain), []).append(attempts[place])
    found = []
    for repairs in range(most):
        solved = sum(any(each.solved for each in chain[: repairs + 1]) for chain in chains.values())
        ended = sum(len(chain) > repairs or any(each.solved for each in chain) for chain in chains.values())
        found.append(Row(repairs, solved, ended))
    return found


def table(found: list[Row]) -> str:
    """The rows as text."""
    lines = ["repairs  solved  chains  share"]
    lines += [f"{row.repairs:>7}  {row.solved:>6}  {row.chains:>6}  {row.share:>5.0%}" for row in found]
    return "\n".join(lines)
