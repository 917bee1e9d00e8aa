"""What DSLs are given in a worker, before it loads a submission; and their functions there, which its parent has imported."""

import importlib
from collections.abc import Callable
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
    """One worker. All that is in it is within a submission's reach: what it tells the judge is a claim."""

    build: Ask
    """Has the builder compile; the fields are those of evaluator.build.request.BuildRequest."""
    ablation: Ablation | None
    """What takes out the machine code that is loaded, or counts its work; None where neither is asked for."""
    host_kernels: HostKernels
    """What runs kernels on the CPU."""
    on_device: bool
    """Whether the submission runs on a GPU."""


Watch = Callable[[], None]
"""To be called after code that may have imported the DSL."""
Install = Callable[[WorkerProcess], Watch | None]


def hooks() -> tuple[Install, ...]:
    """The DSLs' functions for a worker (`Dsl.in_worker`). Raises what their import raises, and PluginError."""
    return tuple(_function(dsl.in_worker) for dsl in dsls() if dsl.in_worker)


def _function(named: str) -> Install:
    module, _, function = named.partition(":")
    found: Install = getattr(importlib.import_module(module), function)
    return found
