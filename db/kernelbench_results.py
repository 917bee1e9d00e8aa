"""Reads the verdicts of KernelBench's own evaluation from its `eval_results.json`."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from db.error import StoreError


class _Verdict(BaseModel):
    """One sample in `eval_results.json`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sample_id: int = Field(ge=0, lt=1 << 63)
    compiled: bool
    correctness: bool
    metadata: dict[str, Any] = Field(default_factory=dict)
    runtime: float = -1.0
    runtime_stats: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class ForeignVerdict:
    """The verdict of KernelBench's own evaluation on one sample."""

    problem_id: int
    sample_id: int
    compiled: bool
    correct: bool
    runtime_ms: float | None
    """None if it was not timed."""
    details: dict[str, Any]
    """`metadata` and `runtime_stats`, unchanged."""


def verdicts(file: Path) -> list[ForeignVerdict]:
    """The verdicts of an `eval_results.json`, in its order: under each problem's number one sample, or a list of them.

    Raises StoreError and OSError.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=str, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{file}: not JSON in UTF-8: {error}") from error
    if not isinstance(content, dict) or not all(key.isdecimal() and len(key) < 10 for key in content):
        raise StoreError(f"{file}: must be an object with problem numbers as keys")
    found = []
    for key, value in content.items():
        for sample in value if isinstance(value, list) else [value]:
            try:
                found.append(_foreign(int(key), _Verdict.model_validate(sample)))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"])) or "sample"
                raise StoreError(f"{file}: problem {key}: {place}: {first['msg']}") from error
    return found


def _number(text: str) -> float | str:
    """An infinite number is kept as text, because our JSON can't hold it."""
    number = float(text)
    return number if math.isfinite(number) else text


def _foreign(problem_id: int, said: _Verdict) -> ForeignVerdict:
    # Its runtime is -1 if nothing was timed.
    runtime_ms = said.runtime if 0 < said.runtime < 1e300 else None
    details = {"metadata": said.metadata, "runtime_stats": said.runtime_stats}
    return ForeignVerdict(problem_id, said.sample_id, said.compiled, said.compiled and said.correctness, runtime_ms, details)
