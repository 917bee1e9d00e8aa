"""Rules for right answers that are not ranked: the problem accepts trivial answers, no own kernel did the work, the arithmetic is
narrower than the reference's, or no times were requested."""

from collections.abc import Iterable

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.diagnosis.words import plain_name
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS
from evaluator.results.evidence import ErrorFigures, Evidence, RoundEvidence
from evaluator.worker.origin import is_vendors

NARROW_ERROR = 1e-4
"""RMS error above which arithmetic is narrower than float32. Products of 10 bits of mantissa (TF32, float16) err by 3e-4 and more where
signs are random; float32 errs by 1e-5 there, even over a million terms one after another."""
NARROW_LIMIT = 5e-4
"""Outputs with a larger tolerance are in half precision themselves."""
NARROW_SHARE = 0.1
"""Minimum share of elements that narrow arithmetic puts beyond the tolerance. A formula that fails at a few elements is another case."""


@rule(order=155, gives=[Category.DEGENERATE_PROBLEM])
def degenerate_problem(evidence: Evidence) -> Verdict | None:
    left_out = next((each for each in evidence.rounds if each.is_own_left_out), None)
    if left_out is not None:
        said = left_out.message.removeprefix("left out: ")
        return Verdict(Category.DEGENERATE_PROBLEM, f"no answer can be called wrong: {said}")
    if not evidence.trivial:
        return None
    return Verdict(Category.DEGENERATE_PROBLEM, f"right, but this problem also accepts: {', '.join(evidence.trivial)}")


@rule(order=160, gives=[Category.NO_CUSTOM_KERNEL])
def no_own_kernel(evidence: Evidence) -> Verdict | None:
    """No kernel of the submission ran, the answer is right without its kernels, or they do too little of the work."""
    on_device = evidence.device_kind == "cuda" or (evidence.timing is not None and evidence.timing.clock == "cuda_event")
    ran = [launch.kernel for launch in evidence.launches if launch.own and launch.code == 0]
    if on_device and not ran:
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but none of the submission's own kernels ran on the device")
    if on_device and all(is_vendors(kernel) for kernel in ran):
        return Verdict(Category.NO_CUSTOM_KERNEL, f"right, but it launched only library kernels: {plain_name(ran[0])}")
    if not on_device and not any(build.ok for build in evidence.builds) and not any(launch.own for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but the submission built no extension")
    if evidence.ablation is not None and evidence.ablation.still_right:
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, and still right with its own kernels left out")
    if evidence.own_work is not None and evidence.own_work.is_too_little:
        return Verdict(Category.NO_CUSTOM_KERNEL, f"right, but its own kernels do too little: {evidence.own_work.words}")
    return None


@rule(order=190, gives=[Category.REDUCED_PRECISION])
def reduced_precision(evidence: Evidence) -> Verdict | None:
    """Among positive numbers errors cancel, with random signs they do not. Inputs of which a few values were changed are like the problem's
    own, but only gross errors are wrong there."""
    found = narrow_round(evidence.rounds)
    if found is None:
        return None
    error = next(filter(is_narrow, found.outputs)).rms_error
    errors = f"{DISTRIBUTIONS[found.distribution].telling} the RMS error is {error:.2g}, where float32 gives 1e-5"
    return Verdict(Category.REDUCED_PRECISION, f"right, but its arithmetic is narrower than the reference's: {errors}")


@rule(order=195, gives=[Category.UNTIMED])
def untimed(evidence: Evidence) -> Verdict | None:
    but = f", but the workloads {', '.join(evidence.unsolved)} are unsolved" if evidence.unsolved else ""
    return Verdict(Category.UNTIMED, f"right{but}; no times were requested") if evidence.untimed else None


def narrow_round(rounds: Iterable[RoundEvidence]) -> RoundEvidence | None:
    """The first round with arithmetic that is narrower than the reference's; None if there is none."""
    telling = {name for name, distribution in DISTRIBUTIONS.items() if distribution.telling}
    return next((each for each in rounds if each.distribution in telling and any(map(is_narrow, each.outputs))), None)


def is_narrow(figures: ErrorFigures) -> bool:
    """Whether errors all over the output are not gross, yet larger than float32's and the reference's own."""
    return (
        figures.gross_error is not None
        and figures.beyond >= NARROW_SHARE * figures.elements
        and figures.rms_error >= max(NARROW_ERROR, figures.reference_error or 0.0)
        and figures.tolerance <= NARROW_LIMIT
        and not figures.nonfinite_mismatch
    )
