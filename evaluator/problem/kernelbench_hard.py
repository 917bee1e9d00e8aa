"""Writes a problem of KernelBench-Hard, a folder, as a problem file.

The folder holds `reference.py`, in the form of a problem; `shapes.py`, with `SHAPES`, a list of dicts of constants; and, if it likes,
`problem.yaml`. The file is the reference followed by a declaration: the shapes are workloads, the first of them is `full`, and
`flops_formula` and `bytes_formula` are the floor. The judge's own oracle and checks stand for the other keys.
"""

import ast
import hashlib
import pprint
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.problem.declaration import DECLARATION_NAME, DEFAULT_CASE
from evaluator.problem.execute import ProblemError
from evaluator.problem.expression import ExpressionError, renamed
from evaluator.problem.kernelbench import made_once

REFERENCE, SHAPES, FACTS = "reference.py", "shapes.py", "problem.yaml"
_LIST = "SHAPES"
_TEXT_WIDTH = 120


def is_problem_folder(path: Path) -> bool:
    """Whether it has this form."""
    return (path / REFERENCE).is_file() and (path / SHAPES).is_file()


def converted(folder: Path, cache_root: Path) -> Path:
    """A problem file with the folder's name and content, made once per content. Raises ProblemError, and OSError of the cache."""
    texts = {name: _read(folder / name) for name in (REFERENCE, SHAPES)}
    facts = folder / FACTS
    texts[FACTS] = _read(facts) if facts.exists() else ""
    name = f"{folder.name}.py"

    def write(made: Path) -> None:
        declared = _declaration(folder, texts)
        code = f"{texts[REFERENCE].rstrip()}\n\n\n{DECLARATION_NAME} = {pprint.pformat(declared, width=_TEXT_WIDTH, sort_dicts=False)}\n"
        (made / name).write_text(code, encoding="utf-8")

    digest = hashlib.sha256("\0".join((name, *texts.values())).encode()).hexdigest()
    return made_once(cache_root, digest, write) / name


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(path, None, f"can't be read: {error}") from error


def _declaration(folder: Path, texts: Mapping[str, str]) -> dict[str, Any]:
    held = _assigned(folder / REFERENCE, texts[REFERENCE])
    if _LIST not in (found := _assigned(folder / SHAPES, texts[SHAPES])):
        raise ProblemError(folder / SHAPES, None, f"it assigns no {_LIST}, a list of dicts of constants")
    shapes, names = _shapes(folder / SHAPES, found[_LIST], held)
    facts = _facts(folder / FACTS, texts[FACTS])
    declared: dict[str, Any] = {
        "description": str(facts.get("display_name", folder.name)),
        "source": "KernelBench-Hard",
        "cases": {DEFAULT_CASE: shapes[0]},
        "workloads": shapes,
    }
    # Half as many operations would be needed with products of eight bits.
    wide = not str(facts.get("precision", "")).startswith(("fp8", "int8"))
    formulas = {"bytes": facts.get("bytes_formula"), "operations": facts.get("flops_formula") if wide else None}
    try:
        floor = {key: renamed(str(text), names) for key, text in formulas.items() if text is not None}
    except ExpressionError as error:
        raise ProblemError(folder / FACTS, None, str(error)) from error
    return {**declared, "floor": floor} if floor else declared


def _assigned(path: Path, text: str) -> dict[str, ast.AST | None]:
    """Names that a file assigns at its top level, and their values."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ProblemError(path, error.lineno, f"the file is not valid Python: {error.msg}") from error
    found: dict[str, ast.AST | None] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found |= {target.id: statement.value for target in targets if isinstance(target, ast.Name)}
    return found


def _shapes(path: Path, value: ast.AST | None, held: Mapping[str, object]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The shapes in the reference's names, and these names by those of `shapes.py`."""
    line = getattr(value, "lineno", None)
    try:
        shapes = ast.literal_eval(value) if isinstance(value, ast.expr) else None
    except (ValueError, TypeError) as error:
        raise ProblemError(path, line, f"{_LIST} is computed; write it out, as a list of dicts of constants") from error
    if not isinstance(shapes, list | tuple) or not shapes or not all(isinstance(each, dict) and each for each in shapes):
        raise ProblemError(path, line, f"{_LIST} is no list of dicts of constants")
    names: dict[str, str] = {}
    for name in dict.fromkeys(str(key) for shape in shapes for key in shape):
        found = next((each for each in (name, name.upper(), name.lower()) if each in held), None)
        if found is None:
            raise ProblemError(path, line, f"{REFERENCE} assigns no constant {name!r}, in capitals or small letters")
        names[name] = found
    return [{names[str(key)]: constant for key, constant in shape.items()} for shape in shapes], names


def _facts(path: Path, text: str) -> dict[str, Any]:
    import yaml

    try:
        facts = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ProblemError(path, None, f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(facts, dict):
        raise ProblemError(path, None, "not a mapping of keys to values")
    return facts
