"""Rooflines by values that were computed by hand, and their pictures."""

import io
from typing import Any

import pytest

from db.output.plot_roofline import Roofline, roofline, roofline_figure
from evaluator.results.evidence import KernelProfile, LightEvidence, ProfiledSide, ProfileEvidence
from tests.db.samples import full_evidence


def kernel(**more: Any) -> KernelProfile:
    values: dict[str, Any] = {"kernel": "k", "own": True, "duration_ms": 0.5, "read_bytes": 300_000_000, "written_bytes": 100_000_000}
    return KernelProfile(**values | {"instructions": 40_000_000, "issue_share": 0.2, "memory_share": 0.25} | more)


def light(operations: float) -> LightEvidence:
    return LightEvidence(
        read_bytes=100_000_000,
        written_bytes=100_000_000,
        moved_bytes=200_000_000,
        operations=operations,
        bytes_per_s=4e12,
        operations_per_s=8e14 if operations else None,
        light_ms=0.05,
        bound="memory",
        declared=True,
    )


def side(*kernels: KernelProfile, **more: Any) -> ProfiledSide:
    return ProfiledSide(outcome="ended", kernels=kernels, **more)


def profile(**more: Any) -> ProfileEvidence:
    values: dict[str, Any] = {"version": "1", "case": "full", "submission": side(kernel()), "light": light(2e11)}
    return ProfileEvidence(**values | more)


def test_of_a_problem_with_operations_both_calls_are_points() -> None:
    found = roofline(profile(reference=side(kernel(duration_ms=1.0), kernel(duration_ms=1.0, read_bytes=500_000_000))))
    assert found is not None and found.work == "operations"
    assert (found.bytes_per_s, found.peak_per_s, found.ridge_per_byte) == (4e12, 8e14, 200)
    submission, reference = found.points
    assert (submission.side, submission.per_byte, submission.per_s) == ("submission", 500, 4e14)  # 2e11 / 4e8 bytes, in 0.5 ms
    assert (reference.side, reference.per_byte, reference.per_s) == ("reference", 200, 1e14)  # 2e11 / 1e9 bytes, in 2 ms
    assert found.needed_per_byte == 1000  # 2e11 / 2e8 bytes
    assert (found.limit_per_s(100), found.limit_per_s(200), found.limit_per_s(1000)) == (4e14, 8e14, 8e14)


@pytest.mark.parametrize("more", [{"light": light(0.0)}, {"submission": side(kernel(), partial=True)}])
def test_without_operations_or_with_a_part_of_the_call_instructions_count(more: dict[str, Any]) -> None:
    found = roofline(profile(**more))
    assert found is not None and found.work == "instructions" and found.needed_per_byte is None
    (point,) = found.points
    assert (point.name, point.per_byte, point.per_s) == ("k", 0.1, 8e10)  # 4e7 / 4e8 bytes, in 0.5 ms
    assert found.peak_per_s == pytest.approx(4e11) and found.bytes_per_s == 4e12


def test_without_the_judges_measure_the_bandwidth_is_the_profilers() -> None:
    found = roofline(profile(light=None))
    assert found is not None and found.bytes_per_s == pytest.approx(3.2e12)  # 4e8 bytes in 0.5 ms, at a quarter of the peak


@pytest.mark.parametrize(
    "kernels",
    [
        (),
        (kernel(duration_ms=None),),
        (kernel(read_bytes=None),),
        (kernel(read_bytes=0, written_bytes=0),),
        (kernel(instructions=None),),
        (kernel(issue_share=None),),
        (kernel(issue_share=0.0),),
        (kernel(duration_ms=0.0),),
    ],
)
def test_where_too_little_was_measured_there_is_none(kernels: tuple[KernelProfile, ...]) -> None:
    assert roofline(profile(submission=side(*kernels), light=light(0.0))) is None
    assert roofline(ProfileEvidence(remark="nothing was profiled")) is None


def drawn(found: Roofline) -> str:
    file = io.StringIO()
    roofline_figure(found).savefig(file, format="svg")
    return file.getvalue()


def test_the_picture_names_both_sides_and_their_share_of_the_limit() -> None:
    import matplotlib as mpl

    found = roofline(profile(reference=side(kernel(duration_ms=1.0))))
    assert found is not None
    with mpl.rc_context({"svg.fonttype": "none"}):
        picture = drawn(found)
    for text in ("submission: 400 TFLOP/s, 50% of the limit", "reference: 200 TFLOP/s, 25% of the limit", "bytes that the problem needs"):
        assert text in picture


def test_the_picture_says_why_the_reference_has_no_point() -> None:
    import matplotlib as mpl

    for reference, why in (
        (side(kernel(), partial=True), "only part of its call was profiled"),
        (side(kernel(read_bytes=None)), "its bytes or times are unknown"),
        (ProfiledSide(outcome="failed"), "its bytes or times are unknown"),
    ):
        found = roofline(profile(reference=reference))
        assert found is not None and found.work == "operations" and [point.side for point in found.points] == ["submission"]
        with mpl.rc_context({"svg.fonttype": "none"}):
            assert f"reference: no point, {why}" in drawn(found)
    found = roofline(profile(light=light(0.0), reference=side(kernel(instructions=None))))
    assert found is not None and found.missing == ("reference: no point, its bytes or times are unknown",)


def test_a_hostile_name_is_cut_and_escaped() -> None:
    import matplotlib as mpl

    name = "<script>alert(1)</script>\x1b[31m$\\frac" + "k" * 300
    found = roofline(profile(submission=side(kernel(kernel=name)), light=light(0.0)))
    assert found is not None
    with mpl.rc_context({"svg.fonttype": "none", "text.parse_math": False}):
        picture = drawn(found)
    assert "<script>" not in picture and "\x1b" not in picture and "k" * 50 not in picture


def test_the_full_sample_has_one() -> None:
    evidence = full_evidence()
    assert evidence.profile is not None
    found = roofline(evidence.profile)
    assert found is not None and {point.side for point in found.points} == {"submission", "reference"}
