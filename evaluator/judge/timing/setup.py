"""What a timing is given: who is timed, what they answer, and how."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge.correctness.check import KnownErrors
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.timing.protocols import TimingProtocol
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.problem import ProblemCase

ROOM_BYTES = 4 << 30
ROOM_SHARE = 1 / 16
"""Memory for inputs beyond the first's, as much for answers, and for flushes; of a small GPU no more than this share."""


@dataclass(frozen=True)
class Participants:
    """The workers that are timed in turns."""

    candidate: WorkerClient
    baseline: WorkerClient
    others: Mapping[str, WorkerClient] = field(default_factory=dict)
    """Extra baselines by their kind."""


@dataclass(frozen=True)
class TimedCase:
    """What all participants are asked, and how the judge knows a right answer."""

    case: ProblemCase
    oracle: Oracle
    form: Any
    """What an answer looks like (evaluator.judge.correctness.output_structure.form_of)."""
    memory: SharedMemory
    deadline_s: float
    """Of each request."""
    known_errors: tuple[KnownErrors, ...] = ()
    """Of each output, as the rounds have found them; none where they are not known."""

    few_changes: FewChanges | None = None
    """Changes few values of a draw, as rounds have shown that there is a right answer to; None for none."""

    @property
    def on_device(self) -> bool:
        """Whether calls run on a GPU."""
        return self.memory.device.type == "cuda"


@dataclass(frozen=True)
class TimingOptions:
    """How a timing goes."""

    protocol: TimingProtocol
    launch_lead: bool = True
    """Whether the candidate may have a launch lead, where the protocol gives one."""
    cores: Sequence[int] = ()
    """On the CPU: the cores that the workers are kept to, and the judge's thread while it times them."""
    is_slow: bool = False
    """Whether the candidate's calls are slow by far, as the rounds have seen: it is asked for as few as can be."""
    look: Callable[[], object] = lambda: None
    """Called between blocks, while nothing is timed."""


def room_bytes(device: torch.device) -> int:
    """How much memory inputs may take, or answers, so that there can be several calls in a row."""
    if device.type != "cuda":
        return ROOM_BYTES // 4
    return min(ROOM_BYTES, int(ROOM_SHARE * torch.cuda.get_device_properties(device).total_memory))
