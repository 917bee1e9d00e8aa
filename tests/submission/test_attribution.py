"""Which problem a submission answers, and whose it is."""

from collections.abc import Collection
from pathlib import Path

import pytest

from evaluator.results.category import Category
from evaluator.submission.attribution import Attribution, Catalogue, Claims

KNOWN = ("softmax", "leaky_relu", "23_Softmax")


def attribute(
    path: str = "/x/y.py",
    *texts: str,
    problems: tuple[str | None, ...] = (),
    authors: tuple[str | None, ...] = (),
    known: Collection[str] = KNOWN,
) -> Attribution:
    return Catalogue(known).attribute(Claims(problems, authors, Path(path), texts))


def test_the_order_of_claims() -> None:
    path, header = "/softmax/level_1_problem_23_sample_0_kernel.py", "# problem: leaky_relu\n"
    assert attribute(path, header, problems=("23_Softmax", "softmax")).problem == "23_Softmax"
    assert attribute(path, header, problems=(None, "softmax")).problem == "softmax"
    assert attribute(path, header).problem == "leaky_relu"
    assert attribute(path).problem == "softmax"
    assert attribute(path.replace("/softmax/", "/other/")).problem == "23_Softmax"


def test_a_files_name_counts_last() -> None:
    assert attribute("/other/softmax.py").problem == attribute("/other/softmax.md").problem == "softmax"
    assert attribute("/leaky_relu/softmax.py").problem == "leaky_relu"
    assert attribute("/other/softmax.py", "# problem: leaky_rleu\n").problem is None


def test_a_header_stands_within_the_first_twenty_lines() -> None:
    assert attribute("/x/y.py", "\n" * 19 + "# problem: softmax\n").problem == "softmax"
    assert attribute("/x/y.py", "\n" * 20 + "# problem: softmax\n").problem is None
    assert attribute("/x/y.py", "", "text\n  #problem:softmax").problem == "softmax"
    prose = "# Problem: softmax over rows\nThe problem: softmax\n"
    assert attribute("/x/y.md", prose).problem is None


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("/softmax/y.py", "# problem: leaky_rleu\n", "'leaky_rleu'; nearest: leaky_relu"),  # a given name counts though no problem has it
        ("/x/soft_max_v2.py", "", "nearest: softmax"),
        ("/x/qqqq.py", "", "leaky_relu"),
    ],
)
def test_an_unknown_problem_is_told_with_the_nearest_names(path: str, text: str, said: str) -> None:
    found = attribute(path, text)
    assert found.problem is None and found.rejection is not None
    assert found.rejection.category is Category.UNKNOWN_PROBLEM and said in found.rejection.message


def test_without_problems_every_submission_is_rejected() -> None:
    assert attribute("/x/y.py", known=()).rejection is not None


def test_kernelbench_names() -> None:
    name = "/runs/some-model/level_1_problem_23_sample_7_kernel.py"
    found = attribute(name)
    assert (found.problem, found.author, found.sample_id) == ("23_Softmax", "some-model", 7)
    assert attribute(name, known=("level_1_problem_23", "23_Softmax")).problem == "level_1_problem_23"
    assert attribute(name, known=("23_A", "23_B")).problem is None
    assert attribute(name, known=("123_A", "2_B")).problem is None


def test_kernelbench_levels_are_told_by_the_problems_folder() -> None:
    known = {"23_A": Path("/k/level1/23_A.py"), "23_B": Path("/k/level2/23_B.py")}
    for level, problem in ((1, "23_A"), (2, "23_B"), (3, None)):
        assert attribute(f"/x/level_{level}_problem_23_sample_0_kernel.py", known=known).problem == problem


@pytest.mark.parametrize(
    ("authors", "text", "author"),
    [
        (("line", None, "manifest"), "# author: header\n", "line"),
        ((None, "jsonl", "manifest"), "# author: header\n", "jsonl"),
        ((None, None), "# author: Some One  \n", "Some One"),
        ((None, None), "", None),
    ],
)
def test_authors(authors: tuple[str | None, ...], text: str, author: str | None) -> None:
    assert attribute("/x/y.py", text, authors=authors).author == author


@pytest.mark.parametrize(
    ("file", "problem", "author"),
    [
        ("20260618_041709_claude_claude-opus-4-8_23_Softmax_solution.py.txt", "23_Softmax", "claude_claude-opus-4-8"),
        ("codex_23_Softmax_solution.py", "23_Softmax", "codex"),
        ("23_Softmax_solution.py", "23_Softmax", None),
        ("codex_softmax_solution.py", None, None),  # a problem without a number could be a word of anything
        ("20260618_041709_codex_24_Softmax_solution.py.txt", None, None),
        ("codex_23_Softmax_answer.py", None, None),
    ],
)
def test_a_solutions_name_gives_author_and_problem(file: str, problem: str | None, author: str | None) -> None:
    found = attribute(f"/runs/{file}")
    assert (found.problem, found.author) == (problem, author)
    assert attribute(f"/runs/{file}", authors=("me",)).author == "me"
    assert attribute(f"/leaky_relu/{file}").problem == "leaky_relu"
