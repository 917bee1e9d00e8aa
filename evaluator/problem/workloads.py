"""The workloads of a problem: sets of sizes that are all timed, with one score over them.

They are declared by name, as a list of sizes, or as a file of workloads in the form of flashinfer-trace: one JSON object per line, whose
`axes` are sizes (https://bench.flashinfer.ai/docs/flashinfer-trace/workload).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MAX_NAME_CHARS = 64


class WorkloadError(Exception):
    """The workloads can't be read; the message says where and how to fix it."""


def read_workloads(declared: Any, folder: Path) -> Any:
    """Name → constants of each workload, without duplicate sizes. Workloads declared by name, or wrongly, are returned unchanged.

    `folder` is where a file of workloads is looked for. Raises WorkloadError.
    """
    if isinstance(declared, str):
        return _named(_from_file(folder / declared))
    if isinstance(declared, list | tuple) and all(isinstance(each, dict) for each in declared):
        return _named(iter(declared))
    return declared


def same_sizes(constants: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether a module that holds these values has the workload's sizes."""
    return all(held.get(name) == value for name, value in constants.items())


def _named(sets: Iterator[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for constants in sets:
        if constants in found.values():
            continue
        name = re.sub(r"[^a-z0-9_-]+", "-", "x".join(map(str, constants.values())).lower()).strip("-_")[:MAX_NAME_CHARS]
        if not name:
            raise WorkloadError(f"{constants!r} makes no name; declare the workloads by name, as a dict")
        if name in found:
            raise WorkloadError(f"two workloads would be named {name!r}; declare them by name, as a dict")
        found[name] = constants
    return found


def _from_file(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path.name} can't be read: {error}; name a file beside the problem's") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _sizes(json.loads(line))
        except ValueError as error:
            raise WorkloadError(f"{path.name}, line {number}: {error}") from error


def _sizes(found: Any) -> dict[str, Any]:
    """The sizes of one line, and its scalar inputs. Raises ValueError."""
    workload = found.get("workload", found) if isinstance(found, dict) else None
    axes, inputs = (workload.get("axes"), workload.get("inputs", {})) if isinstance(workload, dict) else (None, None)
    if not isinstance(axes, dict) or not isinstance(inputs, dict):
        raise ValueError("not a workload; it needs `axes` with sizes, and `inputs`")
    wrong = [name for name, size in axes.items() if type(size) is not int or size < 1]
    if wrong:
        raise ValueError(f"axis {wrong[0]!r} is {axes[wrong[0]]!r}; give a whole number above 0")
    return dict(axes) | {name: made["value"] for name, made in inputs.items() if _is_scalar(name, made)}


def _is_scalar(name: str, made: Any) -> bool:
    kind = made.get("type") if isinstance(made, dict) else None
    if kind == "scalar" and "value" in made:
        return True
    if kind != "random":
        raise ValueError(f"input {name!r} is of type {kind!r}; each call gets new random inputs, so give `random` or `scalar`")
    return False
