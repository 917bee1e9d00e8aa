"""The picture of an evaluation's times."""

from pathlib import Path

import pytest

from db.output.plot_times import clock_trace, plot_times, sides, times_figure
from db.store import Store, StoreError
from evaluator.results.evidence import DeviceState, Evidence
from tests.db.samples import full_evidence, result
from tests.db.test_main import output, run

SOURCE = "class ModelNew: ...\n"
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
def test_show_draws_the_times(sqlite_store: Store, sqlite_url: str, tmp_path: Path, name: str, beginning: bytes) -> None:
    pytest.importorskip("matplotlib")
    number = sqlite_store.save(result(evidence=full_evidence().model_copy(update={"device_states": STATES})), SOURCE)
    picture = tmp_path / name
    assert output("--db", sqlite_url, "show", str(number), "--plot", str(picture)) == f"12 samples drawn in {picture}\n"
    assert picture.read_bytes().startswith(beginning) and picture.stat().st_size > 5000
    refused = run("--db", sqlite_url, "show", str(number), "--plot", str(tmp_path / "times.pdf"))
    assert refused.returncode == 2 and ".png or .svg" in refused.stderr


def test_every_side_is_drawn_and_what_is_far_off_is_marked() -> None:
    pytest.importorskip("matplotlib")
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


def test_without_times_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no times to plot"):
        plot_times(result(evidence=Evidence()), tmp_path / "times.png")
    assert not (tmp_path / "times.png").exists()
