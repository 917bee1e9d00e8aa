"""The findings of compute-sanitizer, in words."""

from collections.abc import Iterator

from evaluator.diagnosis.words import plain_name
from evaluator.results.evidence import SanitizerEvidence, SanitizerFinding, SanitizerPlace, SanitizerRun

MAX_TOLD = 6
"""Maximum findings shown. The evidence has all."""


def told(evidence: SanitizerEvidence) -> tuple[str, ...]:
    """A line for each finding, one for the tools that found nothing, and one for each tool that did not finish."""
    lines = [_finding(finding) for finding in evidence.findings[:MAX_TOLD]]
    if len(evidence.findings) > MAX_TOLD:
        lines.append(f"and {len(evidence.findings) - MAX_TOLD} more")
    with_findings = {finding.tool for finding in evidence.findings}
    silent = [run.tool for run in evidence.runs if run.outcome == "ended" and run.tool not in with_findings]
    if silent:
        lines.append(f"nothing found by {', '.join(silent)}")
    return (*lines, *(_unfinished(run) for run in evidence.runs if run.outcome != "ended"))


def _finding(finding: SanitizerFinding) -> str:
    graded = f"{finding.severity}: " if finding.severity != "error" else ""
    where = "".join(_where(finding))
    others = "".join(f"; {other.role}{_at(other)}" for other in finding.others)
    detail = f" ({finding.detail})" if finding.detail else ""
    alike = f"; {finding.count} such reports" if finding.count > 1 else ""
    return f"{finding.tool}: {graded}{finding.message}{where}{others}{detail}{alike}"


def _where(finding: SanitizerFinding) -> Iterator[str]:
    if finding.kernel:
        yield f" in `{plain_name(finding.kernel)}`"
        if not finding.own:
            yield " (library kernel)"
    if finding.source_line is not None:
        yield f", line {finding.source_line}"
    elif finding.line is not None:
        yield f", {finding.file}:{finding.line}"
    if finding.excerpt:
        yield f" [{finding.excerpt}]"


def _at(place: SanitizerPlace) -> str:
    name = f" in `{plain_name(place.kernel)}`" if place.kernel else ""
    line = f", line {place.source_line}" if place.source_line else f", {place.file}:{place.line}" if place.line else ""
    return f"{name}{line}{f' [{place.excerpt}]' if place.excerpt else ''}"


def _unfinished(run: SanitizerRun) -> str:
    what = "reached its timeout" if run.outcome == "deadline" else "did not finish"
    return f"{run.tool} {what}{f': {run.remark}' if run.remark else ''}"
