"""Reads and writes `eval_results.json`, the file of KernelBench's own evaluation: under each problem's number, its samples.

The file does not name its level, nor its author.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from db.error import StoreError
from db.schema.models import EvaluationRow
from db.store import Store
from evaluator.results.category import Status
from evaluator.results.display.pace import Tell, untold
from evaluator.results.kernelbench import executed

WRITTEN = {"compiled", "correctness", "metadata", "runtime", "runtime_stats"}
"""The fields of a sample, besides its number."""
KERNEL_FILE = re.compile(r"level_(\d{1,9})_problem_(\d{1,9})_sample_(\d{1,9})(?:_kernel\.py)?")
"""Form of a submission's name in KernelBench's runs."""
_PROBLEM = re.compile(r"(?:level_(\d{1,9})_problem_)?([1-9]\d{0,8})(?:_.*)?")
"""Names of its problems: `23_Softmax` does not say its level, `level_1_problem_23` does."""


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


@dataclass(frozen=True)
class _Sample:
    """A current evaluation of a problem with a number."""

    id: int
    author: str | None
    problem: str
    number: int
    """The problem's."""
    level: int | None
    """None if nothing says it."""
    key: int | tuple[str, int | None]
    """The sample's number; of a submission without one, its name and code block."""


def export_kernelbench(
    store: Store, file: IO[bytes], level: int | None = None, tell: Tell = untold, where: Sequence[Any] = ()
) -> tuple[int, int]:
    """Write the samples of one level and author, among evaluations that meet these conditions; returns their number, and that of the
    current ones that were left out.

    The newest evaluation of a sample counts. Submissions without a sample's number get the lowest free ones. Evaluations that are
    `not_evaluated`, of other levels, and of problems without a number are left out. Raises StoreError if they have several authors, and
    without a level if there are several, or if nothing says the level.
    """
    current = [_sample(*row) for row in store.summaries(_COLUMNS, [EvaluationRow.is_current, *where])]
    found = [each for each in current if each is not None]
    written: dict[str, list[dict[str, Any]]] = {}
    for number, numbered in sorted(_numbered(_chosen(found, level)).items()):
        written[str(number)] = []
        for sample_id, evaluation_id in sorted(numbered.items()):
            stored = store.get(evaluation_id)
            if stored is not None:
                written[str(number)].append({"sample_id": sample_id, **executed(stored.result).model_dump(include=WRITTEN)})
                tell(1)
    file.write(json.dumps(written, indent=4).encode("ascii") + b"\n")
    total = sum(map(len, written.values()))
    return total, len(current) - total


_COLUMNS = ("id", "submission", "block", "sample_id", "author", "problem", "status")


def _sample(
    evaluation_id: int, submission: str, block: int | None, sample_id: int | None, author: str | None, problem: str | None, status: str
) -> _Sample | None:
    named = _PROBLEM.fullmatch(problem or "")
    if named is None or problem is None or status == Status.NOT_EVALUATED.value:
        return None
    number, level = int(named[2]), named[1]
    file = KERNEL_FILE.match(submission.rsplit("/", 1)[-1])
    if level is None and file and int(file[2]) == number:
        level = file[1]
    key = (submission, block) if sample_id is None else sample_id
    return _Sample(evaluation_id, author, problem, number, None if level is None else int(level), key)


def _chosen(found: list[_Sample], level: int | None) -> list[_Sample]:
    """The samples of this level; None is the only one. Raises StoreError."""
    authors = {each.author for each in found}
    if len(authors) > 1:
        names = ", ".join(sorted(name or "(none)" for name in authors))
        raise StoreError(f"The evaluations are of several authors: {names}. Give one with --author.")
    levels = {each.level for each in found}
    if level is None and None in levels:
        name = next(each.problem for each in found if each.level is None)
        raise StoreError(f"Nothing says the level of {name}. Give the file's level with --level.")
    if level is None and len(levels) > 1:
        raise StoreError(f"The evaluations are of levels {', '.join(sorted(map(str, levels)))}. Give one with --level.")
    chosen = [each for each in found if level is None or each.level in (level, None)]
    if not chosen:
        raise StoreError("There is no such evaluation of a problem with KernelBench's number, as in 23_Softmax.")
    return chosen


def _numbered(samples: Iterable[_Sample]) -> dict[int, dict[int, int]]:
    """The evaluation of each sample, by the problem's number and the sample's. Raises StoreError for one number of two problems."""
    names: dict[int, str] = {}
    newest: dict[int, dict[int | tuple[str, int | None], int]] = {}
    for each in samples:
        if names.setdefault(each.number, each.problem) != each.problem:
            raise StoreError(f"{names[each.number]} and {each.problem} have one number. Export each level from a database of its own.")
        newest.setdefault(each.number, {})[each.key] = each.id
    found: dict[int, dict[int, int]] = {}
    for number, by_key in newest.items():
        given = {key: evaluation_id for key, evaluation_id in by_key.items() if isinstance(key, int)}
        free = (sample_id for sample_id in count() if sample_id not in given)
        found[number] = given | {next(free): evaluation_id for key, evaluation_id in by_key.items() if not isinstance(key, int)}
    return found
