"""Writes a problem of KernelBench-Hard, a folder, as a problem file.

The folder holds `reference.py`, in the form of a problem; `shapes.py`, with `SHAPES`, a list of dicts of constants; and, if it likes,
`problem.yaml`. The file is the reference followed by a declaration: the shapes are workloads, the first of them is `full`, and
`flops_formula` and `bytes_formula` are the floor. The judge's own oracle and checks stand for the other keys.
"""

import ast
import hashlib
import pprint
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from evaluator.problem.declaration import DECLARATION_NAME, DEFAULT_CASE
from evaluator.problem.execute import ProblemError
from evaluator.problem.expression import ExpressionError, renamed
from evaluator.problem.kernelbench import made_once
from evaluator.submission.source import bound_names, decode, parse

REFERENCE, SHAPES, FACTS = "reference.py", "shapes.py", "problem.yaml"
WIDE = ("bf16", "fp16", "fp32", "tf32")
"""Ends of a `precision` whose products need sixteen bits: of narrower ones, the floor's operations would ask too much."""
_LIST = re.compile(r"^SHAPES\b", re.MULTILINE)
_TEXT_WIDTH = 120


def is_problem_folder(path: Path) -> bool:
    """Whether it has this form."""
    try:
        return (path / REFERENCE).is_file() and _LIST.search(decode((path / SHAPES).read_bytes())) is not None
    except (OSError, ValueError):
        return False


def converted(folder: Path, cache_root: Path) -> Path:
    """A problem file with the folder's name, made once per content. If the folder is faulty, importing the file says so.

    Raises OSError of the cache.
    """
    try:
        code = _code(folder)
    except ProblemError as error:
        code = f"raise ImportError({str(error)!a})\n"
    name = f"{folder.name}.py"

    def write(made: Path) -> None:
        (made / name).write_text(code, encoding="utf-8")
        (made / name).chmod(0o444)

    return made_once(cache_root, hashlib.sha256(f"{name}\0{code}".encode("utf-8", "surrogatepass")).hexdigest(), write) / name


def _code(folder: Path) -> str:
    reference = _read(folder / REFERENCE)
    names = set().union(*map(bound_names, _parsed(folder / REFERENCE, reference)))
    if DECLARATION_NAME in names:
        raise ProblemError(folder / REFERENCE, None, f"it has {DECLARATION_NAME}, which would be made of {SHAPES}; keep one of them")
    declared = pprint.pformat(_declaration(folder, names), width=_TEXT_WIDTH, sort_dicts=False)
    origin = f"# From {SHAPES} and {FACTS} in {str(folder)!a}: change them there."
    return f"{reference.rstrip()}\n\n\n{origin}\n{DECLARATION_NAME} = {declared}\n"


def _read(path: Path) -> str:
    try:
        return decode(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ProblemError(path, None, f"can't be read: {error}") from error


def _declaration(folder: Path, constants: Collection[str]) -> dict[str, Any]:
    shapes, names = _shapes(folder / SHAPES, constants)
    facts = _facts(folder / FACTS) if (folder / FACTS).exists() else {}
    declared: dict[str, Any] = {
        "description": str(facts.get("display_name", folder.name)),
        "source": "KernelBench-Hard",
        "cases": {DEFAULT_CASE: shapes[0]},
        "workloads": shapes,
    }
    is_wide = str(facts.get("precision", "")).lower().endswith(WIDE)
    formulas = {"bytes": facts.get("bytes_formula"), "operations": facts.get("flops_formula") if is_wide else None}
    try:
        floor = {key: renamed(str(text), names) for key, text in formulas.items() if text is not None}
    except ExpressionError as error:
        raise ProblemError(folder / FACTS, None, str(error)) from error
    return {**declared, "floor": floor} if floor else declared


def _parsed(path: Path, text: str) -> list[ast.stmt]:
    try:
        return parse(text).body
    except SyntaxError as error:
        raise ProblemError(path, error.lineno, f"the file is not valid Python: {error.msg}") from error


def _shapes(path: Path, constants: Collection[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The shapes in the reference's names, and these names by those of `shapes.py`."""
    assigned = [each for each in _parsed(path, _read(path)) if isinstance(each, ast.Assign | ast.AnnAssign)]
    value = next((each.value for each in assigned if "SHAPES" in bound_names(each)), None)
    line = getattr(value, "lineno", None)
    try:
        shapes = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ProblemError(path, line, "SHAPES is computed; write it out, as a list of dicts of constants") from error
    if not isinstance(shapes, list | tuple) or not shapes or not all(isinstance(each, dict) and each for each in shapes):
        raise ProblemError(path, line, "SHAPES is no list of dicts of constants")
    names: dict[str, str] = {}
    for name in dict.fromkeys(str(key) for shape in shapes for key in shape):
        found = next((each for each in (name, name.upper(), name.lower()) if each in constants), None)
        if found is None or found in names.values():
            raise ProblemError(path, line, f"{REFERENCE} assigns no constant {name!r} of its own, in capitals or small letters")
        names[name] = found
    return [{names[str(key)]: constant for key, constant in shape.items()} for shape in shapes], names


def _facts(path: Path) -> dict[str, str | float]:
    """The keys whose values are texts or numbers."""
    import yaml

    try:
        facts = yaml.safe_load(_read(path)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProblemError(path, None, f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(facts, dict):
        raise ProblemError(path, None, "not a mapping of keys to values")
    return {str(key): value for key, value in facts.items() if isinstance(value, str | int | float)}
