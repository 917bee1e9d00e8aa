"""What the notes from reading share: the note itself, the submission as it was read, and what was observed to run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluator.diagnosis.notes import cpp_reader, python_reader
from evaluator.results.figures import percent

MAX_OF_A_KIND = 3
"""Notes of one finder: more of the same say nothing new."""


@dataclass(frozen=True)
class Note:
    """One remark."""

    line: int | None
    """Of what was handed in."""
    text: str


@dataclass(frozen=True)
class Ran:
    """What was observed to run, to be told beside what is read."""

    own_launches: int | None = None
    """Launches of own kernels; None where nothing was observed."""
    own_share: float | None = None
    """What they have of a call's time on the device; None where that was not taken."""

    def __str__(self) -> str:
        if self.own_launches is None:
            return ""
        share = "" if self.own_share is None else f", with {percent(self.own_share)} of a call's time on the device"
        return f"; {self.own_launches} launches of own kernels were observed{share}"


@dataclass(frozen=True)
class ParsedSubmission:
    """What the finders look at."""

    script: python_reader.Script
    sizes: frozenset[int]
    """Sizes of the case's inputs."""
    ran: Ran

    @property
    def kernels(self) -> list[cpp_reader.Kernel]:
        return [kernel for source in self.script.sources for kernel in source.kernels if kernel.body]

    @property
    def launches(self) -> list[cpp_reader.Launch]:
        return [launch for source in self.script.sources for launch in source.launches]


Finder = Callable[[ParsedSubmission], Iterator[Note]]
