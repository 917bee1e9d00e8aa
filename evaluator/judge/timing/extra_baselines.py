"""Workers of the extra baselines, which are timed on request in the same turns: the reference under torch.compile.

They decide no verdict. A baseline that does not compile in time is left out, and the record says why.
"""

import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from evaluator.judge.timing.timed_worker import MAX_REASON_CHARS
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.sandbox import SandboxUnavailable

EAGER, COMPILE = "eager", "compile"
KINDS = (EAGER, COMPILE)

log = logging.getLogger(__name__)


class ExtraBaselines:
    """The workers of extra baselines, by kind, until the context ends."""

    def __init__(self, kinds: Sequence[str]) -> None:
        """`kinds` are those of all baselines; the eager one, which is always timed, is left out."""
        self._kinds = [kind for kind in dict.fromkeys(kinds) if kind != EAGER]
        self.workers: dict[str, WorkerClient] = {}
        self.failures: dict[str, str] = {}
        """Why a requested kind has no worker."""

    def start(self, start_one: Callable[[str], WorkerClient]) -> None:
        """Start one worker of each kind."""
        for kind in self._kinds:
            try:
                self.workers[kind] = start_one(kind)
            except (WorkerError, SandboxUnavailable) as error:
                log.info("the baseline %s can't be timed: %s", kind, error)
                self.failures[kind] = str(error)[:MAX_REASON_CHARS]

    def __enter__(self) -> "ExtraBaselines":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self.workers.values():
            worker.close()


def call_once(worker: WorkerClient, memory: SharedMemory, arguments: Sequence[Any], deadline_s: float) -> None:
    """Make one call, which may include compiling. Raises WorkerError."""
    inputs = InputSet(memory, arguments)
    worker.hand_over(inputs.allocations, deadline_s)
    worker.request("inputs", deadline_s, sets=[inputs.tree(arguments)], keep=False)
    worker.request("call", deadline_s, set=0)
    worker.take_back(inputs.allocations, deadline_s)
    memory.free(inputs.allocations)
