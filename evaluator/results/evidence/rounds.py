"""Correctness: rounds, error figures, and outputs in other shapes or without own kernels."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from evaluator.results.category import Category
from evaluator.results.display.figures import percent
from evaluator.results.evidence.record import Record

EVERYTHING = "everything"
"""The pattern of an output that is wrong nearly everywhere."""


class ErrorMap(Record):
    """A map of an output's errors: its last dimension is across, in at most 64 × 64 patches (judge.correctness.errors.describe)."""

    rows: tuple[str, ...]
    """One character per patch: `.` right; `1` to `9` largest error, in half decades above the tolerance; `#` not finite."""
    rows_per_cell: int
    columns_per_cell: int


class WrongElement(Record):
    """One wrong element of an output."""

    index: tuple[int, ...]
    value: float
    expected: float


class ErrorFigures(Record):
    """Errors of one output in one round. The right values are the oracle's, or the reference's if only gross errors decide and the output
    is within their tolerance."""

    output: str
    """Path of the output in the returned structure, as in `[1]` or `['mean']`; empty for a lone tensor."""
    elements: int
    """Number of compared elements: a sample's if only some rows were compared."""
    wrong: int
    """Number of wrong elements."""
    max_error: float
    """Largest |value - right value| / (|right value| + scale); scale is the RMS of the tensor's or row's right values."""
    rms_error: float
    """RMS of (value - right value) / RMS of the right values."""
    tolerance: float
    """Maximum allowed max_error."""
    reference_error: float | None
    """max_error of the reference, in the submission's dtype; None if its own values are the right ones."""
    beyond: int = 0
    """Number of elements beyond the tolerance; fewer are wrong if only gross errors decide."""
    gross_error: float | None = None
    """Largest |value - right value| / (|right value - mean| + spread) of the elements beyond the tolerance; mean and spread (RMS around
    it) are those of the right values. None if the tolerance alone decides."""
    first_index: tuple[int, ...] | None = None
    """The first wrong element, in row-major order."""
    first_value: float | None = None
    first_expected: float | None = None
    pattern: str = ""
    """Positions of the wrong elements: everything, a tail, one stretch, whole rows or columns, a tile, a stride, isolated, scattered."""
    nonfinite_mismatch: int = 0
    """Number of elements that are NaN or infinite, unlike the right value."""
    likeness: str = ""
    """What the wrong elements resemble: zeros, a multiple of the right ones, numbers of a narrower type."""
    examples: tuple[WrongElement, ...] = ()
    """The first wrong elements, and the worst."""
    error_map: ErrorMap | None = None


class LeftOutBy(StrEnum):
    """Why a round decides nothing."""

    NO_ANSWER = "no_answer"
    """The reference has no right output for its inputs."""
    INACCURATE = "inaccurate"
    """The reference itself is not accurate on them."""
    ROUNDING = "rounding"
    """Rounding decides on the reference's output."""
    OVERFLOW = "overflow"
    """The submission's arithmetic overflows on them, as honest arithmetic may."""


class RoundEvidence(Record):
    """One correctness round."""

    index: int
    """From 0. Readers see `number`."""
    seed: int
    """Seed of the inputs, taken from the operating system after the submission was loaded."""
    distribution: str = "own"
    """Distribution of its inputs (evaluator.results.distributions)."""
    passed: bool
    """Whether it was not wrong."""
    left_out: LeftOutBy | None = None
    """Why it decides nothing; None if it decides."""
    category: Category | None = None
    message: str = ""
    outputs: tuple[ErrorFigures, ...] = ()
    cause: str = ""
    """What a wrong output equals, as in `GELU's tanh approximation`; empty if unknown."""
    seconds: float | None = None
    """Duration, with the drawing of its inputs."""

    @property
    def number(self) -> int:
        """From 1: the number in messages, tables and pages."""
        return self.index + 1

    @property
    def is_left_out(self) -> bool:
        """Whether it decides nothing. Older records have only the message."""
        return self.passed and bool(self.message)

    @property
    def is_own_left_out(self) -> bool:
        """Whether it is left out although its inputs are the problem's own: rounding decides on the output."""
        return self.distribution == "own" and self.is_left_out


class ParametersEvidence(Record):
    """Source of the submission's parameters and buffers. Both sides initialise theirs from one seed."""

    source: Literal["copied", "drawn"]
    """`copied`: the reference's were copied by name and shape, except `kept`. `drawn`: it kept its own initial values."""
    kept: tuple[str, ...] = ()
    """Its tensors whose initial values equal those of a reference tensor with another name."""
    converted: tuple[str, ...] = ()
    """Its tensors with the reference's values in another dtype, as in `weight (64, 32): float8_e4m3fn to bfloat16`."""
    unmatched: tuple[str, ...] = ()
    """Its parameters, as in `weight (64, 32)`, that match no reference parameter by name or values."""
    missing: tuple[str, ...] = ()
    """The reference's parameters that match none of its own by name or values."""


class ChangedInputsEvidence(Record):
    """One output on inputs of another distribution than the problem's own. It does not affect the verdict."""

    distribution: str
    """One of evaluator.results.distributions."""
    right: bool | None
    """None if the reference has no right output for it, or the machine failed."""
    category: Category | None = None
    """The category of the wrong output, or of the worker's end; None if it was right."""
    message: str = ""
    max_error: float | None = None
    """Error of a wrong output, as in ErrorFigures; None without one."""


class AblationEvidence(Record):
    """One more output, from another worker that skipped the submission's own kernels."""

    still_right: bool
    category: Category | None = None
    """The category of the wrong output, or of the worker's end; None if it was still right."""
    message: str = ""


OWN_TIME_SHARE = 0.1
"""Minimum share of a call's time. Own kernels below both minimums do not do the problem's work."""
OWN_WRITTEN_SHARE = 0.1
"""Minimum share of the output's bytes."""


class OwnWorkEvidence(Record):
    """Contribution of the submission's own kernels to calls in another worker, which skips nothing: a claim of the worker's process.
    If it follows from the time of the calls alone (`is_bound`), there is no such worker."""

    time_share: float
    """Largest share of a watched call's time; on a GPU, of its device time."""
    written_bytes: int
    """Maximum per call, in memory that they changed or returned. Counting stops soon after `OWN_WRITTEN_SHARE` of the output."""
    answer_bytes: int
    is_bound: bool = False
    """Whether the bytes were not counted: in the call's time outside library kernels, the device can write no more."""

    @property
    def is_too_little(self) -> bool:
        """Whether code other than own kernels does the problem's work."""
        return self.time_share < OWN_TIME_SHARE and self.written_bytes < OWN_WRITTEN_SHARE * self.answer_bytes

    @property
    def words(self) -> str:
        """As in `0.31 % of a call's time, 4 bytes written for an output of 65536`; `at least` if so many are enough, `at most` if
        they are a bound."""
        about = "at most " if self.is_bound else "" if self.written_bytes < OWN_WRITTEN_SHARE * self.answer_bytes else "at least "
        written = f"{about}{self.written_bytes} bytes written for an output of {self.answer_bytes}"
        return f"{percent(self.time_share)} of a call's time, {written}"


class ShapeEvidence(Record):
    """One output in other shapes than the case's (evaluator.judge.integrity.other_inputs)."""

    case: str
    """Its name: one that the problem declares, or the change to the case's sizes."""
    constants: dict[str, Any] = Field(default_factory=dict)
    """The problem's numbers in this case."""
    declared: bool
    inputs: tuple[str, ...] = ()
    """Type and shape of each tensor argument."""
    right: bool | None
    """None if the reference or the machine failed in it."""
    category: Category | None = None
    """The category of the wrong output, or of the worker's end; None if it was right."""
    message: str = ""
