"""Loads problems for a process without PyTorch, in another process, which the judges' fork server forks.

The command line only needs to know whether a problem's file is sound, and its name. Importing PyTorch for that would take longer than the
rest of a run's start.
"""

import contextlib
import logging
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
from evaluator.sandbox import linux

END_WITHIN_S = 5.0
LOAD_WITHIN_S = 60.0
"""Seconds in which a problem's file has to be imported, unless it uses the network."""

ALLOW_NETWORK = "files are imported without the network: fetch what they need before, or judge with --reference-network"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Fault:
    """A ProblemError, as it is sent."""

    kind: type[ProblemError]
    path: Path
    line: int | None
    rule: str


class ProblemReader:
    """Loads problems by name, each on first use, in a process that starts with the first one. A context manager."""

    def __init__(self, paths: Mapping[str, Path], precision: PrecisionName | None = None, *, network: bool = False) -> None:
        """`precision` to judge them in; None for their own. network: whether files may use it while they are imported."""
        self._paths, self._precision, self._network = paths, precision, network
        self._loaded: dict[str, ProblemFacts | _Fault] = {}
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
        """Raises ProblemError, for a broken file each time, though it is imported once."""
        if name not in self._loaded:
            self._loaded[name] = self._ask(name, None)
        return _sound(self._loaded[name])

    def check(self, name: str, case: str) -> None:
        """Raises ProblemError if the problem does not work in this case."""
        _sound(self._ask(name, case))

    def _ask(self, name: str, case: str | None) -> ProblemFacts | _Fault:
        """Raises ProblemError if there is no answer, which another try may give."""
        pipe = self._pipe or self._start()
        try:
            pipe.send((self._paths[name], case))
            if not pipe.poll(None if self._network else LOAD_WITHIN_S):
                self._end()
                raise ProblemError(self._paths[name], None, f"importing the file took longer than {LOAD_WITHIN_S:g} s")
            answer: ProblemFacts | _Fault = pipe.recv()
        except (EOFError, OSError) as error:
            self._end()  # the next problem needs another process
            raise ProblemError(self._paths[name], None, "importing the file ended the process; it must not exit or crash") from error
        return answer

    def _start(self) -> Connection:
        start_judges_parent()
        pipe, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(target=serve, args=(theirs, self._precision, self._network), daemon=True, name="problems")
        process.start()  # waits for the server's imports, so Ctrl-C is likely here
        theirs.close()
        self._process, self._pipe = process, pipe
        return pipe


def _sound(answer: ProblemFacts | _Fault) -> ProblemFacts:
    """Raises ProblemError for a fault."""
    if isinstance(answer, _Fault):
        raise answer.kind(answer.path, answer.line, answer.rule)
    return answer


def serve(pipe: Connection, precision: PrecisionName | None, network: bool) -> None:
    """Reply to (path, case or None) with the problem's facts in this precision, or with its fault, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command line handles Ctrl-C
    if not network:
        _leave_network()
    loaded: dict[Path, Problem] = {}
    with contextlib.suppress(EOFError, OSError):
        while True:
            path, case = pipe.recv()
            pipe.send(_answer(loaded, precision, network, path, case))
    os._exit(0)  # threads that a problem's file has left running


def _leave_network() -> None:
    """Let a file that asks a server fail at once, with the error of a missing network, and not after its own tries."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # Hugging Face's library would try for half a minute
    for flags in (linux.CLONE_NEWNET, linux.CLONE_NEWUSER | linux.CLONE_NEWNET):
        try:
            linux.unshare(flags)
        except OSError as error:
            log.info("problems are imported with the network: %s", error)
        else:
            return


def _answer(
    loaded: dict[Path, Problem], precision: PrecisionName | None, network: bool, path: Path, case: str | None
) -> ProblemFacts | _Fault:
    try:
        if path not in loaded:
            loaded[path] = load(path).in_precision(precision)
        if case is not None:
            loaded[path].instance(case)
        return loaded[path].facts
    except ProblemError as error:
        rule = error.rule if network or not _lacks_server(error.__cause__) else f"{error.rule.removesuffix('.')}; {ALLOW_NETWORK}"
        return _Fault(type(error), error.path, error.line, rule)


def _lacks_server(error: BaseException | None) -> bool:
    """Whether an exception comes from an OSError that is not about a file, as where a server is not reached."""
    while error is not None:
        if isinstance(error, OSError) and error.filename is None:
            return True
        error = error.__cause__ or error.__context__
    return False
