"""Description and level of a problem, from its text."""

import pytest

from tests.command_line import PROJECT
from web.problem_text import MAX_CHARACTERS, MAX_DESCRIPTION, ProblemText, read

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


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "def",
        "\x00",
        "(" * 100_000,
        "-" * 50_000 + "1",
        "#" * (MAX_CHARACTERS + 1),
        "ASSAY = 3\nASSAY: int\n",
        'ASSAY = {"level": open()}',
    ],
)
def test_what_can_t_be_read_says_nothing(source: str | None) -> None:
    assert read(source) == ProblemText()
