"""Correctness: rounds, error figures, and answers in other shapes or without own kernels."""

from typing import Any, Literal

from pydantic import Field

from evaluator.results.category import Category
from evaluator.results.evidence.record import Record
from evaluator.results.figures import percent


class ErrorMap(Record):
    """Where an output is wrong: its last dimension is across, in at most 64 × 64 patches (judge.correctness.errors.error_map)."""

    rows: tuple[str, ...]
    """A character a patch: `.` right; `1` to `9` the largest error in half decades above what is allowed; `#` not finite."""
    rows_per_cell: int
    columns_per_cell: int


class WrongElement(Record):
    """One wrong element of an output."""

    index: tuple[int, ...]
    value: float
    expected: float


class ErrorFigures(Record):
    """How far one output is from the oracle in one round."""

    output: str
    """Path of the output in the returned structure, as in `[1]` or `['mean']`; empty for a lone tensor."""
    elements: int
    wrong: int
    """Elements beyond their bound."""
    max_error: float
    """Largest |value - oracle| / (|oracle| + scale), scale being the RMS of the oracle's tensor or row."""
    rms_error: float
    """RMS of value - oracle over the RMS of the oracle."""
    tolerance: float
    """The bound that max_error was held against."""
    reference_error: float
    """max_error of the reference itself, in the submission's dtype."""
    beyond: int = 0
    """Elements beyond the tolerance; fewer are wrong where only gross errors decide."""
    gross_error: float | None = None
    """Largest |value - oracle| / (|oracle - mean| + spread) of the elements beyond the tolerance, mean and spread (RMS around it) being the
    oracle's; None where the tolerance alone decides."""
    first_index: tuple[int, ...] | None = None
    """The first wrong element, in row-major order."""
    first_value: float | None = None
    first_expected: float | None = None
    pattern: str = ""
    """How the wrong elements lie: everything, a tail, one stretch, whole rows or columns, a tile, a stride, isolated, scattered."""
    nonfinite_mismatch: int = 0
    """Elements that are NaN or infinite where the oracle is not the same."""
    likeness: str = ""
    """What the wrong elements are like: zeros, a multiple of the right ones, numbers of a narrower type."""
    examples: tuple[WrongElement, ...] = ()
    """The first wrong elements, and the worst."""
    error_map: ErrorMap | None = None


class RoundEvidence(Record):
    """One correctness round."""

    index: int
    """From 0. People see `number`."""
    seed: int
    """Seed of the inputs, drawn from the operating system after the submission had been loaded."""
    distribution: str = "own"
    """Where its inputs came from (evaluator.judge.correctness.inputs.input_distributions)."""
    passed: bool
    category: Category | None = None
    message: str = ""
    outputs: tuple[ErrorFigures, ...] = ()
    cause: str = ""
    """What a wrong answer equals, as in `GELU's tanh approximation`; empty where that is not known."""

    @property
    def number(self) -> int:
        """From 1: what messages, tables and pages call the round."""
        return self.index + 1


class ParametersEvidence(Record):
    """How the submission came to its parameters and buffers: both sides draw theirs from one seed."""

    source: Literal["copied", "drawn"]
    """`copied`: it was given the reference's by name and shape, but for those in `kept`. `drawn`: it kept what it drew."""
    kept: tuple[str, ...] = ()
    """Its tensors that were drawn equal to one of the reference's of another name."""
    unmatched: tuple[str, ...] = ()
    """Its parameters, as in `weight (64, 32)`, that have neither name nor values of one of the reference's."""
    missing: tuple[str, ...] = ()
    """The reference's, written so, that none of its own has the name or the values of."""


class ChangedInputsEvidence(Record):
    """One answer to inputs of another distribution than the problem's own, which decides nothing."""

    distribution: str
    """One of evaluator.judge.correctness.inputs.input_distributions."""
    right: bool | None
    """None where the reference has no answer to hold it against, or the machine failed."""
    category: Category | None = None
    """The category of the wrong answer, or of the worker's end; None where it was right."""
    message: str = ""
    max_error: float | None = None
    """Of the wrong output, as in ErrorFigures; None where there is none."""


class AblationEvidence(Record):
    """One more answer, of another worker in which the submission's own kernels were left out."""

    still_right: bool
    category: Category | None = None
    """The category of the wrong answer, or of the worker's end; None where it was still right."""
    message: str = ""


OWN_TIME_SHARE = 0.1
"""Own kernels that take less of a call's time, and"""
OWN_WRITTEN_SHARE = 0.01
"""that write less than this share of the answer's bytes, do not do the problem's work."""


class OwnWorkEvidence(Record):
    """What the submission's own kernels contributed to calls in another worker, which left nothing out: a claim of the worker's process."""

    time_share: float
    """Of a call's time: of the device's on a GPU. The largest of all calls that were watched."""
    written_bytes: int
    """In memory that they changed or returned, the most of any call. Counting ends soon after `OWN_WRITTEN_SHARE` of the answer."""
    answer_bytes: int

    @property
    def is_too_little(self) -> bool:
        """Whether the problem's work is done by others."""
        return self.time_share < OWN_TIME_SHARE and self.written_bytes < OWN_WRITTEN_SHARE * self.answer_bytes

    @property
    def words(self) -> str:
        """As in `0.31 % of a call's time, 4 bytes written for an answer of 65536`; at least so many bytes where they were enough."""
        at_least = "" if self.written_bytes < OWN_WRITTEN_SHARE * self.answer_bytes else "at least "
        written = f"{at_least}{self.written_bytes} bytes written for an answer of {self.answer_bytes}"
        return f"{percent(self.time_share)} of a call's time, {written}"


class ShapeEvidence(Record):
    """One answer in another set of shapes than the case's (evaluator.judge.integrity.other_shapes)."""

    case: str
    """Its name: one that the problem declares, or what was done to the case's sizes."""
    constants: dict[str, Any] = Field(default_factory=dict)
    """The problem's numbers in it."""
    declared: bool
    inputs: tuple[str, ...] = ()
    """Type and shape of each tensor among the arguments."""
    right: bool | None
    """None where the reference itself, or the machine, failed in it."""
    category: Category | None = None
    """The category of the wrong answer, or of the worker's end; None where it was right."""
    message: str = ""
