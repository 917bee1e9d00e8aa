"""Rules over right answers that are not ranked: no kernel of their own did the work, or the problem accepts anything."""

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence


@rule(order=160, gives=[Category.NO_CUSTOM_KERNEL])
def no_own_kernel(evidence: Evidence) -> Verdict | None:
    """No kernel of the submission ran, or the answer is right without them."""
    on_device = evidence.timing is not None and evidence.timing.clock == "cuda_event"
    if on_device and not any(launch.own and launch.code == 0 for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but no kernel of the submission's own ran on the device")
    if not on_device and not any(build.ok for build in evidence.builds) and not any(launch.own for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but the submission built no extension")
    if evidence.ablation is not None and evidence.ablation.still_right:
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, and still right with its own kernels left out")
    return None


@rule(order=170, gives=[Category.DEGENERATE_PROBLEM])
def degenerate_problem(evidence: Evidence) -> Verdict | None:
    if not evidence.trivial:
        return None
    return Verdict(Category.DEGENERATE_PROBLEM, f"right, but so are trivial answers, as its check has shown: {', '.join(evidence.trivial)}")
