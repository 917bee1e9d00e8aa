"""The text of a submission: kernels, the call that builds them, and the problem's own model, which calls them."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.real_answers.operators import OPERATORS, Operator

FUNCTION_PREFIXES = ("torch", "F", "nn.functional", "torch.nn.functional")
MODULE_PREFIXES = ("nn", "torch.nn")
THREADS = (128, 256, 512)
"""Threads per block; powers of two."""
LEFT_OUT = ("get_inputs", "get_init_inputs")
HOST_FUNCTION = re.compile(r"^(torch::Tensor \w+\([^{]*\)) \{", re.MULTILINE)
INCLUDES = """#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <vector>
"""
FORM = '''import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

source = r"""
{cuda}"""

declarations = r"""
{cpp}
"""

kernels = load_inline(
    name="{name}",
    cpp_sources=declarations,
    cuda_sources=source,
    functions={functions},
    verbose=False,
)

{python}

{model}
'''


class NothingToReplaceError(Exception):
    """The problem uses no operator in the table."""


@dataclass(frozen=True)
class Draft:
    """The parts of a submission."""

    cuda: str
    cpp: str
    """Declarations."""
    python: str
    """Calls of the kernels."""
    wrong: dict[str, str]
    """Wrong terms, with a wrong constant, by the right terms of the CUDA source."""


def draft(source: str, level: int, number: int, *, slow: bool = False) -> tuple[Draft, str]:
    """The parts of a right submission, and its model. Raises NothingToReplaceError, and SyntaxError if the problem does not parse."""
    tree = ast.parse(source)
    model = _Replaced(level)
    body = [model.visit(node) for node in tree.body if not _is_left_out(node)]
    if not model.used:
        raise NothingToReplaceError("no operator that a kernel replaces")
    tag, threads = f"{level}_{number}", THREADS[number % len(THREADS)]
    used = list(model.used.values())
    cuda = "\n".join([INCLUDES, *(_filled(operator.kernel(slow), operator, tag, threads) for operator in used)])
    python = "\n\n".join(operator.python.replace("NAME", f"{operator.name}_{tag}").strip("\n") + "\n" for operator in used)
    wrong = {operator.fill["VALUE"]: operator.wrong for operator in used if operator.wrong}
    return Draft(cuda, declarations(cuda), python, wrong), ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _is_left_out(node: ast.stmt) -> bool:
    """Whether a statement makes inputs, or is an import of every submission."""
    return (isinstance(node, ast.FunctionDef) and node.name in LEFT_OUT) or f"\n{ast.unparse(node)}\n" in f"\n{FORM}"


def submission(parts: Draft, model: str, level: int, number: int) -> str:
    """The file's text."""
    functions = [match.split("(")[0].removeprefix("torch::Tensor ") for match in HOST_FUNCTION.findall(parts.cuda)]
    return FORM.format(
        cuda=parts.cuda, cpp=parts.cpp, name=f"own_kernels_{level}_{number}", functions=functions, python=parts.python, model=model
    )


def declarations(cuda: str) -> str:
    """Names of all functions that Python calls."""
    return "\n".join(f"{' '.join(match.split())};" for match in HOST_FUNCTION.findall(cuda))


def _filled(kernel: str, operator: Operator, tag: str, threads: int) -> str:
    for placeholder, text in operator.fill.items():
        kernel = re.sub(rf"\b{re.escape(placeholder)}\b", text, kernel)
    return re.sub(r"\bTHREADS\b", str(threads), kernel).replace("NAME", f"{operator.name}_{tag}")


class _Replaced(ast.NodeTransformer):
    """Renames Model to ModelNew, and replaces the level's operators by own ones."""

    def __init__(self, level: int) -> None:
        self.used: dict[str, Operator] = {}
        self._own = _own_names([operator for operator in OPERATORS if level in operator.levels])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = self._own.get(ast.unparse(node))
        if found is None:
            self.generic_visit(node)
            return node
        operator, name = found
        self.used[operator.name] = operator
        return ast.Name(name, ast.Load())

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if node.name == "Model":
            node.name = "ModelNew"
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("ModelNew", node.ctx) if node.id == "Model" else node


def _own_names(operators: Sequence[Operator]) -> dict[str, tuple[Operator, str]]:
    """Operator and own name for each replaced dotted name."""
    functions = {
        f"{prefix}.{function}": (operator, f"own_{operator.name}")
        for operator in operators
        for function in operator.functions
        for prefix in FUNCTION_PREFIXES
    }
    modules = {
        f"{prefix}.{operator.module}": (operator, f"Own{operator.module}")
        for operator in operators
        if operator.module
        for prefix in MODULE_PREFIXES
    }
    return functions | modules
