"""Reads, executes and checks a problem's file.

It defines `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()` over module-level constants: the KernelBench form.
`evaluator.problem.declaration` lists what else it may declare.
"""

import ast
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from evaluator.problem.declaration import DECLARATION_NAME, Declaration, DeclarationError, declare
from evaluator.problem.execute import ProblemError, execute
from evaluator.problem.problem import VARYING, Problem
from evaluator.submission.source import decode, parse

FUNCTIONS = {"get_inputs": "forward()'s arguments", "get_init_inputs": "Model's arguments, [] for none"}
"""Functions that the file must define, and the content of the lists that they return."""
PART_BYTES = 1 << 20
"""Bytes of a file of inputs that are in memory at once."""
RECENT_NS = 2_000_000_000
"""A file that was written within this time may be written again without another time of its last change."""
MAX_HASHES = 256
_HASHES: dict[tuple[object, ...], str] = {}
"""Hashes of problems with further files, by the hash of the problem's own file and the states of the others. A judge loads the problem for
each submission, and files of inputs may be large."""


def load(path: Path) -> Problem:
    """Read, execute and check a problem's file, which is trusted. Raises ProblemError."""
    try:
        data = path.read_bytes()
        source = decode(data)
    except OSError as error:
        raise ProblemError(path, None, f"can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ProblemError(path, None, f"can't be read: {error}") from error
    try:
        tree = parse(source)
        code = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ProblemError(path, error.lineno, f"the file is not valid Python: {error.msg}") from error
    module = execute(path, code, f"_assay_problem_{path.stem}")
    _check_form(path, module, tree)
    try:
        declaration = declare(vars(module), tree, path.parent)
    except DeclarationError as error:
        raise ProblemError(path, error.line, error.rule) from error
    return Problem(path.stem, path, source, _sha256(path, data, module, declaration), declaration, code)


def _sha256(problem: Path, data: bytes, module: ModuleType, declaration: Declaration) -> str:
    """Hash of the file's bytes, and of those of the file of workloads and of the inputs that it names. Raises ProblemError."""
    declared = getattr(module, DECLARATION_NAME, {}).get("workloads")
    hashed = hashlib.sha256(data)
    inputs = {stored.path for named in declaration.stored.values() for stored in named.values()}
    paths = [*([problem.parent / declared] if isinstance(declared, str) else []), *sorted(inputs)]
    key = (hashed.digest(), *_states(problem, paths))
    if key in _HASHES:
        return _HASHES[key]
    since_ns = time.time_ns() - RECENT_NS
    for path in paths:
        try:
            with path.open("rb") as file:
                while part := file.read(PART_BYTES):
                    hashed.update(part)
        except OSError as error:
            raise ProblemError(problem, None, f"{path} can't be read: {error.strerror}") from error
    states = _states(problem, paths)
    if paths and key[1:] == states and all(state.changed_ns < since_ns for state in states):
        if len(_HASHES) >= MAX_HASHES:
            _HASHES.clear()
        _HASHES[key] = hashed.hexdigest()
    return hashed.hexdigest()


class _FileState(NamedTuple):
    """A file's contents are the same while this is. A program can set the time of modification, but not that of the last change."""

    path: Path
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def _states(problem: Path, paths: Sequence[Path]) -> tuple[_FileState, ...]:
    """Raises ProblemError."""
    found = []
    for path in paths:
        try:
            stat = path.stat()
        except OSError as error:
            raise ProblemError(problem, None, f"{path} can't be read: {error.strerror}") from error
        found.append(_FileState(path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return tuple(found)


def _check_form(path: Path, module: ModuleType, tree: ast.Module) -> None:
    import torch

    lines = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    model = getattr(module, "Model", None)
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        wrong = "the file defines no class Model" if model is None else "Model is not a class derived from nn.Module"
        raise ProblemError(path, lines.get("Model", 1), f"{wrong}; write the reference as class Model(nn.Module)")
    for name, returned in FUNCTIONS.items():
        found = getattr(module, name, None)
        if not callable(found):
            wrong = f"the file defines no function {name}()" if found is None else f"{name} is not a function"
            raise ProblemError(path, lines.get(name, 1), f"{wrong}; define {name}() so that it returns a list of {returned}")
    if VARYING in vars(module) and not callable(vars(module)[VARYING]):
        raise ProblemError(path, lines.get(VARYING), f"{VARYING} is not a function; give it another name")
