"""Parts of the pages: marked words and differences of sources, by processes with a deadline; glossary, problems' texts, tables, cache."""

import csv
import html
import io
import random
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import Markup

from db.store import Store, StoreError
from evaluator.results.category import Category, Status
from tests.command_line import PROJECT
from tests.db.samples import result
from web.answer_cache import ANSWERS, SHARE, Memory
from web.diff import CONTEXT, FEWEST_FOLDED, Differ, Line, Part, Step, parts
from web.glossary import ALIASES, GROUPS, TERMS, anchor, document
from web.highlight import COMMAND, MAX_CHARACTERS, Highlighter, style_sheet
from web.matrix import pace, scale, stretch
from web.pages import boards, problems, runs
from web.problem_text import MAX_CHARACTERS as LONGEST_PROBLEM
from web.problem_text import MAX_DESCRIPTION, ProblemText, read
from web.site import FOLDER
from web.tables import Column, csv_lines, is_descending, ordered_table, table

pytestmark = pytest.mark.slow(4)

HOSTILE = "<script>alert(1)</script> \"'&amp; # </span></code>"


@pytest.fixture(scope="module")
def highlighter() -> Iterator[Highlighter]:
    made = Highlighter(deadline_s=600.0)  # a busy machine takes long to start it
    yield made
    made.close()


def text_of(lines: list[str]) -> str:
    return "\n".join(html.unescape(re.sub("<[^>]*>", "", line)) for line in lines)


ODD = ("", "\n", "a", "a\n\n", "\n\nx", 'x = """__global__ void f() {\n', HOSTILE, f'"""{HOSTILE}\n#include"""', "'" * 3 + "\n")


def test_every_line_is_kept_and_balanced(highlighter: Highlighter) -> None:
    shipped = sorted((PROJECT / "submissions").rglob("*.py"))[::4]
    for code in (*ODD, *(path.read_text(encoding="utf-8") for path in shipped)):
        lines = highlighter.lines(code)
        assert text_of(lines) == code
        assert all(line.count("<span") == line.count("</span>") for line in lines), code
        assert set(re.findall("<[^>]*>", "".join(lines))) <= {"</span>", *re.findall('<span class="[a-z0-9]+">', "".join(lines))}


def test_a_kernel_in_a_string_is_marked_as_cuda(highlighter: Highlighter) -> None:
    lines = highlighter.lines('SOURCE = r"""\n__global__ void f(float* x) { return; }\n"""\nTEXT = """\nreturn of the text\n"""\n')
    assert re.search(r'<span class="k\w*">__global__</span>', lines[1]) and re.search(r'<span class="k\w*">return</span>', lines[1])
    assert re.fullmatch(r'<span class="s\w*">return of the text</span>', lines[4])


def test_what_takes_too_long_is_shown_unmarked_and_the_next_is_marked_again() -> None:
    hangs = "import sys\nfor line in sys.stdin:\n    while 'endless' in line: pass\n    print('[\"<b></b>\"]', flush=True)\n"
    highlighter = Highlighter(deadline_s=0.5, command=(sys.executable, "-I", "-c", hangs))
    assert highlighter.lines("endless <b>") == ["endless &lt;b&gt;"]
    assert highlighter._process is None
    highlighter._deadline_s = 600.0
    assert highlighter.lines("short") == ["<b></b>"]
    highlighter.close()
    for _ in range(2):  # a process that ends is no trouble
        ended = Highlighter(deadline_s=600.0, command=(sys.executable, "-I", "-c", "pass"))
        assert ended.lines("a\n<b>") == ["a", "&lt;b&gt;"] and ended.lines("a") == ["a"]
        ended.close()


def test_long_texts_are_not_marked_and_the_process_imports_nothing_of_where_it_is_started() -> None:
    highlighter, code = Highlighter(), "x = 1\n" * (MAX_CHARACTERS // 6 + 1)
    assert highlighter.lines(code) == code.split("\n")
    assert highlighter._process is None and COMMAND[1] == "-I"


def test_both_styles_colour_the_same_class() -> None:
    light, dark = style_sheet().split("@media (prefers-color-scheme: dark)")
    assert ".source .k" in light and ".source .k" in dark


@pytest.fixture
def differ() -> Iterator[Differ]:
    made = Differ(deadline_s=600.0)
    yield made
    made.close()


def assert_complete(steps: Sequence[Step], left: Sequence[str], right: Sequence[str]) -> None:
    """The steps lead through both texts, and what they call equal is."""
    ends = [(0, 0)]
    for step in steps:
        assert (step.left_start, step.right_start) == ends[-1]
        ends.append((step.left_end, step.right_end))
        equal = left[step.left_start : step.left_end] == right[step.right_start : step.right_end]
        assert equal if step.equal else not equal or step.left_start == step.left_end
    assert ends[-1] == (len(left), len(right))


def test_steps_lead_from_one_text_to_the_other(differ: Differ) -> None:
    draw = random.Random(1)
    texts = [[f"{draw.randrange(9)}\n<b>" for _ in range(draw.randrange(30))] for _ in range(20)]
    for left, right in zip(texts, [*texts[1:], []], strict=True):
        steps, exact = differ.steps(left, right)
        assert exact
        assert_complete(steps, left, right)
    assert differ.steps(["a", "b", "c"], ["a", "x", "c"])[0] == (
        *(Step(True, 0, 1, 0, 1), Step(False, 1, 2, 1, 2), Step(True, 2, 3, 2, 3)),
    )


def test_what_takes_too_long_is_changed_between_its_first_and_last_difference() -> None:
    hangs = (sys.executable, "-I", "-c", "import sys\nfor line in sys.stdin:\n    while True: pass\n")
    differ = Differ(deadline_s=0.2, command=hangs)
    for left, right in ((list("abcde"), list("abxyde")), (list("aaa"), list("aa")), ([], ["a"]), (["a"], ["a"])):
        steps, exact = differ.steps(left, right)
        assert not exact
        assert_complete(steps, left, right)
    assert [step.equal for step in differ.steps(list("abcde"), list("abxyde"))[0]] == [True, False, True]
    assert differ._process is None


def numbered_lines(count: int) -> list[Line]:
    return [Line(number, Markup(str(number))) for number in range(1, count + 1)]


def shown(*steps: Step, left: int, right: int) -> list[Part]:
    return list(parts(steps, numbered_lines(left), numbered_lines(right)))


def test_long_equal_parts_are_folded_but_for_the_lines_beside_a_change() -> None:
    found = shown(Step(True, 0, 20, 0, 20), Step(False, 20, 21, 20, 22), Step(True, 21, 40, 22, 41), left=40, right=41)
    assert [(part.equal, part.folded, len(part.rows)) for part in found] == [
        *((True, True, 20 - CONTEXT), (True, False, CONTEXT), (False, False, 2), (True, False, CONTEXT), (True, True, 19 - CONTEXT))
    ]
    assert found[2].rows[1][0] is None and found[2].rows[1][1] == Line(22, Markup("22"))
    between = shown(Step(False, 0, 1, 0, 1), Step(True, 1, 21, 1, 21), Step(False, 21, 22, 21, 22), left=22, right=22)
    assert [len(part.rows) for part in between] == [1, CONTEXT, 20 - 2 * CONTEXT, CONTEXT, 1]


def test_few_equal_lines_are_not_folded_and_equal_texts_are() -> None:
    few = CONTEXT + FEWEST_FOLDED - 1
    found = shown(Step(True, 0, few, 0, few), Step(False, few, few + 1, few, few), left=few + 1, right=few)
    assert [(part.equal, part.folded) for part in found] == [(True, False), (False, False)]
    (same,) = shown(Step(True, 0, 9, 0, 9), left=9, right=9)
    assert same.folded and len(same.rows) == 9
    assert shown(left=0, right=0) == [] and shown(Step(True, 0, 0, 0, 0), left=0, right=0) == []


USED = re.compile(r"\bterm\(\s*[\"'](.+?)[\"']")
"""A word that a template explains."""


def test_every_word_that_is_explained_is_in_the_glossary() -> None:
    for path in sorted((FOLDER / "templates").glob("*.html")):
        assert set(USED.findall(path.read_text(encoding="utf-8"))) <= set(TERMS), path.name
    assert USED.findall('{{ parts.term("speedup") }}') == ["speedup"]
    columns: tuple[Any, ...] = (*boards.COLUMNS, *problems.COLUMNS, *runs.COLUMNS)
    assert {column.title for column in columns} | {*Status, *Category} <= set(TERMS)


def test_a_term_is_explained_in_one_plain_sentence() -> None:
    own = {term: text for group in GROUPS.values() for term, text in group.items()}
    for word, text in own.items():
        assert text.endswith(".") and text[0].isupper() and ". " not in text, word
        assert all(len(clause.split()) <= 24 for clause in re.split(r"[:;] ", text)), word


def test_the_document_is_generated_from_it() -> None:
    assert (PROJECT / "docs/glossary.md").read_text(encoding="utf-8") == document()


def test_an_anchor_is_one_term_s_own() -> None:
    own = [term for group in GROUPS.values() for term in group] + [category.value for category in Category]
    anchors = [anchor(term) for term in own]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch("[a-z][a-z0-9_-]*", found) for found in anchors)
    assert anchor("95 % interval") == anchor("interval") and set(ALIASES.values()) <= set(own)
    with pytest.raises(KeyError, match="'nothing' is not in the glossary"):
        anchor("nothing")


DECLARED = 'ASSAY = {"description": "Declared", "level": 2, "tags": ["rows"], "cases": {"full": {}}, "floor": {"reads": name}}\n'


def test_every_shipped_problem_has_a_description_and_a_level() -> None:
    for path in sorted((PROJECT / "reference").glob("[a-z]*.py")):
        found = read(path.read_text(encoding="utf-8"))
        assert found.description and found.level is not None and found.tags, path.name
    softmax = read((PROJECT / "reference" / "softmax.py").read_text(encoding="utf-8"))
    assert softmax.description.startswith("Softmax over rows far longer than a block") and "softmax" in softmax.tags


def test_the_first_sentence_of_the_docstring_comes_before_what_is_declared() -> None:
    assert read(f'"""First one. Second one."""\n{DECLARED}') == ProblemText("First one.", 2, ("rows",))
    assert read(DECLARED) == ProblemText("Declared", 2, ("rows",))
    assert (
        read('class Model:\n    """\n    Adds\n    numbers: 1.5 at a time.\n\n    More.\n    """\n').description
        == "Adds numbers: 1.5 at a time."
    )
    assert read(f'"""{"x" * 500}"""').description == "x" * MAX_DESCRIPTION + "…"


UNREADABLE = (
    *(None, "", "def", "\x00", "(" * 100_000, "-" * 50_000 + "1", "#" * (LONGEST_PROBLEM + 1), "ASSAY = 3\nASSAY: int\n"),
    'ASSAY = {"level": open()}',
)


def test_what_can_t_be_read_says_nothing() -> None:
    for source in UNREADABLE:
        assert read(source) == ProblemText()


COLUMNS: list[Column[tuple[str, float | None]]] = [
    Column("name", "the name", lambda row: row[0]),
    Column("value", "the value", lambda row: row[1], numeric=True, best_first=True),
]

ROWS: list[tuple[str, float | None]] = [("b", 1.0), ("a", None), ("d", 3.0), ("c", 2.0)]


def names(sort: str | None, order: str | None) -> str:
    return "".join(row[0] for row in table(COLUMNS, ROWS, sort, order).rows)


def test_rows_are_sorted_both_ways_and_what_has_no_value_comes_last() -> None:
    assert names("name", None) == "abcd" and names("name", "desc") == "dcba"
    assert names("value", None) == "dcba" and names("value", "asc") == "bcda"
    assert names(None, None) == names("nothing", "desc") == "badc", "an unknown column leaves the order"
    for sort, order, told in (
        ("value", None, [("none", "asc"), ("descending", "asc")]),
        ("name", "asc", [("ascending", "desc"), ("none", "desc")]),
    ):
        assert [(heading.sorted, heading.next_order) for heading in table(COLUMNS, ROWS, sort, order).headings] == told


def test_pages() -> None:
    second = table(COLUMNS, ROWS, None, None, number=2, size=3)
    assert (second.rows, second.number, second.pages, second.total) == ((("c", 2.0),), 2, 2, 4)
    assert table(COLUMNS, ROWS, None, None, number=9, size=3).number == 2
    nothing = table(COLUMNS, [], None, None)
    assert (nothing.rows, nothing.number, nothing.pages) == ((), 1, 1)
    assert [row[0] for row in table(COLUMNS, ROWS, "name", None, number=2, size=3).every] == ["a", "b", "c", "d"]


def test_a_column_without_a_value_is_left_out() -> None:
    empty: list[Column[tuple[str, float | None]]] = [
        *COLUMNS,
        Column("blank", "blank", lambda _: ""),
        Column("asked", "asked", lambda _: None, text=lambda _: "untested", sortable=False),
        Column("told", "told", None, text=lambda row: f"of {row[0]}"),
    ]
    assert [heading.key for heading in table(empty, ROWS, None, None).headings] == ["name", "value", "told"]
    assert [heading.key for heading in table(empty, ROWS[1:2], None, None).headings] == ["name", "told"], "of the rows that are shown"
    assert [heading.key for heading in table(empty, ROWS, "blank", None).headings] == ["name", "value", "blank", "told"], "sorted by it"
    assert len(table(empty, [], None, None).headings) == 5, "of no rows all are shown"
    by_asked = table(empty, [("x", 1.0)], "asked", None)
    assert all(heading.sorted == "none" for heading in by_asked.headings)


def test_rows_are_known_before_columns_are_asked() -> None:
    told: dict[str, str] = {}
    late: Column[tuple[str, float | None]] = Column("told", "told", lambda row: told[row[0]], sortable=False)
    columns = [*COLUMNS, late]
    shown = table(columns, ROWS, "name", None, size=2, prepare=lambda rows: told.update({row[0]: "known" for row in rows}))
    assert told == {"a": "known", "b": "known"} and [column.key for column in shown.columns][-1] == "told"


def test_what_comes_sorted_is_not_sorted_again() -> None:
    shown = ordered_table(COLUMNS, ROWS, "value", None, 3, 250)
    assert (shown.rows, shown.number, shown.pages, shown.total) == (tuple(ROWS), 3, 3, 250)
    assert [heading.sorted for heading in shown.headings] == ["none", "descending"]
    assert is_descending(COLUMNS, "value", None) and not is_descending(COLUMNS, "value", "asc") and not is_descending(COLUMNS, "name", None)


def test_the_colour_scale_is_even_around_the_baseline_s_speed() -> None:
    assert [pace(speedup) for speedup in (0.0, 0.2, 0.5, 0.9, 0.96, 1.0, 1.05, 1.06, 1.6, 3.5, 1e9)] == [
        -3,
        -3,
        -2,
        -1,
        0,
        0,
        0,
        1,
        2,
        3,
        3,
    ]
    assert scale() == [(-3, "< 0.33"), (-2, "< 0.67"), (-1, "< 0.95"), (0, "1"), (1, "> 1.05"), (2, "> 1.5"), (3, "> 3")]


def test_a_bar_begins_at_the_baseline_s_speed_and_ends_within_its_scale() -> None:
    assert [stretch(speedup) for speedup in (1.0, 10.0, 1e9)] == [(50, 0), (50, 50), (50, 50)]
    for speedup in (0.1, 0.0):
        assert stretch(speedup) == pytest.approx((0, 50))
    assert stretch(2.0) == pytest.approx((50, 15.05), abs=0.01) and stretch(0.5) == pytest.approx((34.95, 15.05), abs=0.01)


def test_csv_has_a_head_and_no_formulas() -> None:
    @dataclass(frozen=True)
    class Item:
        name: str
        value: float | None
        at: datetime
        parts: tuple[int, ...]

    at = datetime(2026, 5, 1, tzinfo=UTC)
    names = ["=1+1", "+x", "-x", "@x", "\tx", 'a "b", c', "two\nlines", "plain"]
    lines = "".join(csv_lines(Item(name, None if name == "plain" else -1.5, at, (1, 2)) for name in names))
    rows = list(csv.reader(io.StringIO(lines)))
    assert rows[0] == ["name", "value", "at", "parts"]
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", 'a "b", c', "two\nlines", "plain"]
    assert rows[1][1:] == ["-1.5", "2026-05-01T00:00:00+00:00", "1 2"] and rows[-1][1] == ""
    many = list(csv_lines({"a": number} for number in range(1200)))
    assert len(many) == 3 and "".join(many).count("\n") == 1201
    assert "".join(csv_lines([])) == ""


def test_an_answer_is_found_once_until_something_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.answer_cache.SHARE", 1e9)
    memory, found = Memory(store), iter(range(10))
    assert [memory.recall("a", lambda: next(found)) for _ in range(3)] == [0, 0, 0]
    assert memory.recall("b", lambda: next(found)) == 1
    store.save(result(), "")
    assert memory.recall("a", lambda: next(found)) == 2


def test_a_dear_answer_is_kept_for_a_while_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("web.answer_cache.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    memory, found = Memory(store), iter(range(10))

    def find() -> int:
        now_s[0] += 2.0
        return next(found)

    assert memory.recall("a", find) == 0
    store.save(result(), "")
    now_s[0] += 2.0 / SHARE - 0.1
    assert memory.recall("a", find) == 0
    now_s[0] += 0.2
    assert memory.recall("a", find) == 1


def test_whoever_asks_meanwhile_waits_for_the_same_answer(store: Store) -> None:
    memory, calls, answers, go = Memory(store), [], [], threading.Event()

    def find() -> int:
        calls.append(1)
        go.wait()
        return 7

    threads = [threading.Thread(target=lambda: answers.append(memory.recall("a", find))) for _ in range(4)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert answers == [7] * 4 and len(calls) == 1


def test_no_more_are_kept_than_there_is_room_for_and_no_failure(store: Store) -> None:
    def fail() -> str:
        raise StoreError("gone")

    memory = Memory(store)
    with pytest.raises(StoreError):
        memory.recall(0, fail)
    for number in range(ANSWERS + 5):
        memory.recall(number, lambda: "kept")
    assert memory.recall(ANSWERS + 4, lambda: "new") == "kept"
    assert memory.recall(0, lambda: "new") == "new"
