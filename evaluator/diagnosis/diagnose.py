"""From evidence to verdict: status, category and message.

Pure functions of the evidence, so that every verdict can be derived again from what is stored. Of what the worker claims, only claims
against itself count here: an exception, a failed build, a wrong shape. Nothing that it says makes a verdict better.
"""

from collections.abc import Callable

from evaluator.diagnosis.rules import build_rules, disqualified_rules, exception_rules, launch_rules, output_rules
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence


def diagnose(evidence: Evidence) -> Verdict:
    """The verdict on an evaluation that ran as far as it could. The first rule that applies wins."""
    for rule in RULES:
        verdict = rule(evidence)
        if verdict is not None:
            return verdict
    return Verdict(Category.OK, "")


def _protocol(evidence: Evidence) -> Verdict | None:
    if evidence.protocol_error:
        return Verdict(Category.FORGED_RESULT, f"an invalid frame on the result channel: {evidence.protocol_error}")
    return None


ATTEMPTS = (Category.SANDBOX_VIOLATION, Category.REFERENCE_ACCESS, Category.FORGED_RESULT)
"""What nothing honest does, whatever it is asked for."""


def _attempt_elsewhere(evidence: Evidence) -> Verdict | None:
    """An attempt in another worker of the submission's than the one that was timed. One whose kernels are left out may send anything."""
    ablation = evidence.ablation
    if ablation is not None and ablation.category in ATTEMPTS and ablation.category is not Category.FORGED_RESULT:
        return Verdict(ablation.category, f"with its own kernels left out: {ablation.message}")
    for shape in evidence.shapes:
        if shape.category in ATTEMPTS:
            return Verdict(shape.category, f"in the shapes {shape.case!r}: {shape.message}")
    return None


def _starved_judge(evidence: Evidence) -> Verdict | None:
    starving = evidence.starving
    if starving is None:
        return None
    held, total = (f"{count / 2**30:.3g} GiB" for count in (starving.held_bytes, starving.total_bytes))
    return Verdict(Category.OUT_OF_MEMORY, f"it held {held} of the device's {total}, which left the judge too little")


def _no_own_kernel(evidence: Evidence) -> Verdict | None:
    on_device = evidence.timing is not None and evidence.timing.clock == "cuda_event"
    if on_device and not any(launch.own and launch.code == 0 for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but no kernel of the submission's own ran on the device")
    if not on_device and not any(build.ok for build in evidence.builds) and not any(launch.own for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but the submission built no extension")
    if evidence.ablation is not None and evidence.ablation.still_right:
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, and still right with its own kernels left out")
    return None


def _degenerate(evidence: Evidence) -> Verdict | None:
    if not evidence.trivial:
        return None
    return Verdict(Category.DEGENERATE_PROBLEM, f"right, but so are trivial answers, as its check has shown: {', '.join(evidence.trivial)}")


def _shape_specific(evidence: Evidence) -> Verdict | None:
    wrong = [shape for shape in evidence.shapes if shape.right is False]
    if not evidence.strict_shapes or not wrong:
        return None
    first = wrong[0]
    what = f"{first.category}: {first.message}" if first.category and first.message else str(first.category)
    inputs = f" ({'; '.join(first.inputs)})" if first.inputs else ""
    return Verdict(Category.SHAPE_SPECIFIC, f"wrong in the shapes {first.case!r}{inputs}: {what}"[:1000])


RULES: tuple[Callable[[Evidence], Verdict | None], ...] = (
    _protocol,
    exception_rules.violation,
    _attempt_elsewhere,
    _starved_judge,
    build_rules.failed_build,
    exception_rules.ended,
    launch_rules.refused_launch,
    exception_rules.exception,
    output_rules.failed_round,
    disqualified_rules.wrong_when_timed,
    disqualified_rules.deferred,
    disqualified_rules.ahead,
    disqualified_rules.background,
    disqualified_rules.unexplained_time,
    disqualified_rules.implausible,
    _no_own_kernel,
    _degenerate,
    _shape_specific,
)
"""In order of precedence."""
