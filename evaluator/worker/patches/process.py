"""The interface between a worker and the DSLs: what they get before it loads a submission, and their functions for it."""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from evaluator.dsl import dsls
from evaluator.worker.patches.ablation import Ablation
from evaluator.worker.patches.host_kernels import HostKernels

BuildReply = tuple[bool, str, int | None]
"""ok, the compilers' output, and the descriptor of the shared object."""
Ask = Callable[[dict[str, Any]], BuildReply]


@dataclass(frozen=True)
class WorkerProcess:
    """One worker. The submission can reach all of it: what it reports to the judge is a claim."""

    build: Ask
    """Makes the builder compile; the fields are those of evaluator.build.request.BuildRequest."""
    ablation: Ablation | None
    """Takes out loaded machine code, or counts its work; None if neither is asked for."""
    host_kernels: HostKernels
    """Runs kernels on the CPU."""
    on_device: bool
    """Whether the submission runs on a GPU."""
    leaves_out: bool = False
    """Whether the submission's own kernels are left out."""
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext
    """In its context a compiler runs in this process, so that the judge lets others have the GPU."""


Watch = Callable[[], None]
"""Call it after code that may have imported the DSL."""
Install = Callable[[WorkerProcess], Watch | None]


def hooks() -> tuple[Install, ...]:
    """The DSLs' functions for a worker (`Dsl.in_worker`). Raises import errors, and PluginError."""
    return tuple(_function(dsl.in_worker) for dsl in dsls() if dsl.in_worker)


def _function(named: str) -> Install:
    module, _, function = named.partition(":")
    found: Install = getattr(importlib.import_module(module), function)
    return found
