"""The engine's end of one judge process."""

import itertools
import logging
from multiprocessing.connection import Connection
from typing import Any

from evaluator.build.builder import Elsewhere
from evaluator.engine.engine import Progress, Settle
from evaluator.engine.fork_server import CONTEXT
from evaluator.engine.options import EngineOptions
from evaluator.job import Job
from evaluator.log import receive, waiting
from evaluator.results.result import Result
from evaluator.results.submission_name import shown_name
from evaluator.sandbox import Zygote

ENDS_WITHIN_S = 5.0

log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class JudgeLostError(Exception):
    """A judge process ended before it answered."""


class JudgeClient:
    """One judge process and the pipe to it."""

    def __init__(self, options: EngineOptions, zygote: Zygote) -> None:
        self.zygote, self.device = zygote, options.device
        self._name = self._origin = f"judge {next(_numbers)}"
        """Names it in the log; the second with the submission that it judges."""
        self._pipe, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(theirs, options, zygote), daemon=True)
        with waiting("the judges' fork server to import its modules"):
            self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def await_ready(self) -> None:
        """Wait until it can take a job. Raises JudgeLostError."""
        with waiting(f"{self._name} to start"):
            self._receive()

    def judge(self, job: Job, progress: Progress, elsewhere: Elsewhere | None, settle: Settle = lambda _: None) -> Result:
        """Have it judge a job. `settle` gets a result that may gain a profile; it is kept if the judge is lost while profiling.

        Raises JudgeLostError.
        """
        self._send(job)
        self._origin = f"{self._name} {shown_name(job.submission, job.block)}"
        settled: Result | None = None
        while True:
            try:
                kind, content = self._receive()
            except JudgeLostError:
                if settled is None:
                    raise
                return settled
            if kind == "result":
                return Result.model_validate_json(content)
            if kind == "settled":
                settled = Result.model_validate_json(content)
                settle(settled)
            elif kind == "build":
                self._send(elsewhere(*content) if elsewhere else None)
            else:
                log.debug("stage %s", content, extra={"origin": self._origin})
                progress(job, content)

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join(ENDS_WITHIN_S)
        self._pipe.close()

    def _send(self, what: Any) -> None:
        try:
            self._pipe.send(what)
        except OSError as error:
            raise JudgeLostError(str(error)) from error

    def _receive(self) -> tuple[str, Any]:
        """The next message that is not for the log."""
        try:
            message: tuple[str, Any] = self._pipe.recv()
            while message[0] == "log":
                receive(self._origin, message[1])
                message = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(ENDS_WITHIN_S)
            raise JudgeLostError(f"the judge process ended with exit code {self._process.exitcode}") from error
        return message


def _serve(pipe: Connection, options: EngineOptions, zygote: Zygote) -> None:
    """A judge process's main function. The fork server has already imported its modules."""
    from evaluator.engine.judge_process import serve

    serve(pipe, options, zygote)
