"""The pictures of an error, a roofline, times and workloads."""

import io
from pathlib import Path
from typing import Any

import pytest

from db.output.plot_error import LEVELS, levels, plot_error
from db.output.plot_roofline import Roofline, roofline, roofline_figure
from db.output.plot_times import clock_trace, plot_times, sides, times_figure
from db.output.plot_workloads import workloads_figure
from db.output.show_timing import workloads_section
from db.store import Store, StoreError
from evaluator.results.category import Category
from evaluator.results.evidence import DeviceState, ErrorMap, Evidence, KernelProfile, LightEvidence, ProfiledSide, ProfileEvidence
from tests.db.samples import SOURCE, full_evidence, in_workloads, result, timing
from tests.db.test_main import output, run

pytestmark = pytest.mark.slow(15)


def test_levels_of_a_picture() -> None:
    assert levels(ErrorMap(rows=(".1", "9#"), rows_per_cell=1, columns_per_cell=1)) == [[0, 1], [9, LEVELS]]


def test_show_draws_what_was_stored(store: Store, url: str, tmp_path: Path) -> None:
    evidence = full_evidence()
    wrong = evidence.rounds[0].model_copy(update={"passed": False, "category": Category.WRONG_VALUES})
    failed = result(Category.WRONG_VALUES, evidence=evidence.model_copy(update={"rounds": (wrong,)}))
    number = store.save(failed, SOURCE)
    picture = tmp_path / "error.png"
    told = output("--db", url, "show", str(number), "--plot-error", str(picture))
    assert str(picture) in told
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and picture.stat().st_size > 5000
    refused = run("--db", url, "show", str(number), "--plot-error", str(tmp_path / "no" / "error.png"))
    assert refused.returncode == 2 and "can't be written" in refused.stderr


def test_what_has_no_times_and_no_wrong_values_is_not_drawn(tmp_path: Path) -> None:
    for plot, told in ((plot_times, "no times to plot"), (plot_error, "no wrong values to plot")):
        with pytest.raises(StoreError, match=told):
            plot(result(evidence=Evidence()), tmp_path / "picture.png")
    assert list(tmp_path.glob("*.png")) == []


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


def test_where_too_little_was_measured_there_is_none() -> None:
    lacking: list[dict[str, Any]] = [{name: None} for name in ("duration_ms", "read_bytes", "instructions", "issue_share")]
    lacking += [{"read_bytes": 0, "written_bytes": 0}, {"issue_share": 0.0}, {"duration_ms": 0.0}]
    for kernels in ((), *((kernel(**changes),) for changes in lacking)):
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


STATES = tuple(
    DeviceState(stage=stage, sm_clock_mhz=clock, memory_clock_mhz=3201.0, throttled=throttled, at_s=at_s)
    for stage, clock, throttled, at_s in [
        ("before timing", 1980.0, "", 0.0),
        ("after timing", 1400.0, "sw_power_cap", 0.9),
        ("before second timing", 1980.0, "", 0.0),
        ("second timing", 1900.0, "sw_power_cap", 0.1),
        ("second timing", None, None, 0.2),
        ("after second timing", 1700.0, "", 0.3),
    ]
)


@pytest.mark.parametrize(("name", "beginning"), [("times.png", b"\x89PNG\r\n\x1a\n"), ("times.svg", b"<?xml")])
def test_show_draws_the_times(store: Store, url: str, tmp_path: Path, name: str, beginning: bytes) -> None:
    number = store.save(result(evidence=full_evidence().model_copy(update={"device_states": STATES})), SOURCE)
    picture = tmp_path / name
    assert output("--db", url, "show", str(number), "--plot", str(picture)) == f"12 samples drawn in {picture}\n"
    assert picture.read_bytes().startswith(beginning) and picture.stat().st_size > 5000
    refused = run("--db", url, "show", str(number), "--plot", str(tmp_path / "times.pdf"))
    assert refused.returncode == 2 and ".png or .svg" in refused.stderr


def test_every_side_is_drawn_and_what_is_far_off_is_marked() -> None:
    evaluated = result(evidence=full_evidence().model_copy(update={"device_states": STATES}))
    timing = evaluated.evidence.timing
    assert timing is not None and [name for name, _ in sides(timing)] == ["submission", "baseline", "baseline compile", "baseline, alone"]
    times, clocks = times_figure(evaluated).get_axes()
    usual, far = (line.get_xydata().tolist() for line in times.get_lines()[4:6])
    assert usual == [[0.1, 1.125], [0.2, 1.25]] and far == [[0.3, 1.375]]
    assert clocks.get_lines()[0].get_xydata().tolist() == [[0.0, 1980.0], [0.1, 1900.0], [0.3, 1700.0]]
    assert clocks.get_lines()[2].get_xydata().tolist() == [[0.1, 1900.0]], "held by a limit"


def test_the_trace_is_of_the_timing_that_counts() -> None:
    assert [state.at_s for state in clock_trace(STATES)] == [0.0, 0.1, 0.3]
    assert [state.at_s for state in clock_trace(STATES[:2])] == [0.0, 0.9]
    assert clock_trace(()) == []


def test_show_lists_the_workloads(store: Store, url: str) -> None:
    number = store.save(in_workloads("ada", small=2.0, large=None), "of ada")
    lines = output("--db", url, "show", str(number)).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("Workloads (2;"))
    assert lines[start + 2].split() == ["small", "4096", "2", "4", "2", "1.8", "to", "2.2"]
    assert lines[start + 3].split() == ["large", "4096", "0.1", "no"]


def test_nothing_is_told_of_one_case() -> None:
    assert list(workloads_section(timing(2.0))) == []


def test_every_workload_is_drawn() -> None:
    found = in_workloads("ada", small=2.0, large=8.0, huge=None).evidence.timing
    assert found is not None
    (axes,) = workloads_figure(found).axes
    assert [text.get_text() for text in axes.texts] == ["small", "large", "huge"]
    assert [container.lines[0].get_ydata()[0] for container in axes.containers] == [2.0, 8.0, 0.1]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
