"""Submissions of unusual but honest form: no judge may refuse one."""

from pathlib import Path

import pytest

from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.corpus import Record, check, corpus, judge

pytestmark = pytest.mark.slow(110)

HERE = Path(__file__).parent
FORMS = corpus(HERE / "corpus")
CPU = [name for name, form in FORMS.items() if "cpu" in form.verdicts]
CUDA = [name for name, form in FORMS.items() if "cuda" in form.verdicts]

Records = dict[str, Record]


def judged(names: list[str], folder: Path, *options: str, **environment: str) -> Records:
    """Records by name of the form."""
    records = judge([FORMS[name] for name in names], folder, "--timeout", "60", *options, **environment)
    return {name: records[f"{name}.py"] for name in names}


def held(record: Record, name: str, kind: str) -> None:
    check(FORMS[name], record, kind)
    assert record["runtime_ms"] > 0 and record["speedup"] > 0


@pytest.fixture(scope="session")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(CPU, tmp_path_factory.mktemp("honest"), "--device", "cpu", CUDA_VISIBLE_DEVICES="")


@pytest.mark.build
@pytest.mark.parametrize("name", CPU)
def test_no_honest_submission_is_refused(on_cpu: Records, name: str) -> None:
    held(on_cpu[name], name, "cpu")


@pytest.fixture(scope="session", params=[level for level in Level if level is not Level.NONE])
def on_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Records:
    trial = try_level(request.param)
    if not trial.available:
        pytest.skip(f"{request.param}: {trial.reason}")
    return judged(CUDA, tmp_path_factory.mktemp(request.param), "--device", "cuda", "--sandbox", request.param)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CUDA)
def test_no_honest_submission_is_refused_on_a_gpu(on_gpu: Records, name: str) -> None:
    held(on_gpu[name], name, "cuda")


def test_every_form_expects_to_be_correct() -> None:
    assert all(form.verdicts for form in FORMS.values())
    assert {verdict for form in FORMS.values() for verdicts in form.verdicts.values() for verdict in verdicts} == {
        "correct/ok",
        "correct/no_custom_kernel",
    }
