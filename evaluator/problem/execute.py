"""Executes a problem file's code as a module, and turns its exceptions into errors with its line."""

import sys
import traceback
from pathlib import Path
from types import CodeType, ModuleType

from evaluator.problem.input_drawing import seeded

INSTALL = "a problem can import only installed packages: install this one in Assay's environment"


class ProblemError(Exception):
    """A problem's file breaks a rule; the text is one line with file, line and rule."""

    def __init__(self, path: Path, line: int | None, rule: str) -> None:
        super().__init__(f"{path}{f':{line}' if line else ''}: {rule}")
        self.path, self.line, self.rule = path, line, rule


class OptionError(ProblemError):
    """An option asks for a case or a type that the problem does not have."""


def execute(path: Path, code: CodeType, name: str) -> ModuleType:
    """Run a file's code in a fresh module. Raises ProblemError.

    The module stays in sys.modules, where dataclasses and pickle look it up, until the next one of the same name.
    """
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        with seeded(0, "cpu"):
            exec(code, vars(module))
    # Any exception during import, including sys.exit(), is the file's fault and must not end the program.
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise raised_in_file(path, "importing the file", error) from error
    return module


def raised_in_file(path: Path, what: str, error: BaseException) -> ProblemError:
    """A ProblemError for an exception in the file's code, with the file's innermost line in the traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    first = (str(error).strip().splitlines() or [""])[0]
    remedy = f"; {INSTALL}" if isinstance(error, ModuleNotFoundError) else ""
    return ProblemError(path, lines[-1] if lines else None, f"{what} raised {type(error).__name__}: {first}{remedy}")
