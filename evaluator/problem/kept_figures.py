"""Facts known from earlier, in the cache folder: a small JSON file for each, under the hash of all that it depends on.

An unreadable file counts as missing; if a fact can't be written, it is computed again.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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
    """Store these figures under this key."""
    with suppress(OSError):
        write_whole(_path(key), figures)


def write_whole(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically, and its folder if it does not exist. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    Path(temporary).rename(path)


def case_key(what: str, case: "ProblemCase") -> list[Any]:
    """The key of a fact that depends on the problem's text, the case and PyTorch."""
    import torch

    constants = json.dumps(case.constants, sort_keys=True, default=repr)
    return [what, case.problem.sha256, case.name, constants, case.dtype_name, torch.__version__]


def _path(key: Sequence[Any]) -> Path:
    return default_root() / FOLDER / hashlib.sha256(json.dumps([*key, EVALUATOR_VERSION]).encode()).hexdigest()
