"""What the machine knows already, in the cache folder: a small JSON file for each fact, under the hash of all that it depends on.

A file that can't be read counts as missing; a fact that can't be written is found again.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evaluator.build.cache import default_root
from evaluator.results.result import EVALUATOR_VERSION

if TYPE_CHECKING:
    from evaluator.problem.problem import ProblemCase

FOLDER = "known"

T = TypeVar("T")


def read(key: Sequence[Any]) -> dict[str, Any] | None:
    """What is kept under this key; None where there is nothing."""
    with suppress(OSError, ValueError):
        found = json.loads(_path(key).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else None
    return None


def read_as(kind: type[T], key: Sequence[Any]) -> T | None:
    """The same as a dataclass; None where what is kept has other fields."""
    found = read(key)
    try:
        return None if found is None else kind(**found)
    except TypeError:
        return None


def write(key: Sequence[Any], figures: dict[str, Any]) -> None:
    """Keep these figures under this key."""
    with suppress(OSError):
        write_whole(_path(key), figures)


def write_whole(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that nobody sees half written, in a folder that is made where there is none. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    Path(temporary).rename(path)


def case_key(what: str, case: "ProblemCase") -> list[Any]:
    """The key of a fact that the problem's text, the case and PyTorch decide."""
    import torch

    constants = json.dumps(case.constants, sort_keys=True, default=repr)
    return [what, case.problem.sha256, case.name, constants, case.dtype_name, torch.__version__]


def _path(key: Sequence[Any]) -> Path:
    return default_root() / FOLDER / hashlib.sha256(json.dumps([*key, EVALUATOR_VERSION]).encode()).hexdigest()
