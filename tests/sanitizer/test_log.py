"""Reading what compute-sanitizer writes, in the forms of its versions, whole and broken."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sanitizer.log import CALLED, MAX_DETAILS, MAX_OTHERS, MAX_REPORTS, MAX_TEXT_CHARS, DevicePlace, Log, ToolReport, read

LOGS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("logs/*.txt"))}
MEMCHECK, OLDER, RACECHECK, HAZARD = (LOGS[name] for name in ("memcheck", "older", "racecheck", "hazard"))
INITCHECK, SYNCCHECK, BROKEN_INSTALLATION = (LOGS[name] for name in ("initcheck", "synccheck", "broken_installation"))


def only(text: str) -> ToolReport:
    (report,) = read(text).reports
    return report


def test_an_access_past_the_end() -> None:
    report = only(MEMCHECK)
    assert (report.severity, report.message) == ("error", "Invalid __global__ write of size 4 bytes")
    assert report.place == DevicePlace("", "shifted(const float *, float *, float, long)", "cuda.cu", 10)
    assert report.details == (
        "by thread (186,0,0) in block (131,0,0)",
        "Access at 0x7f3c7ec20d6c is out of bounds",
        "and is 1 bytes after the nearest allocation at 0x7f3c7ec00000 of size 134,508 bytes",
    )
    assert read(MEMCHECK).total == 2


def test_an_error_of_a_call_to_cuda_is_no_finding_but_a_remark() -> None:
    assert any("cudaErrorLaunchFailure" in remark for remark in read(MEMCHECK).remarks)


def test_the_older_forms_of_a_place() -> None:
    first, second = read(OLDER).reports
    assert first.place == DevicePlace("", "product(Matrix, Matrix, Matrix)", "tile.cu", 120)
    assert second.place == DevicePlace("", "iota(unsigned char*)")


def test_races_name_all_accesses_and_how_grave_they_are() -> None:
    error, warning = read(RACECHECK).reports
    assert (error.severity, warning.severity) == ("error", "warning")
    assert (error.place.line, error.message) == (8, "Write access that races")
    assert error.others == (DevicePlace("Read access", error.place.kernel, "cuda.cu", 9),)
    assert error.details == ("1,052,672 hazards",)
    assert [place.kernel for place in (warning.place, *warning.others)] == ["other<int>(T1 *)"] * 3
    assert read(RACECHECK).total == 2


def test_a_single_hazard_is_at_its_first_access() -> None:
    report = only(HAZARD)
    assert report.severity == "warning" and report.message.startswith("Potential RAW hazard detected")
    assert (report.place.file, report.place.line) == ("warp.cu", 44)
    assert [(place.role, place.line) for place in report.others] == [("Write Thread (35,0,0)", 44), ("Read Thread (32,0,0)", 56)]
    assert read(HAZARD).total is None


def test_a_read_of_what_was_never_written() -> None:
    assert only(INITCHECK).message == "Uninitialized __global__ memory read of size 4 bytes"
    assert only(INITCHECK).place.line == 11


def test_a_barrier_is_told_with_the_line_that_asked_for_it() -> None:
    report = only(SYNCCHECK)
    assert report.message == "Barrier error detected. Divergent thread(s) in block"
    assert report.others == (DevicePlace(CALLED, "halved(int *, int *)", "cuda.cu", 60),)


def test_a_run_that_came_to_nothing_says_why() -> None:
    log = read(BROKEN_INSTALLATION)
    assert log.reports == () and log.total is None
    assert log.remarks[0] == "Error: Target application terminated before first instrumented API call"


def test_a_clean_run() -> None:
    assert read("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == Log((), 0, ())
    assert read("========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n").total == 0


def test_what_is_printed_without_the_prefix_is_passed_over() -> None:
    printed = "Invalid __global__ write of size 4 bytes\n     at mine()+0x10 in cuda.cu:1\n"
    assert read(printed + INITCHECK + printed).reports == read(INITCHECK).reports


@pytest.mark.parametrize("text", LOGS.values(), ids=LOGS)
def test_a_log_that_breaks_off_counts_as_far_as_it_goes(text: str) -> None:
    whole = read(text).reports
    for end in range(len(text)):
        cut = read(text[:end]).reports
        assert len(cut) <= len(whole)
        assert cut[:-1] == whole[: max(len(cut) - 1, 0)]


def test_a_flood_is_bounded() -> None:
    report = "========= Invalid __global__ write of size 4 bytes\n" + "=========     more and more\n" * 50
    log = read(report * (MAX_REPORTS + 10) + "========= remark\n\n" * 1000)
    assert len(log.reports) == MAX_REPORTS and len(log.remarks) <= MAX_DETAILS
    assert max(len(report.details) for report in log.reports) == MAX_DETAILS
    endless = read("========= Invalid " + "x" * 100_000 + "\n")
    assert len(endless.reports[0].message) <= MAX_TEXT_CHARS


def test_control_characters_do_not_get_through() -> None:
    report = only("========= Invalid \x1b[31mwrite\x00\u202e\n=========     at k\x07()+0x1 in \x1b/cuda.cu:3\n")
    told = report.message + report.place.kernel + report.place.file
    assert all(character in string.printable and character >= " " for character in told), told


@given(
    st.lists(st.one_of(st.text(max_size=60), st.sampled_from([line for text in LOGS.values() for line in text.splitlines()])), max_size=40)
)
def test_whatever_is_written_is_read(lines: list[str]) -> None:
    log = read("\n".join(f"========= {line}" if number % 2 else line for number, line in enumerate(lines)))
    for report in log.reports:
        assert report.severity in ("error", "warning", "info")
        assert len(report.message) <= MAX_TEXT_CHARS


def test_one_report_has_only_so_many_places() -> None:
    text = "========= Invalid __global__ write of size 4 bytes\n" + "=========     Device Frame: f(int *)+0x10 in a.cu:3\n" * 5000
    assert len(only(text).others) == MAX_OTHERS
