"""The progress of long work, on real terminals and in pipes."""

import re
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

from evaluator.results.display.pace import Pace
from tests.command_line import PROJECT
from tests.terminal import CTRL_C, Terminal, python

pytestmark = pytest.mark.slow(20)

WORK = """
import sys, time
from evaluator.results.display.progress import long_work
from evaluator.results.display.screen import Screen
from rich.text import Text
with long_work("Checking", 40, screen=Screen(stderr={stderr}), after_s=0, colours={{"correct": "green"}}) as work:
    for number in range({count}):
        time.sleep({pause})
        work.tallies["correct" if number % 3 else "build_failed"] += 1
        work.tallies["not_evaluated"] += 1
        work.doing = "a_name_that_is_much_longer_than_the_screen_is_wide/because/of/its/folders/kernel.py: rounds"
        work.advance()
        work.note(Text(f"row {{number}}"))
print("the end", file=sys.stderr if {stderr} else sys.stdout)
"""


def work(count: int = 40, pause: float = 0.08, *, stderr: bool = True) -> list[str]:
    return python(WORK.format(count=count, pause=pause, stderr=stderr))


@pytest.mark.parametrize("stderr", [True, False])
@pytest.mark.parametrize("columns", [80, 40])
def test_a_bar_shows_count_time_left_and_tallies_and_goes_away(columns: int, stderr: bool) -> None:
    with Terminal(work(stderr=stderr), columns) as terminal:
        assert terminal.end() == 0
    seen = "\n".join(terminal.frames)
    assert "━" in seen and re.search(r" 3\d/40 · 0:0\d · \d s left", seen), seen
    assert re.search(r"not_evaluated \d+ · correct \d+", seen) and "build_failed" in seen
    assert max(map(cell_len, terminal.frames)) <= columns
    rows = [f"{number + 1}/40 row {number}" for number in range(40)]
    assert [line for line in terminal.screen if line] == [*rows, "the end"], "rows stay above, and nothing is left of the bar"
    assert terminal.cursor


def test_without_colours_it_is_the_same_bar() -> None:
    with Terminal(work(8), 80, more={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
    assert "━" in terminal.text and not re.search(r"\x1b\[[\d;]*3\dm", terminal.text)


@pytest.mark.parametrize("columns", [80, 40])
def test_ctrl_c_leaves_the_terminal_clean(columns: int) -> None:
    with Terminal(work(1000), columns) as terminal:
        terminal.read(lambda: "row 5" in terminal.text)
        assert not terminal.cursor
        terminal.press(CTRL_C)
        assert terminal.end() != 0
    assert terminal.cursor and not any("━" in line for line in terminal.screen)


def test_a_dumb_terminal_gets_no_bar() -> None:
    with Terminal(work(4), 80, more={"TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
    assert [line for line in terminal.screen if line][-1] == "the end" and "━" not in terminal.text and "\x1b" not in terminal.text


def test_no_bar_is_drawn_where_standard_output_comes_to_the_same_terminal() -> None:
    program = WORK.replace("after_s=0", "after_s=0, beside_output=True").format(count=4, pause=0.1, stderr=True)
    with Terminal(python(program), 80) as terminal:
        assert terminal.end() == 0
    assert "━" not in terminal.text


def test_short_work_shows_nothing(tmp_path: Path) -> None:
    program = WORK.replace(", after_s=0", "").format(count=3, pause=0.01, stderr=True)
    with Terminal(python(program), 80) as terminal:
        assert terminal.end() == 0
    assert "━" not in terminal.text and "25l" not in terminal.text


def test_a_pipe_gets_lines_with_the_same_figures() -> None:
    slow = "from evaluator.results.display import progress\nprogress.PIPED_EVERY_S = 0.5\n" + WORK.format(count=30, pause=0.1, stderr=True)
    done = subprocess.run(python(slow), cwd=PROJECT, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert done.stdout == "" and lines[-1] == "the end" and "\x1b" not in done.stderr
    told = r"Checking, \d+ s: \d+ of 40 done(, about \d+ s left)?; not_evaluated \d+ · .*correct \d+.*; a_name.*: rounds"
    assert any(re.fullmatch(told, line) for line in lines), lines
    assert all(f"s: {number + 1} of 40 done; row {number}" in done.stderr for number in range(30)), "each note is a line"
    assert any(re.match(r"Checking, \d+ s: \d+ of 40 done, about \d+ s left; ", line) for line in lines), lines


# The estimate


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def paced(durations_s: list[float]) -> tuple[Pace, Clock]:
    clock = Clock()
    pace = Pace(clock)
    for duration_s in durations_s:
        clock.now_s += duration_s
        pace.done()
    return pace, clock


def test_nothing_is_said_before_there_is_enough_to_say() -> None:
    assert paced([10.0, 10.0])[0].left_s(100) is None
    assert paced([0.1] * 5)[0].left_s(100) is None, "half a second says little"
    assert paced([10.0] * 3)[0].left_s(100) == pytest.approx(1000)


def test_items_side_by_side_are_awaited_before_their_pace_is_told() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.now_s = 500.0  # what comes before the first item does not count
    for _ in range(8):
        pace.begun()
    clock.now_s += 60.0
    for _ in range(7):
        pace.done()
    assert pace.left_s(80) is None
    pace.done()
    assert pace.left_s(80) == pytest.approx(600, rel=0.1)


def test_the_last_items_weigh_most_and_a_halt_is_noticed() -> None:
    pace, clock = paced([1.0] * 100 + [10.0] * 100)
    assert 8.0 < (pace.left_s(1) or 0) < 10.0
    before = pace.left_s(50) or 0
    clock.now_s += 5.0
    assert pace.left_s(50) == pytest.approx(before - 5.0), "it counts down"
    clock.now_s += 2000.0
    assert (pace.left_s(50) or 0) > 2 * before
    assert (pace.left_s(1), pace.left_s(0)) == (None, 0.0), "one that is late says nothing of its end"


def test_what_takes_no_time_is_not_taken_for_fast_work() -> None:
    pace, _ = paced([10.0] * 4)
    pace.drew(due=4, free=0)
    assert pace.left_s(0, unknown=10) == pytest.approx(100)
    pace.drew(due=0, free=600)
    assert (pace.left_s(3, unknown=10) or 0) == pytest.approx(30, abs=2), "what comes next will be known already too"
    pace.drew(due=64, free=0)
    assert 70 < (pace.left_s(0, unknown=10) or 0) <= 100
