"""Types that the static notes share: the note, the parsed submission, and observed launches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluator.diagnosis.notes import cpp_reader, python_reader
from evaluator.results.display.figures import percent

MAX_OF_A_KIND = 3
"""Maximum notes of one finder: more say nothing new."""


@dataclass(frozen=True)
class Note:
    """One remark."""

    line: int | None
    """Line of the submission's code; None for a note on all of it."""
    text: str


@dataclass(frozen=True)
class Ran:
    """Observed launches, to be shown beside the notes."""

    own_launches: int | None = None
    """Launches of own kernels; None if nothing was observed."""
    own_share: float | None = None
    """Their share of a call's device time; None if it was not measured."""

    def __str__(self) -> str:
        if self.own_launches is None:
            return ""
        share = "" if self.own_share is None else f", taking {percent(self.own_share)} of a call's device time"
        return f"; {self.own_launches} launches of own kernels were observed{share}"


@dataclass(frozen=True)
class ParsedSubmission:
    """The input of the finders."""

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
