"""Results of problem checks, kept in the cache folder: a small JSON file for each problem text, case, device and precision.

Listing problems reads them. An unreadable file counts as missing; if a result can't be written, the check runs again.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from evaluator.problem.kept_figures import write_whole
from evaluator.results.result import EVALUATOR_VERSION

FOLDER = "admissions"


@dataclass(frozen=True)
class CheckedCase:
    """What a check covered."""

    problem_sha256: str
    case: str
    device_name: str
    precision: str | None
    """None for the file's own."""
    scope: Literal["all", "effortless"] = "all"
    """`effortless`: only outputs that need no computation were tried."""

    @property
    def key(self) -> str:
        """Name of its file."""
        return hashlib.sha256(json.dumps([*asdict(self).values(), EVALUATOR_VERSION]).encode()).hexdigest()


@dataclass(frozen=True)
class KeptCheck:
    """The result of a check."""

    subject: CheckedCase
    admitted: bool
    trivial: tuple[str, ...]
    """Names of the trivial answers that passed."""
    reasons: tuple[str, ...]
    """Why the check failed."""


class CheckCache:
    """The results below one cache folder."""

    def __init__(self, cache_root: Path) -> None:
        self._folder = cache_root / FOLDER

    def keep(self, kept: KeptCheck) -> None:
        """Raises OSError."""
        write_whole(self._folder / kept.subject.key, asdict(kept))

    def of(self, subject: CheckedCase) -> KeptCheck | None:
        """The result of the last check; None if there was none."""
        try:
            found = json.loads((self._folder / subject.key).read_text(encoding="utf-8"))
            trivial, reasons = (tuple(map(str, found[name])) for name in ("trivial", "reasons"))
            return KeptCheck(subject, bool(found["admitted"]), trivial, reasons)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def among(self, subjects: Sequence[CheckedCase]) -> list[KeptCheck]:
        """The known results of these."""
        return [kept for subject in subjects if (kept := self.of(subject)) is not None]
