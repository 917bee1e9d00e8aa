"""The evidence of one evaluation: all observations."""

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
    """All observations of one evaluation."""

    device_kind: Literal["cpu", "cuda"] | None = None
    """None in older records."""
    sandbox: str | None = None
    """The sandbox level used."""
    stage: str = "read"
    """The last stage entered."""
    builds: tuple[BuildEvidence, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    kernel_times: KernelTimes | None = None
    """None if the kernels were not timed."""
    device_states: tuple[DeviceState, ...] = ()
    """In the order of reading."""
    parameters: ParametersEvidence | None = None
    """None if the model was not constructed or has no parameters, and in older records."""
    rounds: tuple[RoundEvidence, ...] = ()
    changed_inputs: tuple[ChangedInputsEvidence, ...] = ()
    """Outputs on inputs of other distributions, if the submission is right on the problem's own; up to the one that ended the worker."""
    workload: str = ""
    """The workload in which the evaluation ended early; empty if it did not."""
    sizes: tuple[int, ...] = ()
    """Distinct sizes of the dimensions of the case's inputs."""
    untimed: bool = False
    """Whether no times were requested."""
    unsolved: tuple[str, ...] = ()
    """If no times were requested: the workloads that may be unsolved, and are."""
    timing: TimingEvidence | None = None
    conditions: ConditionsEvidence | None = None
    """None without a timing."""
    floor: FloorEvidence | None = None
    """Measured after the timing; None on the CPU."""
    light: LightEvidence | None = None
    """None without a timing, and if the problem needs no work that takes time."""
    wrong_timed_answer: WrongTimedAnswer | None = None
    """It ended the timing."""
    ablation: AblationEvidence | None = None
    """None if no verdict depended on it."""
    own_work: OwnWorkEvidence | None = None
    """None if no verdict depended on it, or it could not be measured."""
    shapes: tuple[ShapeEvidence, ...] = ()
    """Outputs in other shapes, if the submission is right in the case's; up to the shape that ended the worker."""
    strict_shapes: bool = False
    """Whether it must be right in those too."""
    trivial: tuple[str, ...] = ()
    """Trivial answers that the problem accepts, such as `zeros`. With any, a right answer proves nothing."""
    starving: StarvingEvidence | None = None
    """Why the judge ran out of device memory, if it did."""
    fault: FaultEvidence | None = None
    """None if no kernel failed on a device, or a second run did not show which one."""
    sanitizer: SanitizerEvidence | None = None
    """None if not requested, or there was no reason to run it. No verdict depends on it."""
    profile: ProfileEvidence | None = None
    """None if not requested, or the submission is not right. No verdict depends on it."""
    exception: ExceptionEvidence | None = None
    reference_name: str = ""
    """The undefined name in the exception, if the reference's file defines it."""
    exit: ExitEvidence | None = None
    protocol_error: str = ""
    """The error in a frame on the worker's channel, if any."""
    stdout: str = ""
    """The submission's standard output, capped."""
    stderr: str = ""
    stages_s: dict[str, float] = Field(default_factory=dict)
    """Seconds in each stage, in order. Stages don't overlap."""
    held_s: dict[str, float] = Field(default_factory=dict)
    """Seconds in each stage during which the evaluation had the device exclusively."""
    first_line: int = 1
    """Line of the file on which the submission's code begins. Diagnostics and verdicts use the file's line numbers."""
    note: str = ""
    """How the submission was read, if unusual: for example, its code was found in the reasoning."""
    detail: str = ""
    """A traceback or other detail from the judge, for infrastructure errors."""

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
        """The share of these launches in a call's device time; None if not measured.

        The times of kernels that ran in parallel may add up to more than the call's. Then the share is of their sum.
        """
        if self.kernel_times is None or not launch.timed:
            return None
        whole_ms = max(self.kernel_times.call_ms, sum(other.device_ms for other in self.launches))
        return launch.device_ms / whole_ms if whole_ms > 0 else None
