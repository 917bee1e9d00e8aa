"""The workloads of a problem: sets of sizes that are all timed, with one score over them.

They are declared by name, as a list of sizes, or as a file of workloads in the form of flashinfer-trace: one JSON object per line, whose
`axes` are sizes (https://bench.flashinfer.ai/docs/flashinfer-trace/workload).
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.problem.stored_inputs import StoredInput, StoredInputError, found_beside

MAX_NAME_CHARS = 64
UUID_CHARS = 8
"""Characters of a workload's uuid in its name, if others have the same sizes."""


class WorkloadError(Exception):
    """The workloads can't be read; the message says where and how to fix it."""


@dataclass(frozen=True)
class Workload:
    """One workload without a name."""

    constants: dict[str, Any]
    stored: dict[str, StoredInput] = field(default_factory=dict)
    """Inputs from files, by the names of forward()'s arguments."""
    uuid: str = ""

    @property
    def sizes(self) -> str:
        """The sizes as part of a name; may be empty."""
        return re.sub(r"[^a-z0-9_-]+", "-", "x".join(map(str, self.constants.values())).lower()).strip("-_")[:MAX_NAME_CHARS]


def read_workloads(declared: Any, folder: Path) -> Any:
    """Name → workload. Workloads declared by name, or wrongly, are returned unchanged.

    `folder` is where a file of workloads is looked for. Raises WorkloadError.
    """
    if isinstance(declared, str):
        return _named(list(_from_file(folder / declared)))
    if isinstance(declared, list | tuple) and all(isinstance(each, dict) for each in declared):
        return _named([(f"entry {number}", Workload(each)) for number, each in enumerate(declared, 1)])
    return declared


def same_sizes(constants: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether a module that holds these values has the workload's sizes."""
    return all(held.get(name) == value for name, value in constants.items())


def _named(found: list[tuple[str, Workload]]) -> dict[str, Workload]:
    """Names of workloads, each with the place where it is declared: the sizes, and what tells workloads of equal sizes apart."""
    counts = Counter(workload.sizes for _, workload in found)
    named: dict[str, Workload] = {}
    places: dict[str, str] = {}
    for where, workload in found:
        if not workload.sizes:
            raise WorkloadError(f"{workload.constants!r} makes no name; declare the workloads by name, as a dict")
        same = next((places[name] for name, other in named.items() if other == workload), None)
        if same is not None:
            raise WorkloadError(f"{where} repeats {same}; delete one")
        name = workload.sizes if counts[workload.sizes] == 1 else _apart(workload, {*named, *counts})
        named[name], places[name] = workload, where
    return named


def _apart(workload: Workload, taken: Collection[str]) -> str:
    """A name that is not taken: the sizes with the beginning of the uuid, or with a number."""
    begins = re.sub(r"[^a-z0-9]+", "", workload.uuid.lower())[:UUID_CHARS]
    endings = (*([begins] if begins else []), *map(str, range(1, len(taken) + 2)))
    names = (f"{workload.sizes[: MAX_NAME_CHARS - len(ending) - 1]}-{ending}" for ending in endings)
    return next(name for name in names if name not in taken)


def _from_file(path: Path) -> Iterator[tuple[str, Workload]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path.name} can't be read: {error}; name a file beside the problem's") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", _workload(json.loads(line), path)
        except (ValueError, StoredInputError) as error:
            raise WorkloadError(f"{path.name}, line {number}: {error}") from error


def _workload(found: Any, path: Path) -> Workload:
    """The workload of one line of a file. Raises ValueError, StoredInputError."""
    told = found.get("workload", found) if isinstance(found, dict) else None
    told = told if isinstance(told, dict) else {}
    axes, inputs = told.get("axes"), told.get("inputs", {})
    if not isinstance(axes, dict) or not isinstance(inputs, dict):
        raise ValueError("not a workload; it needs `axes` with sizes, and `inputs`")
    wrong = [name for name, size in axes.items() if type(size) is not int or size < 1]
    if wrong:
        raise ValueError(f"axis {wrong[0]!r} is {axes[wrong[0]]!r}; give a whole number above 0")
    constants, stored = dict(axes), dict[str, StoredInput]()
    for name, given in inputs.items():
        match given:
            case {"type": "random"}:
                pass
            case {"type": "scalar", "value": value}:
                constants[name] = value
            case {"type": "safetensors", "path": str(place), "tensor_key": str(key)}:
                stored[name] = StoredInput(name, found_beside(path, place), key)
            case _:
                needs = "`random`, `scalar` with `value`, or `safetensors` with `path` and `tensor_key`"
                raise ValueError(f"input {name!r} is {json.dumps(given)}; its type must be {needs}")
    return Workload(constants, stored, str(told.get("uuid", "")))
