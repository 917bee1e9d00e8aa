"""Problems that declare nothing, each with a plain answer in another order of operations: every answer is correct.

A problem of `problems/` is in KernelBench's form. Its answer in `corpus/` uses PyTorch's operators, so it has no kernel of its own.
"""

from pathlib import Path

import pytest

from evaluator.problem.declaration import DECLARATION_NAME
from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.corpus import PROJECT, Record, check, corpus, judge

pytestmark = pytest.mark.slow(40)

HERE = Path(__file__).parent
PROBLEMS = HERE / "problems"
ANSWERS = corpus(HERE / "corpus")
TIMEOUT_S = "60"

Records = dict[str, Record]


def judged(folder: Path, *options: str, **environment: str) -> Records:
    """Records by the answer's file."""
    return judge(ANSWERS.values(), folder, "--reference", str(PROBLEMS), "--timeout", TIMEOUT_S, *options, **environment)


@pytest.fixture(scope="session")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(tmp_path_factory.mktemp("contract"), "--device", "cpu", CUDA_VISIBLE_DEVICES="")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_plain_answer_is_correct(on_cpu: Records, name: str) -> None:
    check(ANSWERS[name], on_cpu[f"{name}.py"], "cpu")


@pytest.fixture(scope="session")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    level = next((level for level in Level if level is not Level.NONE and try_level(level).available), None)
    if level is None:
        pytest.skip("no sandbox")
    return judged(tmp_path_factory.mktemp("contract"), "--device", "cuda", "--sandbox", level)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ANSWERS)
def test_a_plain_answer_is_correct_on_a_gpu(on_gpu: Records, name: str) -> None:
    check(ANSWERS[name], on_gpu[f"{name}.py"], "cuda")


def test_every_problem_has_an_answer_and_declares_nothing() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in PROBLEMS.glob("*.py")}
    assert set(texts) == {answer.value("problem") for answer in ANSWERS.values()}
    assert [name for name, text in texts.items() if DECLARATION_NAME in text] == []


def test_no_problem_takes_the_place_of_a_shipped_one() -> None:
    assert {path.name for path in PROBLEMS.glob("*.py")} & {path.name for path in (PROJECT / "reference").glob("*.py")} == set()


def test_every_answer_expects_to_be_correct() -> None:
    assert all(verdicts == {"correct/no_custom_kernel"} for answer in ANSWERS.values() for verdicts in answer.verdicts.values())
    assert all(answer.verdicts.keys() == {"cpu", "cuda"} for answer in ANSWERS.values())
