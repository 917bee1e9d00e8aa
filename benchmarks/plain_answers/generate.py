"""The text of an answer: the formulas, then the problem's own model, renamed."""

import ast
from pathlib import Path
from types import ModuleType

OPERATORS = Path(__file__).with_name("operators")
ORDER = (
    "blocks",
    "reductions",
    "matrix",
    "convolution",
    "pooling",
    "activation",
    "normalisation",
    "losses",
    "attention",
    "recurrent",
    "swaps",
)
"""The modules of formulas; each uses only earlier ones."""
HEADER = '''"""An honest answer without a kernel: the reference's model, whose operators are computed by plain formulas."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
'''


class AnswerError(Exception):
    """The problem can't be answered this way; the text says why."""


def answer(source: str) -> str:
    """The submission for a problem file of KernelBench's form. Raises AnswerError, and SyntaxError if it does not parse."""
    tree = ast.parse(source)
    own = _names(tree)
    clash = sorted(name for name in own if name.lower().startswith("plain"))
    if clash:
        raise AnswerError(f"the problem has names of its own like {clash[0]}")
    if "Model" not in own:
        raise AnswerError("there is no class Model")
    return "\n\n".join([HEADER, *map(_formulas, ORDER), _model(tree)]) + "\n"


def executed(source: str, name: str) -> ModuleType:
    """The text run as a module of this name."""
    module = ModuleType(name)
    exec(compile(source, name, "exec", dont_inherit=True), vars(module))
    return module


def _names(tree: ast.Module) -> set[str]:
    """Names that are defined or assigned at the top level."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        found.update(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store))
    return found


def _formulas(module: str) -> str:
    """The text of a module of formulas, without its docstring and its imports."""
    text = (OPERATORS / f"{module}.py").read_text(encoding="utf-8")
    left_out: set[int] = set()
    for place, node in enumerate(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom) or (place == 0 and isinstance(node, ast.Expr)):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return "\n".join(line for number, line in enumerate(text.splitlines(), 1) if number not in left_out).strip()


def _model(tree: ast.Module) -> str:
    """The problem without its inputs, Model called ModelNew and computed by formulas."""
    body = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs"))]
    renamed = ast.Module([_Renamed().visit(node) for node in body], [])
    return ast.unparse(ast.fix_missing_locations(renamed))


class _Renamed(ast.NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if node.name == "Model":
            node.name = "ModelNew"
            node.decorator_list.insert(0, ast.Name("plain_model", ast.Load()))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("ModelNew", node.ctx) if node.id == "Model" else node
