"""Long work on a real terminal: what a person sees meanwhile, and what stays."""

import json
import re
import sys
from pathlib import Path

import pytest

from db.exchange import export_json
from db.store import Store
from evaluator.results.category import Category
from tests.command_line import Bench, submission
from tests.db.samples import result
from tests.terminal import CTRL_C, Terminal, python

pytestmark = pytest.mark.slow(65)

NAMES = ("right", "wrong", "slow", "later", "last")
MANY = 1500


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    for name in NAMES:
        made.write(f"double/{name}.py", submission("x + 1" if name == "wrong" else "x + x", before=f"time.sleep(0.02)  # {name}"))
    made.write("double/unread.py", "class ModelNew(:\n")
    return made


def judging(bench: Bench, columns: int, *words: str, stdout: int | None = None) -> Terminal:
    command = bench.command("double", "--jobs", "1", *words)
    return Terminal(command, columns, bench.root, {}, stdout=stdout)


def test_judging_shows_a_bar_with_rows_above_and_ends_with_a_table(bench: Bench) -> None:
    with judging(bench, 40) as terminal:
        assert terminal.end() == 0, terminal.text
    seen, left = "\n".join(terminal.frames), "\n".join(terminal.screen)
    assert re.search(r"━ \d/6 · 0:\d\d", seen) and "rejected 1" in seen and re.search(r"\.py: \w+", seen)
    assert re.search(r"━.* \d+ (s|min) left", seen), "it knows the time left in the end"
    assert "━" not in left and terminal.cursor
    words = " ".join(left.split())
    assert re.search(r"#\d incorrect/wrong_values double/wrong\.py: round 1: 25\d of 256 elements", words)
    table = left[left.index("\nsubmission  ") : left.index("\n6 evaluated")].splitlines()[1:]
    assert max(map(len, table)) <= 40 and all(any(f"double/{name}.py" in line for line in table) for name in NAMES)
    assert words.count("Look at the first wrong index") == 1
    assert max(len(line) for line in terminal.screen if "assay list" not in line and "stored in" not in line) <= 40
    assert f"assay list --run 1 --db sqlite:///{bench.database} --limit 6" in left
    assert "6 evaluated: 4 correct" in left


def test_ctrl_c_ends_a_run_with_the_cursor_back_and_what_came_on_the_screen(bench: Bench) -> None:
    for number in range(20):  # so that some are left however late the first row is seen
        bench.write(f"double/more_{number}.py", submission("x + x", before=f"time.sleep(0.02)  # {number}"))
    with judging(bench, 80) as terminal:
        terminal.read(lambda: re.search(r"correct/.*\.py: (rounds|timing)", terminal.text, re.DOTALL) is not None)
        terminal.press(CTRL_C)
        assert terminal.end() == 130, terminal.text
    left = "\n".join(terminal.screen)
    assert terminal.cursor and "━" not in left and "Traceback" not in left
    evaluated = re.search(r"(\d+) evaluated: ", left)
    assert evaluated and int(evaluated[1]) < 26, "the rest is left to the next run"


def test_json_on_standard_output_stays_clean_while_the_bar_is_on_standard_error(bench: Bench) -> None:
    with (bench.root / "out.jsonl").open("wb") as out, judging(bench, 80, "--json", "-", stdout=out.fileno()) as terminal:
        assert terminal.end() == 0, terminal.text
    assert re.search(r"━ \d/6", "\n".join(terminal.frames)) and "6 evaluated" in terminal.text
    records = [json.loads(line) for line in (bench.root / "out.jsonl").read_text().splitlines()]
    assert len(records) == 6


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of many evaluations, each 20 times."""
    folder = tmp_path_factory.mktemp("exported")
    with Store.open(f"sqlite:///{folder / 'assay.db'}") as store:
        from db.storage.record import Entry

        made = [result(Category.TIMEOUT, submission=f"{number}.py", source=str(number)) for number in range(MANY)]
        store.save_all([Entry(each, str(number)) for number, each in enumerate(made)])
        with (folder / "all.jsonl").open("wb") as file:
            assert export_json(store, file) == MANY
    path = folder / "all.jsonl"
    path.write_text(path.read_text() * 20)
    return path


def importing(exported: Path, folder: Path, columns: int) -> Terminal:
    words = [sys.executable, "-m", "assay", "import", "--db", f"sqlite:///{folder / 'new.db'}", str(exported)]
    return Terminal(words, columns, folder)


def test_importing_a_large_file_shows_a_bar(exported: Path, tmp_path: Path) -> None:
    with importing(exported, tmp_path, 40) as terminal:
        assert terminal.end() == 0, terminal.text
    seen = "\n".join(terminal.frames)
    assert re.search(rf"━ \d+/{20 * MANY} · 0:\d\d", seen), seen
    assert [line for line in terminal.screen if line] == [f"{20 * MANY} evaluations read, {MANY} added; the others were already stored"]


def test_an_interrupted_import_says_so_and_leaves_the_terminal_clean(exported: Path, tmp_path: Path) -> None:
    with importing(exported, tmp_path, 80) as terminal:
        terminal.read(lambda: "━" in terminal.text)
        terminal.press(CTRL_C)
        assert terminal.end() == 130, terminal.text
    assert terminal.cursor and "Traceback" not in terminal.text, terminal.text
    assert [line.replace("^C", "") for line in terminal.screen if line][-1] == "interrupted; stored results are kept"


def test_checking_problems_shows_a_bar_with_each_problem_above(tmp_path: Path) -> None:
    names = ("softmax", "topk", "gelu_tanh", "argmax", "cumsum", "mish", "rope", "swiglu")
    slow = "found = check.check_case; check.check_case = lambda *given: (time.sleep(0.3), found(*given))[1]"  # the bar comes after a second
    program = f"import sys, time; from evaluator.judge.problem_check import check; from reference.__main__ import main; {slow}"
    words = python(f"{program}; sys.exit(main({['check', *names]!r}))")
    with Terminal(words, 40, tmp_path, {"ASSAY_CACHE": str(tmp_path / "cache")}) as terminal:
        assert terminal.end() == 0, terminal.text
    seen = "\n".join(terminal.frames)
    assert re.search(r"━ \d/8 · 0:\d\d", seen) and re.search(r"admitted \d", seen), seen
    left = "\n".join(terminal.screen)
    assert re.search(r"^\d/8 admitted \w+, case small, \d+\.\d s$", left, re.MULTILINE) and "━" not in left and terminal.cursor
    assert "8 checked, 0 refused" in left


def test_calibrating_shows_a_bar(tmp_path: Path) -> None:
    words = ["--device", "cpu", "--db", f"sqlite:///{tmp_path / 'new.db'}"]
    slow = "measure = peaks.measure; peaks.measure = lambda *given: (time.sleep(0.5), measure(*given))[1]"  # the bar comes after a second
    small = "peaks.LEAST_COPY_BYTES, peaks.HOST_PRODUCT_SIZE, peaks.cache_bytes = 1 << 20, 128, lambda _: 0"
    program = f"import sys, time; from command import calibrate; from evaluator.judge.roofline import peaks; {small}; {slow}"
    with Terminal(python(f"{program}; sys.exit(calibrate.main({words!r}))"), 40, tmp_path) as terminal:
        assert terminal.end() == 0, terminal.text
    assert re.search(r"━ \d+/\d+ · 0:\d\d", "\n".join(terminal.frames)), terminal.text
    left = "\n".join(terminal.screen)
    assert "━" not in left and "ceiling" in left and terminal.cursor
