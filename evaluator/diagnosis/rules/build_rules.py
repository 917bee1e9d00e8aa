"""The rule for failed builds."""

from evaluator.build.diagnostics.messages import summary
from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category, Status
from evaluator.results.evidence import BuildEvidence, Evidence, ExceptionEvidence

NOT_TO_BLAME = (Category.NO_TOOLCHAIN, Category.INFRASTRUCTURE_ERROR)
"""Categories of failed builds that are not the submission's fault."""


@rule(order=50, gives=(*(category for category in Category if category.status is Status.BUILD_FAILED), *NOT_TO_BLAME))
def failed_build(evidence: Evidence) -> Verdict | None:
    """A failed build decides, unless the submission caught the error and went on."""
    if evidence.exception is None and evidence.exit is None:
        return None
    build = next((build for build in reversed(evidence.builds) if not build.ok), None)
    if build is None or build.category is None:
        return None
    blames_build = evidence.exception is None or not _is_unrelated(evidence.exception, build)
    return Verdict(build.category, build_message(build)) if blames_build else None


def _is_unrelated(exception: ExceptionEvidence, build: BuildEvidence) -> bool:
    """Whether the exception has another cause than the failed build: for example, the error was caught, and later a name is missing."""
    if build.output and build.output == exception.message:
        return False  # it came from a compiler that runs in the worker
    return exception.type != "RuntimeError" and build.category not in NOT_TO_BLAME and "extension" not in exception.message


def build_message(build: BuildEvidence) -> str:
    """Why a build failed, in one line."""
    if build.diagnostics:
        return summary(build.diagnostics)
    return build.output.strip().splitlines()[-1][:500] if build.output.strip() else f"extension '{build.name}' was not built"
