"""The parameters of a timing: the workers, their case, and options."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.timing.effort import FULL, Effort
from evaluator.judge.timing.protocols import TimingProtocol
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.problem import ProblemCase

ROOM_BYTES = 4 << 30
ROOM_SHARE = 1 / 16
"""Memory for inputs beyond the first call's; as much for outputs, and for flushes. At most this share of a small GPU."""
MAX_SETS = 16


@dataclass(frozen=True)
class Participants:
    """The workers that are timed in turns."""

    candidate: WorkerClient
    baseline: WorkerClient
    others: Mapping[str, WorkerClient] = field(default_factory=dict)
    """Extra baselines by their kind."""


@dataclass(frozen=True)
class TimedCase:
    """The case of all participants, and the means to check outputs."""

    case: ProblemCase
    oracle: Oracle
    form: Any
    """The form of the output (evaluator.judge.correctness.output_structure.form_of)."""
    memory: SharedMemory
    deadline_s: float
    """Timeout of each request."""
    few_changes: FewChanges | None = None
    """Changes a few values of the inputs, in ways for which the rounds had a right answer; None for no changes."""
    outliers: FewChanges | None = None
    """Makes a few values large, if the submission's outputs overflow then: only for calls that are no samples. None if they don't."""
    is_narrow: bool = False
    """Whether the rounds showed arithmetic that is narrower than the reference's."""
    sharers: int = 1
    """Number of timed cases that hold memory at the same time."""

    @property
    def room_bytes(self) -> int:
        """Maximum memory for inputs, and for outputs, of several calls in a row."""
        return room_bytes(self.memory.device) // self.sharers

    @property
    def on_device(self) -> bool:
        """Whether calls run on a GPU."""
        return self.memory.device.type == "cuda"


@dataclass(frozen=True)
class TimingOptions:
    """Options of a timing."""

    protocol: TimingProtocol
    launch_lead: bool = True
    """Whether the candidate may have a launch lead, if the protocol gives one."""
    cores: Sequence[int] = ()
    """On the CPU: the cores that workers are pinned to, and the judge's thread while it times them."""
    is_slow: bool = False
    """Whether the candidate was very slow in the rounds: then it gets as few calls as possible."""
    effort: Effort = FULL
    look: Callable[[], object] = lambda: None
    """Called between blocks, while nothing is timed."""


def room_bytes(device: torch.device) -> int:
    """Maximum device memory for the inputs of one case, and for its outputs."""
    if device.type != "cuda":
        return ROOM_BYTES // 4
    return min(ROOM_BYTES, int(ROOM_SHARE * torch.cuda.get_device_properties(device).total_memory))
