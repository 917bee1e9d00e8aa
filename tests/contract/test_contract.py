"""Problems that declare nothing, each with a plain answer in another order of operations: every answer is correct.

Each cell of the corpus is a problem in KernelBench's form and its answer, which uses PyTorch's operators and has no kernel of its own.
"""

from pathlib import Path

import pytest

from evaluator.problem.declaration import DECLARATION_NAME
from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.corpus import PROJECT, Record, check, corpus, judge, problems

pytestmark = pytest.mark.slow(40)

HERE = Path(__file__).parent
ANSWERS = corpus(HERE / "corpus")
TIMEOUT_S = "60"

Records = dict[str, Record]


def judged(names: list[str], folder: Path, *options: str, **environment: str) -> Records:
    """Records by name of the answer."""
    records = judge([ANSWERS[name] for name in names], folder, "--timeout", TIMEOUT_S, *options, **environment)
    return {name: records[f"{name}.py"] for name in names}


@pytest.fixture(scope="session")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(list(ANSWERS), tmp_path_factory.mktemp("contract"), "--device", "cpu", CUDA_VISIBLE_DEVICES="")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_plain_answer_is_correct(on_cpu: Records, name: str) -> None:
    check(ANSWERS[name], on_cpu[name], "cpu")


@pytest.fixture(scope="session")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    level = next((level for level in Level if level is not Level.NONE and try_level(level).available), None)
    if level is None:
        pytest.skip("no sandbox")
    return judged(list(ANSWERS), tmp_path_factory.mktemp("contract"), "--device", "cuda", "--sandbox", level)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ANSWERS)
def test_a_plain_answer_is_correct_on_a_gpu(on_gpu: Records, name: str) -> None:
    check(ANSWERS[name], on_gpu[name], "cuda")


def test_every_answer_is_to_a_problem_that_declares_nothing() -> None:
    for name, answer in ANSWERS.items():
        assert answer.value("problem") == name and DECLARATION_NAME not in problems()[name]
        assert answer.verdicts == {kind: {"correct/no_custom_kernel"} for kind in ("cpu", "cuda")}


def test_no_problem_takes_the_place_of_a_shipped_one() -> None:
    assert problems().keys() & {path.stem for path in (PROJECT / "reference").glob("*.py")} == set()
