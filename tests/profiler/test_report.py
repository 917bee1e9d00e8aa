"""ncu's output, in the form that its documentation gives and in forms that a submission may write."""

from pathlib import Path

import pytest

from evaluator.profiler import tool
from evaluator.profiler.report import MAX_COLUMNS, MAX_NAME_CHARS, MAX_ROWS, Report, read

LOGS = Path(__file__).parent / "logs"
TWO = (LOGS / "two_kernels.txt").read_text(encoding="utf-8")


def table(*rows: str, metric: str = tool.DURATION, unit: str = "ns") -> str:
    """A log with one metric, and these rows of kernel and value."""
    return "\n".join([f'"ID","Kernel Name","Block Size","Grid Size","{metric}"', f'"","","","","{unit}"', *rows]) + "\n"


def value_of(text: str, unit: str = "ns") -> float | None:
    (row,) = read(table(f'"0","k","(1, 1, 1)","(1, 1, 1)","{text}"', unit=unit)).rows
    return row.values.get(tool.DURATION)


def test_all_rows_and_messages_of_a_whole_log_are_read() -> None:
    report = read(TWO)
    first, second = report.rows
    assert (report.passes, report.refused, report.remarks) == (8, False, ())
    assert first.kernel == "void (anonymous namespace)::softmax_kernel<float, (int)4>(const float *, float *, int)"
    assert (first.grid, first.block) == ((4096, 1, 1), (512, 1, 1)) and second.grid == (128, 2, 1)
    assert first.values[tool.DURATION] == pytest.approx(0.209376) and second.values[tool.DURATION] == pytest.approx(0.0032)
    assert first.values[tool.READ] == 402_653_184 and first.values[tool.OCCUPANCY] == pytest.approx(0.2441)
    assert first.values[tool.SHARED[1]] == 4096 and first.values[tool.STALL + "long_scoreboard"] == 6000


def test_a_log_of_an_h200_is_read() -> None:
    report = read((LOGS / "h200.txt").read_text(encoding="utf-8"))
    (row,) = report.rows
    assert (row.kernel, row.grid, row.block, report.passes) == ("softmax_row", (17, 1, 1), (256, 1, 1), 10)
    assert row.values[tool.DURATION] == pytest.approx(0.003968) and row.values[tool.READ] == 87040
    assert all(name in row.values for name in tool.METRICS if name != tool.STALLS)


def test_what_was_not_measured_is_missing() -> None:
    second = read(TWO).rows[1]
    assert tool.L2_HITS not in second.values and tool.WRITTEN not in second.values and tool.READ in second.values


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1,234,567", "byte", 1_234_567),
        ("1.5", "Mbyte", 1_500_000),
        ("2", "Kbyte/block", 2000),
        ("1500", "nsecond", 0.0015),
        ("12.5", "us", 0.0125),
        ("3", "msecond", 3),
        ("71.25", "%", 0.7125),
        ("1.2e+06", "inst", 1_200_000),
        ("168", "register/thread", 168),
        ("7 (3; 4)", "warp", 7),
        ("0", "", 0),
    ],
)
def test_numbers_are_read_in_their_unit(text: str, unit: str, value: float) -> None:
    assert value_of(text, unit) == pytest.approx(value)


@pytest.mark.parametrize("text", ["n/a", "", " ", "nan", "inf", "-5", "1e400", "1e30", "0x10", "1_000", "True", "9" * 60, ".", "e5", ","])
def test_what_is_no_size_of_anything_is_left_out(text: str) -> None:
    assert value_of(text) is None


def test_a_refusal_is_recognised_and_told() -> None:
    report = read((LOGS / "refused.txt").read_text(encoding="utf-8"))
    assert report.refused and not report.rows
    assert report.remarks[0].startswith("ERR_NVGPUCTRPERM - The user does not have permission")


def test_what_was_measured_before_the_end_counts() -> None:
    report = read((LOGS / "ended_by_its_limit.txt").read_text(encoding="utf-8"))
    assert (len(report.rows), report.passes) == (1, 8)
    assert report.remarks == ("The application returned an error code (14).",)


@pytest.mark.parametrize("kept", range(0, len(TWO), 97))
def test_a_log_that_breaks_off_anywhere_is_read_as_far_as_it_goes(kept: int) -> None:
    whole, cut = read(TWO), read(TWO[:kept])
    assert cut.rows == whole.rows[: len(cut.rows)]


def test_names_are_cut_and_hold_no_control_characters() -> None:
    (row,) = read(table(f'"0","<script>\x1b[31m{"k" * 9000}","(1, 1, 1)","(1, 1, 1)","5"')).rows
    assert len(row.kernel) == MAX_NAME_CHARS and row.kernel.isprintable()
    (named,) = read(table('"0","a\x1b]0;""b""\u202e\nc","(1, 1, 1)","(1, 1, 1)","5"')).rows
    assert named.kernel == 'a]0;"b"c'


@pytest.mark.parametrize("size", ["(0, 1, 1)", "(1, 1)", "(-1, 1, 1)", "(99999999999, 1, 1)", "1, 1, 1, 1", "", "(1, 1, 4294967296)"])
def test_a_size_that_no_launch_has_is_unknown(size: str) -> None:
    (row,) = read(table(f'"0","k","{size}","(2, 3, 4)","5"')).rows
    assert (row.block, row.grid) == (None, (2, 3, 4))


def test_rows_and_columns_are_bounded() -> None:
    assert len(read(table(*['"0","k","(1, 1, 1)","(1, 1, 1)","5"'] * 500)).rows) == MAX_ROWS
    wide = ",".join(f'"m__{number}"' for number in range(MAX_COLUMNS))
    units = ",".join('""' for _ in range(MAX_COLUMNS + 2))
    assert read(f'"ID","Kernel Name",{wide}\n{units}\n{units}\n').rows == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0" * 1000,
        '"ID","Kernel Name"',
        '"ID","Kernel Name"\n',
        '"ID","Kernel Name"\n"","",""\n"0","k"\n',
        table('"0","k"'),
        table('"0","k","(1, 1, 1)","(1, 1, 1)","5'),
        table('"' + "x" * 200_000),
        '"ID","Kernel Name","' + "x" * 200_000 + '"\n',
        '==PROF== Profiling "' * 10_000,
    ],
)
def test_anything_else_comes_to_no_rows(text: str) -> None:
    assert read(text).rows == ()


def test_nothing_is_what_an_empty_log_holds() -> None:
    assert read("") == Report()
