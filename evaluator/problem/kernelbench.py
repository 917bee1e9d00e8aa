"""KernelBench as it is published: rows of its data set as problem files, and the verdicts of its own evaluation.

A checkout's folders of levels need nothing from here: its problem files are in the form that every problem has.
"""

import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

ROW_SUFFIXES = (".parquet", ".jsonl")
LEVEL = re.compile(r"level(\d{1,9})")
KERNEL_FILE = re.compile(r"level_(\d{1,9})_problem_(\d{1,9})_sample_(\d{1,9})(?:_kernel\.py)?")
"""What its runs call a submission."""
FOLDER = "problems"
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")


class KernelBenchError(ValueError):
    """A file is not what KernelBench publishes; the message names the file, and where in it."""


class ProblemRow(BaseModel):
    """One row of the data set."""

    model_config = ConfigDict(frozen=True)

    level: int = Field(ge=0, lt=10**9)
    problem_id: int = Field(ge=0, lt=10**9)
    name: str
    code: str

    @property
    def stem(self) -> str:
        """Name of the problem's file, as in a checkout: the number, then the name."""
        name = _UNFIT.sub("_", self.name.removesuffix(".py"))
        return name if name.startswith(f"{self.problem_id}_") else f"{self.problem_id}_{name}"


class _Verdict(BaseModel):
    """What `eval_results.json` has of one sample."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sample_id: int = Field(ge=0, lt=1 << 63)
    compiled: bool
    correctness: bool
    metadata: dict[str, Any] = Field(default_factory=dict)
    runtime: float = -1.0
    runtime_stats: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class ForeignVerdict:
    """What KernelBench's own evaluation said of one sample."""

    problem_id: int
    sample_id: int
    compiled: bool
    correct: bool
    runtime_ms: float | None
    """None where it was not timed."""
    details: dict[str, Any]
    """`metadata` and `runtime_stats`, as they are."""


def unpacked(file: Path, cache_root: Path) -> Path:
    """A folder with a folder for each level in `file`, a Parquet or JSONL file of rows, and in those a file for each problem.

    It is made once for a file's content. Raises KernelBenchError, also where pyarrow is needed and not installed, and OSError.
    """
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    target = cache_root / FOLDER / digest[:32]
    if target.is_dir():
        return target
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        for where, row in _rows(file):
            path = made / f"level{row.level}" / f"{row.stem}.py"
            path.parent.mkdir(exist_ok=True)
            if path.exists():
                raise KernelBenchError(f"{where}: a second problem {row.problem_id} of level {row.level}")
            path.write_text(row.code, encoding="utf-8")
        if not any(made.iterdir()):
            raise KernelBenchError(f"{file}: no rows")
        os.replace(made, target)  # noqa: PTH105 - Path.replace() reads as if it changed text
    except OSError:
        if not target.is_dir():  # another process was first
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _rows(file: Path) -> Iterator[tuple[str, ProblemRow]]:
    """Rows, each with its place in the file."""
    for number, value in _table(file) if file.suffix.lower() == ".parquet" else _lines(file):
        where = f"{file}:{number}"
        try:
            yield where, ProblemRow.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise KernelBenchError(f"{where}: {'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}") from error


def _table(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise KernelBenchError(f"{file}: Parquet needs pyarrow: pip install -c constraints.txt -e '.[parquet]', or use JSONL") from error
    try:
        yield from enumerate(parquet.read_table(file).to_pylist(), 1)
    except ArrowException as error:
        raise KernelBenchError(f"{file}: {str(error).splitlines()[0]}") from error


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                yield number, json.loads(line)
    except (ValueError, RecursionError) as error:
        raise KernelBenchError(f"{file}: not JSON, a row a line, in UTF-8: {error}") from error


def verdicts(file: Path) -> list[ForeignVerdict]:
    """What an `eval_results.json` says, in its own order: under each problem's number one sample, or a list of them.

    Raises KernelBenchError and OSError.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=str, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise KernelBenchError(f"{file}: not JSON in UTF-8: {error}") from error
    if not isinstance(content, dict) or not all(key.isdecimal() and len(key) < 10 for key in content):
        raise KernelBenchError(f"{file}: not an object whose keys are numbers of problems")
    found = []
    for key, value in content.items():
        for sample in value if isinstance(value, list) else [value]:
            try:
                found.append(_foreign(int(key), _Verdict.model_validate(sample)))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"])) or "sample"
                raise KernelBenchError(f"{file}: problem {key}: {place}: {first['msg']}") from error
    return found


def _number(text: str) -> float | str:
    """A number beyond all others is kept as it is written: no JSON of ours could hold it."""
    number = float(text)
    return number if math.isfinite(number) else text


def _foreign(problem_id: int, said: _Verdict) -> ForeignVerdict:
    # Its runtime is -1 where nothing was timed.
    runtime_ms = said.runtime if 0 < said.runtime < 1e300 else None
    details = {"metadata": said.metadata, "runtime_stats": said.runtime_stats}
    return ForeignVerdict(problem_id, said.sample_id, said.compiled, said.compiled and said.correctness, runtime_ms, details)
