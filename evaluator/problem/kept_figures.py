"""Facts known from earlier, in the cache folder: a small JSON file for each, under the hash of all that it depends on.

An unreadable file counts as missing; if a fact can't be written, it is computed again.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from evaluator.machine.cache_folder import default_root
from evaluator.results.result import EVALUATOR_VERSION

if TYPE_CHECKING:
    from evaluator.problem.problem import ProblemCase

FOLDER = "known"

T = TypeVar("T")


def read(key: Sequence[Any]) -> dict[str, Any] | None:
    """The value stored under this key; None if there is none."""
    with suppress(OSError, ValueError):
        found = json.loads(_path(key).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else None
    return None


def read_as(kind: type[T], key: Sequence[Any]) -> T | None:
    """The value as a dataclass; None if it has other fields."""
    found = read(key)
    try:
        return None if found is None else kind(**found)
    except TypeError:
        return None


def write(key: Sequence[Any], figures: dict[str, Any]) -> None:
    """Store these figures under this key, in a file that is written atomically."""
    with suppress(OSError):
        path = _path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(figures, file)
        Path(temporary).rename(path)


def case_key(what: str, case: "ProblemCase") -> list[Any]:
    """The key of a fact that depends on the problem's text, the case and PyTorch."""
    import torch

    constants = json.dumps(case.constants, sort_keys=True, default=repr)
    return [what, case.problem.sha256, case.name, constants, case.dtype_name, torch.__version__]


def _path(key: Sequence[Any]) -> Path:
    return default_root() / FOLDER / hashlib.sha256(json.dumps([*key, EVALUATOR_VERSION]).encode()).hexdigest()


@dataclass(frozen=True)
class CheckedCase:
    """What a problem check covered."""

    problem_sha256: str
    case: str
    device_name: str
    precision: str | None
    """None for the file's own."""
    scope: Literal["all", "effortless"] = "all"
    """`effortless`: only outputs that need no computation were tried."""


@dataclass(frozen=True)
class KeptCheck:
    """The result of a problem check."""

    subject: CheckedCase
    admitted: bool
    trivial: tuple[str, ...]
    """Names of the trivial answers that passed."""
    reasons: tuple[str, ...]
    """Why the check failed."""


def keep_check(kept: KeptCheck) -> None:
    """Store the result of a check. Listing problems reads it."""
    write(_check_key(kept.subject), {"admitted": kept.admitted, "trivial": kept.trivial, "reasons": kept.reasons})


def check_of(subject: CheckedCase) -> KeptCheck | None:
    """The result of the last check; None if there was none."""
    try:
        found = read(_check_key(subject)) or {}
        trivial, reasons = (tuple(map(str, found[name])) for name in ("trivial", "reasons"))
        return KeptCheck(subject, bool(found["admitted"]), trivial, reasons)
    except (KeyError, TypeError):
        return None


def _check_key(subject: CheckedCase) -> list[Any]:
    return ["check", *asdict(subject).values()]
