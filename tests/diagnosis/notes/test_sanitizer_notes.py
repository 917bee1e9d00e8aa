"""Notes on compute-sanitizer's findings, which decide no verdict."""

from typing import Any

from evaluator.diagnosis import diagnose
from evaluator.diagnosis.feedback import MAX_CHARS, feedback
from evaluator.diagnosis.notes.sanitizer_notes import MAX_TOLD, told
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, SanitizerEvidence, SanitizerFinding, SanitizerPlace, SanitizerRun
from tests.db.samples import result

ENDED = SanitizerRun(tool="memcheck", outcome="ended", reports=0)


def finding(**changes: Any) -> SanitizerFinding:
    values: dict[str, Any] = {
        "tool": "memcheck",
        "severity": "error",
        "message": "Invalid __global__ write of size 4 bytes",
        "count": 3,
        "kernel": "void shifted<4>(const float *, float *)",
        "own": True,
        "file": "cuda.cu",
        "line": 10,
        "source_line": 21,
        "excerpt": "y[i + 1] = x[i];",
        "detail": "by thread (3,0,0) in block (0,0,0)",
    }
    return SanitizerFinding(**values | changes)


def evidence(*findings: SanitizerFinding, runs: tuple[SanitizerRun, ...] = (ENDED,)) -> SanitizerEvidence:
    return SanitizerEvidence(version="2025.3", case="small", runs=runs, findings=findings)


def test_a_finding_is_one_line_with_kernel_line_and_code() -> None:
    assert told(evidence(finding())) == (
        "memcheck: Invalid __global__ write of size 4 bytes in `shifted`, line 21 [y[i + 1] = x[i];] "
        "(by thread (3,0,0) in block (0,0,0)); 3 such reports",
    )


def test_a_race_names_both_of_its_lines() -> None:
    other = SanitizerPlace(role="Read access", kernel="shifted()", file="cuda.cu", line=12, source_line=23, excerpt="v = tile[t];")
    race = finding(tool="racecheck", severity="warning", message="Write access that races", count=1, others=(other,))
    (line,) = told(evidence(race, runs=()))
    assert line.startswith("racecheck: warning: Write access that races in `shifted`, line 21 [")
    assert "; Read access in `shifted`, line 23 [v = tile[t];]" in line


def test_a_kernel_of_a_library_is_called_that() -> None:
    foreign = finding(kernel="void at::native::fill(float*)", own=False, source_line=None, excerpt="", file="Fill.cu", line=7)
    assert "in `fill` (library kernel), Fill.cu:7" in told(evidence(foreign))[0]


def test_what_found_nothing_and_what_did_not_end_is_told_apart() -> None:
    runs = (
        ENDED,
        SanitizerRun(tool="racecheck", outcome="deadline", remark="stopped after 90 s"),
        SanitizerRun(tool="initcheck", outcome="failed", remark="Device not supported"),
        SanitizerRun(tool="synccheck", outcome="ended", reports=0),
    )
    assert told(evidence(runs=runs)) == (
        "nothing found by memcheck, synccheck",
        "racecheck reached its timeout: stopped after 90 s",
        "initcheck did not finish: Device not supported",
    )


def test_many_findings_are_counted() -> None:
    lines = told(evidence(*(finding(source_line=number) for number in range(1, 20))))
    assert len(lines) == MAX_TOLD + 1 and lines[-1] == f"and {19 - MAX_TOLD} more"


def test_no_verdict_hangs_on_findings() -> None:
    for given in (evidence(), evidence(finding()), evidence(finding(own=False, severity="warning"))):
        assert diagnose(Evidence(sanitizer=given)) == diagnose(Evidence())


def test_feedback_has_them_without_paths_and_within_its_bounds() -> None:
    long = finding(excerpt="x" * 5000, detail="at /root/judge/secret/cuda.cu:3", message="m" * 3000)
    stored = result(Category.WRONG_VALUES, hint="Look.", evidence=Evidence(sanitizer=evidence(finding(), *[long] * 20)))
    made = feedback(stored, "class ModelNew: ...\n")
    (section,) = [section for section in made.sections if section.title.startswith("compute-sanitizer")]
    assert section.title == "compute-sanitizer, on the case small"
    assert "line 21" in section.lines[0] and "/root" not in made.text and len(made.text) <= MAX_CHARS
    titles = [section.title for section in made.sections]
    assert titles.index(section.title) < titles.index("what to do")
