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


def test_a_header_stands_within_the_first_twenty_lines() -> None:
    assert attribute("/x/y.py", "\n" * 19 + "# problem: softmax\n").problem == "softmax"
    assert attribute("/x/y.py", "\n" * 20 + "# problem: softmax\n").problem is None
    assert attribute("/x/y.py", "", "text\n  #problem:softmax").problem == "softmax"


def test_prose_is_no_header() -> None:
    assert attribute("/x/y.md", "# Problem: softmax over rows\nThe problem: softmax\n").problem is None


def test_a_name_that_is_given_counts_even_if_no_problem_has_it() -> None:
    found = attribute("/softmax/y.py", "# problem: leaky_rleu\n")
    assert found.problem is None
    assert found.rejection is not None
    assert found.rejection.category is Category.UNKNOWN_PROBLEM
    assert "'leaky_rleu'; nearest: leaky_relu" in found.rejection.message


def test_without_any_claim_the_nearest_names_come_from_the_path() -> None:
    found = attribute("/x/soft_max_v2.py")
    assert found.rejection is not None
    assert "nearest: softmax" in found.rejection.message
    nothing_like_it = attribute("/x/qqqq.py").rejection
    assert nothing_like_it is not None
    assert "leaky_relu" in nothing_like_it.message
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
