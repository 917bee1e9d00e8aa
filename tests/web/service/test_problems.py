"""Which requests the problems refuse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.machine.devices import cpu
from tests.engine.test_problem_loader import SOUND
from web.service.errors import RefusedError
from web.service.models import Options
from web.service.options import parser
from web.service.problems import ServedProblems

pytestmark = pytest.mark.slow(2)

TEXTS = {"broken": "import no_such_package\n" + SOUND, "narrow": SOUND.replace('{"cases"', '{"dtypes": ["float32"], "cases"')}


@pytest.fixture
def problems(tmp_path: Path) -> Iterator[ServedProblems]:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.py").write_text(text)
    served = ServedProblems({name: tmp_path / f"{name}.py" for name in TEXTS}, tmp_path / "references", cpu())
    yield served
    served.close()


@pytest.mark.parametrize(
    ("name", "options", "code", "words"),
    [
        ("broken", {}, "bad_reference", "problem: line 1: importing the file raised ModuleNotFoundError"),
        ("narrow", {"dtype": "bf16"}, "bad_option", "dtype: the problem allows float32, not bfloat16."),
    ],
)
def test_a_broken_problem_is_told_from_an_option_that_it_has_not(
    problems: ServedProblems, name: str, options: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        problems.check(name, Options.model_validate(options))
    assert (refused.value.body.code, words in refused.value.body.message) == (code, True), refused.value.body.message


@pytest.mark.parametrize("words", ["--db there token list", "token list --db there", "token new --author ada --db there"])
def test_a_token_command_takes_the_database_before_or_after_it(words: str) -> None:
    assert parser().parse_args(words.split()).db == "there"
