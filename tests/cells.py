"""Cells of a corpus's files: headers, what a family has in common, and complete submissions (see tests/corpus.py)."""

import ast
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

_EVERY_PROBLEM = """
import torch
from torch import nn


def get_init_inputs():
    return []
"""

_FIELD = re.compile(r"# ([a-z]+): (.+)")
_CELL = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
_PROBLEM = ("Model", "get_inputs", "get_init_inputs")
"""What a problem defines."""

Header = dict[str, tuple[str, ...]]
"""Values by key, in the order of the file."""


@dataclass(frozen=True)
class Cell:
    """One submission of a file, a problem, or both."""

    name: str
    header: Header
    common: str
    """What is above the first cell."""
    code: str
    """The submission's own part."""
    problem: str
    """The problem; empty where the cell defines none."""


def cells(path: Path) -> list[Cell]:
    """The cells of a file. A file without any is one, of the file's name."""
    top, *rest = _CELL.split(path.read_text(encoding="utf-8"))
    if not rest:
        header, code = split(top)
        return [_cell(path.stem, header, "", code)]
    header, common = split(top)
    found = []
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        own, code = split(text)
        found.append(_cell(name, header | own, common, code))
    return found


def _cell(name: str, header: Header, common: str, code: str) -> Cell:
    if not re.search(r"^class Model\b", code, re.MULTILINE):
        return Cell(name, header, common, code, "")
    statements = _statements(code)
    end = 1 + max(number for number, (node, _) in enumerate(statements) if _name(node) in _PROBLEM)
    texts = [text for _, text in statements[:end]]
    head = texts[: _is_docstring(statements[0][0])]
    problem = "\n\n".join([*head, _joined(f"{_EVERY_PROBLEM}\n\n{common}", "\n\n".join(texts[len(head) :]), ", ".join(_PROBLEM))])
    rest = "\n\n".join(text for _, text in statements[end:])
    return Cell(name, {"problem": (name,)} | header, common, rest, problem)


def split(text: str) -> tuple[Header, str]:
    """The header at the top of a file, and the rest."""
    fields: dict[str, list[str]] = {}
    lines = text.splitlines(keepends=True)
    count = 0
    while count < len(lines) and (match := _FIELD.fullmatch(lines[count].rstrip("\n"))):
        fields.setdefault(match[1], []).append(match[2])
        count += 1
    return {key: tuple(values) for key, values in fields.items()}, "".join(lines[count:])


def complete(cell: Cell, base: str) -> str:
    """The complete submission of a cell: the base is a submission that completes what has no ModelNew."""
    if "class ModelNew" in cell.code:
        return _joined(cell.common, cell.code, "")
    if "class ModelNew" in cell.common:
        return compose(cell.common, cell.code)
    return compose(base, _joined(cell.common, cell.code, base))


def compose(base: str, code: str) -> str:
    """A complete submission: the base and the additions of a corpus file.

    A definition takes the place of the base's definition of the same name. A function whose first parameter is `self` is a method of
    ModelNew. Imports come first, and all else right before ModelNew.
    """
    imports: dict[str, str] = {}
    others: list[str] = []
    own: dict[str, str] = {}
    methods: dict[str, str] = {}
    names = {_name(node) for node, _ in _statements(base)}
    for node, text in _statements(code):
        name = _name(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.setdefault(ast.unparse(node), text)
        elif isinstance(node, ast.FunctionDef) and _is_method(node):
            methods[node.name] = text
        elif name in names and name is not None:
            own[name] = text
        else:
            others.append(text)
    rest: list[str] = []
    for node, text in _statements(base):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.setdefault(ast.unparse(node), text)
        elif isinstance(node, ast.ClassDef) and node.name == "ModelNew":
            rest += [*others, _with_methods(text, methods)]
        else:
            rest.append(own.get(_name(node) or "", text))
    return "\n".join(imports.values()) + "\n\n" + "\n\n".join(rest) + "\n"


def _statements(code: str) -> list[tuple[ast.stmt, str]]:
    """Every statement at the top, with its text and what stands before it: comments and decorators."""
    lines = code.splitlines(keepends=True)
    found, start = [], 0
    for node in ast.parse(code).body:
        end = node.end_lineno or node.lineno
        found.append((node, "".join(lines[start:end]).strip("\n")))
        start = end
    return found


def _is_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and bool(node.args.args) and node.args.args[0].arg == "self"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _with_methods(model: str, methods: dict[str, str]) -> str:
    """The class with these methods, in place of those of the same name and else at its end."""
    head, *rest = re.split(r"(?m)^(?=    def )", model.removesuffix("    pass"))
    kept = [text.strip("\n") for text in rest if text.split("(")[0].split()[1] not in methods]
    return head + "\n\n".join([*kept, *(textwrap.indent(text, "    ") for text in methods.values())])


def _joined(common: str, code: str, base: str) -> str:
    """A cell's code, after what it and the base use of the family's. What is complete takes no methods."""
    if not common.strip():
        return code
    is_complete = re.search(r"^class Model(New)?\b", code, re.MULTILINE) is not None
    own = {name: text for node, text in _statements(code) if (name := _name(node))}
    imported = {ast.unparse(node) for node, _ in _statements(code) if isinstance(node, ast.Import | ast.ImportFrom)}
    offered = list({ast.unparse(node): (node, text) for node, text in _statements(common) if ast.unparse(node) not in imported}.values())
    used = _used(code) | _used(base)
    chosen: set[int] = set()
    while more := {n for n, (node, _) in enumerate(offered) if n not in chosen and _is_wanted(node, used, is_complete)}:
        chosen |= more
        used |= set().union(*(_used(own.get(_name(offered[n][0]) or "", offered[n][1])) for n in more))
    taken = {name for n in chosen if (name := _name(offered[n][0])) in own}
    before = [own[name] if (name := _name(node)) in taken else text for n, (node, text) in enumerate(offered) if n in chosen]
    after = [text for node, text in _statements(code) if _name(node) not in taken]
    return "\n\n".join([*before, *after]) + "\n"


def _is_wanted(node: ast.stmt, used: set[str], is_complete: bool) -> bool:
    if _is_method(node):
        return not is_complete
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name.split(".")[0]) in used for alias in node.names)
    return (name := _name(node)) is None or name in used


def _used(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
