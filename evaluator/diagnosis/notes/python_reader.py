"""Reads a submission's Python roughly: the sources of its kernels, and the calls in its methods."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from evaluator.diagnosis.notes import cpp_reader
from evaluator.dsl import dsls
from evaluator.submission.source import parse

_QUOTES = re.compile(r"""^[rRbBuUfF]{0,2}(?P<quote>"{3}|'{3})""")
_CPP = re.compile(r"__global__|#include\b|torch::|at::|PYBIND11_MODULE|extern \"C\"|data_ptr")
MAX_CODE_CHARS = 256 << 10
"""Maximum length of code that is read."""
MAX_SOURCES = 64
"""Maximum number of strings that are read as C++."""
MAX_LINE_CHARS = 2000
"""In longer lines, strings are read without their position in the line."""
BUILDERS = frozenset(("load_inline", "load"))


@dataclass(frozen=True)
class Call:
    """A call in a submission's Python."""

    name: str
    """Dotted, as in `torch.softmax`, or `.sum` for a method of a computed value."""
    line: int


@dataclass(frozen=True)
class Script:
    """A parsed submission."""

    sources: tuple[cpp_reader.Source, ...]
    """C++ and CUDA code in strings."""
    forward: tuple[Call, ...]
    """Calls and operators in the methods of ModelNew, without its constructor."""
    calls: tuple[Call, ...]
    """All calls."""
    functions: tuple[tuple[str, int], ...]
    """Names bound by load_inline(functions=...), with their lines."""
    used: frozenset[str]
    """Names of all attributes and variables that are read."""
    extensions: frozenset[str]
    """Names that an extension is assigned to, as in `ops` of `self.ops = load_inline(…)`."""
    decorated: bool
    """Whether a function has a decorator that makes it a DSL's kernel, such as triton.jit."""
    quoted: frozenset[str]
    """Strings that are names, as in `RawKernel(source, "name")`."""


def read(code: str) -> Script | None:
    """Read a submission. None if it does not parse, or is too long."""
    if len(code) > MAX_CODE_CHARS:
        return None
    try:
        tree = parse(code)
    except SyntaxError:
        return None
    nodes = list(ast.walk(tree))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    lines = code.split("\n")
    return Script(
        sources=tuple(_sources(_strings(tree, lines))),
        forward=tuple(call for method in _methods(tree) for call in _calls(method)),
        calls=tuple(_calls(tree)),
        functions=tuple(_functions(nodes)),
        used=frozenset(used),
        extensions=frozenset(_extensions(nodes)),
        quoted=frozenset(
            node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
        ),
        decorated=any(
            makes_kernel(_name(decorator.func if isinstance(decorator, ast.Call) else decorator))
            for node in nodes
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
        ),
    )


def makes_kernel(name: str) -> bool:
    """Whether a DSL has a function of this dotted name that makes a kernel."""
    return any(f".{name}".endswith(f".{mark}") for dsl in dsls() for mark in dsl.marks)


def _sources(strings: Iterator[tuple[str, int]]) -> Iterator[cpp_reader.Source]:
    """The strings that look like C++: at most MAX_SOURCES, with at most cpp_reader.MAX_TOKENS tokens in all."""
    room = cpp_reader.MAX_TOKENS
    for text, line in islice(((text, line) for text, line in strings if _CPP.search(text)), MAX_SOURCES):
        source = cpp_reader.read(text, line, room)
        room -= len(source.tokens)
        yield source


def _strings(tree: ast.Module, lines: list[str]) -> Iterator[tuple[str, int]]:
    """Strings as written in the file, with the numbers of their first lines."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
        elif not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or id(node) in inside:
            continue
        line = lines[node.lineno - 1]
        first = line.encode()[node.col_offset :].decode(errors="replace") if len(line) <= MAX_LINE_CHARS else ""
        opened = _QUOTES.match(first)
        if opened and node.end_lineno is not None:
            text = "\n".join([first[opened.end() :], *lines[node.lineno : node.end_lineno]])
            yield text.partition(opened["quote"])[0], node.lineno
        elif isinstance(node, ast.Constant):
            yield str(node.value), node.lineno


def _methods(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "ModelNew":
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name != "__init__")


def _calls(tree: ast.AST) -> Iterator[Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield Call(_name(node.func), node.lineno)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield Call("@", node.lineno)


def _name(function: ast.expr) -> str:
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    parts.append(function.id if isinstance(function, ast.Name) else "")
    return ".".join(reversed(parts))


def _extensions(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func).rsplit(".", 1)[-1] in BUILDERS:
            yield from (_name(target).rsplit(".", 1)[-1] for target in node.targets)


def _functions(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func).rsplit(".", 1)[-1] not in BUILDERS:
            continue
        for keyword in node.keywords:
            values = keyword.value.elts if isinstance(keyword.value, ast.List | ast.Tuple) else [keyword.value]
            if keyword.arg == "functions":
                yield from (
                    (value.value, value.lineno) for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
                )
