"""The evidence of one evaluation: everything that was observed."""

from typing import Literal

from pydantic import Field

from evaluator.results.evidence.build import BuildEvidence
from evaluator.results.evidence.device import ConditionsEvidence, DeviceState, FloorEvidence, LightEvidence, StarvingEvidence
from evaluator.results.evidence.ending import ExceptionEvidence, ExitEvidence
from evaluator.results.evidence.launches import FaultEvidence, KernelTimes, LaunchRecord
from evaluator.results.evidence.profile import ProfileEvidence
from evaluator.results.evidence.record import Record
from evaluator.results.evidence.rounds import (
    AblationEvidence,
    ChangedInputsEvidence,
    OwnWorkEvidence,
    ParametersEvidence,
    RoundEvidence,
    ShapeEvidence,
)
from evaluator.results.evidence.sanitizer import SanitizerEvidence
from evaluator.results.evidence.timing import TimingEvidence, WrongTimedAnswer


class Evidence(Record):
    """What was observed of one evaluation."""

    device_kind: Literal["cpu", "cuda"] | None = None
    """None in older records."""
    sandbox: str | None = None
    """The level of confinement that was reached."""
    stage: str = "read"
    """The last stage entered."""
    builds: tuple[BuildEvidence, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    kernel_times: KernelTimes | None = None
    """None where the time of kernels was not taken."""
    device_states: tuple[DeviceState, ...] = ()
    """In the order in which they were read."""
    parameters: ParametersEvidence | None = None
    """None where the model was not constructed, or has no parameters, and in older records."""
    rounds: tuple[RoundEvidence, ...] = ()
    changed_inputs: tuple[ChangedInputsEvidence, ...] = ()
    """Answers to inputs of other distributions, where the submission is right on its own; up to the one that ended the worker."""
    sizes: tuple[int, ...] = ()
    """Sizes of the dimensions of the case's inputs, each once."""
    timing: TimingEvidence | None = None
    conditions: ConditionsEvidence | None = None
    """None without a timing, and on the CPU."""
    floor: FloorEvidence | None = None
    """Measured after the timing; None on the CPU."""
    light: LightEvidence | None = None
    """None without a timing, and where the problem asks for nothing that takes time."""
    wrong_timed_answer: WrongTimedAnswer | None = None
    """The timing ended with it."""
    ablation: AblationEvidence | None = None
    """None where no verdict depended on it."""
    own_work: OwnWorkEvidence | None = None
    """None where no verdict depended on it, or it could not be measured."""
    shapes: tuple[ShapeEvidence, ...] = ()
    """Answers in other shapes, where the submission is right in its own; up to the shape that ended the worker."""
    strict_shapes: bool = False
    """Whether it has to be right in those too."""
    trivial: tuple[str, ...] = ()
    """Trivial answers that the problem accepts, such as `zeros`: a right answer to it says nothing."""
    starving: StarvingEvidence | None = None
    """Why the judge ran out of device memory, where it did."""
    fault: FaultEvidence | None = None
    """None where no kernel failed on a device, and where a second run did not show which one."""
    sanitizer: SanitizerEvidence | None = None
    """None where it was not asked for, or nothing called for it. No verdict rests on it."""
    profile: ProfileEvidence | None = None
    """None where it was not asked for, or the submission is not right. No verdict rests on it."""
    exception: ExceptionEvidence | None = None
    exit: ExitEvidence | None = None
    protocol_error: str = ""
    """What was wrong with a frame on the worker's channel, where one was."""
    stdout: str = ""
    """What the submission printed, capped."""
    stderr: str = ""
    stages_s: dict[str, float] = Field(default_factory=dict)
    """Seconds spent in each stage, in order. No moment counts twice."""
    held_s: dict[str, float] = Field(default_factory=dict)
    """How much of that the evaluation had the device, by stage."""
    first_line: int = 1
    """The line of the file on which the submission's code begins; diagnostics and verdicts count lines from the file's first."""
    note: str = ""
    """How the submission was read, where that is unusual: for example, its code was found in the reasoning."""
    detail: str = ""
    """A traceback or other detail of the judge's own, for infrastructure errors."""

    @property
    def robust(self) -> Literal["yes", "no", "untested"]:
        """Whether the submission is right on inputs of other distributions too."""
        told = [each.right for each in self.changed_inputs if each.right is not None]
        return "untested" if not told else "yes" if all(told) else "no"

    @property
    def generalises(self) -> Literal["yes", "no", "untested"]:
        """Whether the submission is right in other shapes too."""
        told = [shape.right for shape in self.shapes if shape.right is not None]
        return "untested" if not told else "yes" if all(told) else "no"

    def device_share(self, launch: LaunchRecord) -> float | None:
        """The share of a call's device time that these launches take; None where it was not measured.

        Kernels that ran side by side may add up to more time than the call; then the share is of their sum.
        """
        if self.kernel_times is None or not launch.timed:
            return None
        whole_ms = max(self.kernel_times.call_ms, sum(other.device_ms for other in self.launches))
        return launch.device_ms / whole_ms if whole_ms > 0 else None
