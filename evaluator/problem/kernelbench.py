"""Writes problems that come as texts, or as rows of KernelBench's data set (a Parquet or JSONL file), as problem files.

Folders of levels in a checkout need nothing from here: their files already have the form of a problem.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.problem.execute import ProblemError

ROW_SUFFIXES = (".parquet", ".jsonl")
LEVEL = re.compile(r"level(\d{1,9})")
"""Folder name of one level's problems."""
FOLDER = "problems"
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")


class DatasetRow(BaseModel):
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


def unpacked(file: Path, cache_root: Path) -> Path:
    """A folder with a folder per level in `file`, a Parquet or JSONL file of rows, each with a file per problem.

    It is made once per content of the file. Raises ProblemError, also if pyarrow is needed and not installed, and OSError.
    """

    def write(made: Path) -> None:
        for number, row in _rows(file):
            path = made / f"level{row.level}" / f"{row.stem}.py"
            path.parent.mkdir(exist_ok=True)
            if path.exists():
                raise ProblemError(file, number, f"problem {row.problem_id} of level {row.level} occurs twice")
            path.write_text(row.code, encoding="utf-8")
        if not any(made.iterdir()):
            raise ProblemError(file, None, "no rows")

    return made_once(cache_root, hashlib.sha256(file.read_bytes()).hexdigest(), write)


def inline_name(sha256: str) -> str:
    """A name for a problem that comes as a text, made from the text's hash: the same text is the same problem."""
    return f"inline_{sha256[:16]}"


def written(source: str, cache_root: Path) -> Path:
    """A problem's file in the cache, with this text. Raises OSError."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    file = f"{inline_name(digest)}.py"
    return made_once(cache_root, digest, lambda made: (made / file).write_text(source, encoding="utf-8")) / file


def made_once(cache_root: Path, digest: str, write: Callable[[Path], object]) -> Path:
    """A folder of problems in the cache, for content with this digest; `write` makes its files if there is none. Raises its errors, and
    OSError."""
    target = cache_root / FOLDER / digest[:32]
    if target.is_dir():
        return target
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        write(made)
        os.replace(made, target)  # noqa: PTH105 - Path.replace() reads as if it changed text
    except OSError:
        if not target.is_dir():  # another process was first
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _rows(file: Path) -> Iterator[tuple[int, DatasetRow]]:
    """Rows, each with its number in the file."""
    for number, value in _table(file) if file.suffix.lower() == ".parquet" else _lines(file):
        try:
            yield number, DatasetRow.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise ProblemError(file, number, f"{'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}") from error


def _table(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        rule = "Parquet needs pyarrow: pip install -c constraints.txt -e '.[parquet]', or use JSONL"
        raise ProblemError(file, None, rule) from error
    try:
        yield from enumerate(parquet.read_table(file).to_pylist(), 1)
    except ArrowException as error:
        raise ProblemError(file, None, str(error).splitlines()[0]) from error


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                yield number, json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProblemError(file, None, f"not JSON, one row per line, in UTF-8: {error}") from error
