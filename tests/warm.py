"""The command line in the tests' own process, with fork servers that have imported PyTorch and stay for all tests of that process.

A run of its own process spends 8 of its 10 CPU seconds on importing PyTorch three times. Here judges and workers are forked from the same
two servers as ever, in fresh processes for each run.
"""

import atexit
import contextlib
import functools
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from evaluator.engine.warm_parents import launch_zygote
from evaluator.sandbox import Level, Zygote
from tests.command_line import Finished

_STARTED = ("evaluator.engine.warm_parents.launch_zygote", "evaluator.engine.judge_pool.launch_zygote")


class _Kept(Zygote):
    """A fork server that a run's end does not end. Its programs end with the judges that asked for them."""

    def await_ready(self) -> None:
        """It is."""

    def close(self) -> None:
        """Left to `_zygote`."""


@functools.cache
def _zygote(level: Level | None, recorder: str | None) -> Zygote:
    zygote = launch_zygote(level, recorder)
    zygote.await_ready()
    atexit.register(zygote.close)
    kept = _Kept(zygote.socket, zygote.level)
    kept.threads, kept.memory_limited_by, kept._process = zygote.threads, zygote.memory_limited_by, zygote._process
    return kept


@contextlib.contextmanager
def servers() -> Iterator[None]:
    """Runs of this process use the servers that stay."""
    with contextlib.ExitStack() as stack:
        for place in _STARTED:
            stack.enter_context(mock.patch(place, _zygote))
        yield


def run(arguments: list[str], folder: Path, variables: Mapping[str, str]) -> Finished:
    """`pipeline.py` with these arguments, from this folder, with these environment variables beside the process's own."""
    import pipeline

    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, variables))
        stack.enter_context(mock.patch.object(sys, "argv", ["pipeline.py", *arguments]))
        stack.enter_context(servers())
        stack.enter_context(contextlib.redirect_stdout(stdout))
        stack.enter_context(contextlib.redirect_stderr(stderr))
        try:
            code = pipeline.main(arguments)
        except SystemExit as exit_:  # from argparse
            code = exit_.code if isinstance(exit_.code, int) else 1
    return Finished(code, *(stream.buffer.getvalue().decode() for stream in (stdout, stderr)))
