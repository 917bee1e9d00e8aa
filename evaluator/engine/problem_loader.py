"""Loads problems for a process without PyTorch, in another process, which the judges' fork server forks.

The command line only needs to know whether a problem's file is sound, and its name. Importing PyTorch for that would take longer than the
rest of a run's start.
"""

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Self

from evaluator.engine.fork_server import CONTEXT
from evaluator.engine.warm_parents import start_judges_parent
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.problem.problem import Problem, ProblemFacts

END_WITHIN_S = 5.0


@dataclass(frozen=True)
class _Fault:
    """A ProblemError, as it is sent."""

    path: Path
    line: int | None
    rule: str


class ProblemReader:
    """Loads problems by name, each on first use, in a process that starts with the first one. A context manager."""

    def __init__(self, paths: Mapping[str, Path], precision: PrecisionName | None = None, answer_within_s: float | None = None) -> None:
        """`precision` to judge them in; None for their own. A file that takes longer than `answer_within_s` is refused."""
        self._paths, self._precision, self._answer_within_s = paths, precision, answer_within_s
        self._loaded: dict[str, ProblemFacts] = {}
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join(END_WITHIN_S)
            self._pipe.close()
        self._process = self._pipe = None

    def get(self, name: str) -> ProblemFacts:
        """Raises ProblemError."""
        if name not in self._loaded:
            self._loaded[name] = self._ask(name, None)
        return self._loaded[name]

    def check(self, name: str, case: str) -> None:
        """Raises ProblemError if the problem does not work in this case."""
        self._ask(name, case)

    def _ask(self, name: str, case: str | None) -> ProblemFacts:
        pipe = self._pipe or self._start()
        try:
            pipe.send((self._paths[name], case))
            if not pipe.poll(self._answer_within_s):
                self._end()
                raise ProblemError(self._paths[name], None, f"importing the file took longer than {self._answer_within_s:g} s")
            answer: ProblemFacts | _Fault = pipe.recv()
        except (EOFError, OSError) as error:
            self._end()  # the next problem needs another process
            raise ProblemError(self._paths[name], None, "importing the file ended the process; it must not exit or crash") from error
        if isinstance(answer, _Fault):
            raise ProblemError(answer.path, answer.line, answer.rule)
        return answer

    def _start(self) -> Connection:
        start_judges_parent()
        pipe, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(target=serve, args=(theirs, self._precision), daemon=True, name="problems")
        process.start()  # waits for the server's imports, so Ctrl-C is likely here
        theirs.close()
        self._process, self._pipe = process, pipe
        return pipe


def serve(pipe: Connection, precision: PrecisionName | None) -> None:
    """Reply to (path, case or None) with the problem's facts in this precision, or with its fault, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command line handles Ctrl-C
    loaded: dict[Path, Problem] = {}
    with contextlib.suppress(EOFError, OSError):
        while True:
            path, case = pipe.recv()
            pipe.send(_answer(loaded, precision, path, case))
    os._exit(0)  # threads that a problem's file has left running


def _answer(loaded: dict[Path, Problem], precision: PrecisionName | None, path: Path, case: str | None) -> ProblemFacts | _Fault:
    try:
        if path not in loaded:
            loaded[path] = load(path).in_precision(precision)
        if case is not None:
            loaded[path].instance(case)
        return loaded[path].facts
    except ProblemError as error:
        return _Fault(error.path, error.line, error.rule)
