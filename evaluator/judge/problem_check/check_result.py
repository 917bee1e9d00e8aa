"""The result of checking a problem, and what each check looks at."""

from dataclasses import dataclass

CHECKS = {
    "file": "Mend the line that is named.",
    "runs": "Mend get_inputs(), get_init_inputs() or Model, so that forward() runs.",
    "output": "Return tensors whose shapes follow from the inputs' shapes alone.",
    "inputs": "Draw in get_inputs() with the generators of torch, numpy or random, set no seed, and change no input in forward().",
    "finite": "Draw inputs for which the answer has neither NaN nor infinity.",
    "deterministic": "Draw in get_inputs(), and pass what was drawn as an input.",
    "floor": "Declare less in `floor`: only what no answer can do without.",
    "oracle": "Raise `tolerance`, or name the distribution in `without`, with the reason.",
    "compute": "Have the reference round to float8, sum up fewer terms, and answer in float16, which shows operands in bfloat16.",
    "trivial_answer": "Draw inputs for which the answer varies by more than errors may; `rows_independent` holds rows to their own scale.",
}
"""What a check looks at, in this order, and what to do where it fails."""


@dataclass(frozen=True)
class Finding:
    """One reason to refuse a problem."""

    check: str
    """One of CHECKS."""
    answer: str
    """The trivial answer that passed, as in `zeros`; empty for other checks."""
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
    """The shortest of a few calls of the reference, inputs warm in L2; None on the CPU."""
    inputs: tuple[str, ...] = ()
    """Type and shape of each tensor among the arguments, as in `float32 (37, 771)`."""
    outputs: tuple[str, ...] = ()
    """The same of the answer."""
    distributions: tuple[str, ...] = ()
    """The distributions that inputs were drawn from."""
    passed: tuple[str, ...] = ()
    """The checks that found nothing."""
    precision: str | None = None
    """The type that inputs and parameters were cast to; None for the file's own."""

    @property
    def admitted(self) -> bool:
        return not self.findings
