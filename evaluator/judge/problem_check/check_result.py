"""The result of checking a problem, and a hint for each check."""

from dataclasses import dataclass

CHECKS = {
    "file": "Fix the line that is named.",
    "runs": "Fix get_inputs(), get_init_inputs() or Model, so that forward() runs.",
    "output": "Return tensors whose shapes depend only on the inputs' shapes.",
    "inputs": "Use random inputs from torch, numpy or random in get_inputs(), set no seed, and change no input in forward().",
    "finite": "Use inputs for which the output has neither NaN nor infinity.",
    "deterministic": "Make random numbers in get_inputs(), and pass them as an input.",
    "floor": "Declare less in `floor`: only what every right submission needs.",
    "oracle": "Raise `tolerance`, or name the distribution in `without`, with the reason.",
    "compute": "Have the reference round to float8, sum fewer terms, and return float16, which reveals operands in bfloat16.",
    "trivial_answer": "Use inputs for which the output varies by more than the tolerance; `rows_independent` gives each row its own scale.",
}
"""The checks, in order, each with a hint on how to fix a failure."""


@dataclass(frozen=True)
class Finding:
    """One reason to refuse a problem."""

    check: str
    """One of CHECKS."""
    answer: str
    """The trivial answer that passed, such as `zeros`; empty for other checks."""
    message: str


@dataclass(frozen=True)
class ProblemCheck:
    """The result of checking one case of one problem."""

    problem: str
    case: str
    device: str
    findings: tuple[Finding, ...]
    floor_ms: float | None = None
    """The minimum time of a call on the device; None on the CPU."""
    reference_ms: float | None = None
    """The shortest of a few calls of the reference, with inputs in the L2 cache; None on the CPU."""
    inputs: tuple[str, ...] = ()
    """Type and shape of each tensor among the arguments, such as `float32 (37, 771)`."""
    outputs: tuple[str, ...] = ()
    """Type and shape of each tensor of the output."""
    distributions: tuple[str, ...] = ()
    """The distributions of the inputs."""
    passed: tuple[str, ...] = ()
    """The checks that found nothing."""
    notes: tuple[str, ...] = ()
    """Remarks for which the problem is not refused."""
    precision: str | None = None
    """The type to which inputs and parameters were cast; None for the file's own."""

    @property
    def admitted(self) -> bool:
        return not self.findings
