"""Decodes a submission's bytes, and checks whether it is Python that defines `ModelNew`. Nothing is run here."""

import ast
import codecs
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evaluator.results.category import Category

MAX_CODE_BYTES = 1 << 20
"""Maximum size of one submission's code in UTF-8."""
MAX_FILE_BYTES = 16 << 20
"""Maximum size of one file, or of one line of a bundle."""

CLASS_MODEL_NEW = re.compile(r"^[ \t]*class[ \t]+ModelNew\b", re.MULTILINE)
"""Text that should define the class, whether or not it parses."""

# UTF-32's little-endian mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Other exceptions of the parser than SyntaxError: deep nesting raises the first two, lone surrogates and NUL bytes the third.
_PARSER_ERRORS = (RecursionError, MemoryError, ValueError)


class InputError(Exception):
    """Invalid input: a missing path, a broken manifest. One line, to be shown to the user."""


@dataclass(frozen=True)
class Rejection:
    """Why a submission is not judged."""

    category: Category
    """One of the categories of status `rejected`."""
    message: str


def decode(data: bytes) -> str:
    """Text of a file: UTF-8 unless a byte order mark says otherwise, else Windows-1252, else Latin-1; line ends become `\n`.

    Raises ValueError if the bytes are not text: they hold NUL, or don't decode as their own mark says.
    """
    return clean(_decode(data))


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding)
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def clean(text: str) -> str:
    """`text` with `\n` as its only line end and lone surrogates (JSON permits them, UTF-8 does not) replaced.

    Raises ValueError if it holds NUL.
    """
    if "\0" in text:
        raise ValueError(f"NUL character at position {text.index(chr(0))}: this is not text")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def parse(code: str) -> ast.Module:
    """The syntax tree of `code`; raises only SyntaxError, for any `code`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except _PARSER_ERRORS as error:
            reason = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
            raise SyntaxError(reason) from None


def defines(tree: ast.Module, name: str) -> bool:
    """Whether loading the module can bind this name to a class: defined, assigned or imported at module level, also inside
    `if`, `try` and `with` there, but not under `if __name__ == "__main__"`, which never runs here."""
    return any(name in bound_names(statement) for statement in _module_level(tree.body))


def _module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, ast.If):
            pending += statement.orelse if _is_main_guard(statement.test) else statement.body + statement.orelse
        elif isinstance(statement, ast.Try | ast.TryStar):
            pending += statement.body + statement.orelse + statement.finalbody
            for handler in statement.handlers:
                pending += handler.body
        elif isinstance(statement, ast.With):
            pending += statement.body


def _is_main_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement defines, imports or assigns."""
    if isinstance(statement, ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    flat = [item for target in targets for item in (target.elts if isinstance(target, ast.Tuple | ast.List) else [target])]
    return {item.id for item in flat if isinstance(item, ast.Name)}


def examine(code: str, first_line: int = 1) -> Rejection | None:
    """Why `code` can't be a submission, or None if it can.

    first_line: the line of the file at which `code` begins, so that the message names a line of the file.
    """
    size_bytes = len(code.encode())
    if size_bytes > MAX_CODE_BYTES:
        return Rejection(Category.TOO_LARGE, f"the code has {size_bytes:,} bytes; at most {MAX_CODE_BYTES:,} are read")
    try:
        tree = parse(code)
    except SyntaxError as error:
        where = f"line {first_line + error.lineno - 1}: " if error.lineno else ""
        return Rejection(Category.SYNTAX_ERROR, f"{where}{error.msg}")
    if not defines(tree, "ModelNew"):
        return Rejection(Category.MISSING_MODEL_NEW, "the code defines no class ModelNew at its top level")
    return None
