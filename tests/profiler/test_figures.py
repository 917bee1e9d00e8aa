"""From rows to figures, by values that were computed by hand."""

from pathlib import Path

import pytest

from evaluator.profiler import tool
from evaluator.profiler.figures import figures
from evaluator.profiler.report import Row, read

ROWS = read((Path(__file__).parent / "logs/two_kernels.txt").read_text(encoding="utf-8")).rows


def row(**values: float) -> Row:
    return Row("k", None, None, values)


def test_a_kernel_has_all_figures() -> None:
    found = figures(ROWS[0], {"softmax_kernel"})
    assert found.own and (found.grid, found.block) == ((4096, 1, 1), (512, 1, 1))
    assert found.duration_ms == pytest.approx(0.209376)
    assert (found.memory_share, found.arithmetic_share) == pytest.approx((0.5325, 0.315))
    assert (found.occupancy, found.occupancy_limit) == pytest.approx((0.2441, 0.25))
    assert found.limited_by == ("registers",) and (found.registers, found.shared_bytes) == (168, 5120)
    assert (found.read_bytes, found.written_bytes, found.instructions) == (402_653_184, 131_072_000, 61_210_624)
    assert found.l2_hit_share == pytest.approx(0.6667) and found.issue_share == pytest.approx(0.35)
    # Of 10,000 samples in which a warp waited; the 5,000 in which it issued are none of them.
    assert [(stall.reason, stall.share) for stall in found.stalls] == [("long_scoreboard", 0.6), ("barrier", 0.2), ("wait", 0.1)]


def test_what_fills_a_multiprocessor_is_limited_by_nothing() -> None:
    found = figures(ROWS[1], {"softmax_kernel"})
    assert not found.own and found.limited_by == () and found.registers == 32
    assert found.l2_hit_share is None and found.written_bytes is None


def test_all_of_the_least_limits_are_named() -> None:
    blocks = dict(zip(tool.LIMITS, (2.0, 2.0, 8.0, 32.0), strict=True))
    assert figures(row(**blocks, **{tool.OCCUPANCY_LIMIT: 0.5})).limited_by == ("registers", "shared memory")
    assert figures(row(**{tool.OCCUPANCY_LIMIT: 0.5})).limited_by == ()
    assert figures(row(**blocks)).limited_by == ()


def test_a_share_is_at_most_the_whole() -> None:
    found = figures(row(**{tool.MEMORY: 1.02, tool.PER_CYCLE: 4.1}))
    assert (found.memory_share, found.issue_share) == (1.0, 1.0)


def test_a_row_without_numbers_has_no_figures() -> None:
    found = figures(row())
    assert not found.own and found.duration_ms is None and found.shared_bytes is None and found.stalls == ()


def test_reasons_that_ncu_does_not_name_so_are_left_out() -> None:
    samples = {tool.STALL + name: 5.0 for name in ("<b>", "x" * 80, "wait", "wait_not_issued", "selected")}
    assert [stall.reason for stall in figures(row(**samples)).stalls] == ["wait"]
