"""What benchmarks read from a run of the command line."""

from pathlib import Path

import pytest

from benchmarks.pipeline_run import Place, RunFailedError, run_pipeline
from tests.command_line import PROBLEM, submission

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    (root / "problems").mkdir()
    (root / "problems" / "double.py").write_text(PROBLEM.format(operation="* 2"))
    (root / "double").mkdir()
    (root / "double" / "right.py").write_text(submission("x + x"))
    (root / "double" / "wrong.py").write_text(submission("x + 1"))
    (root / "double" / "broken.py").write_text("class ModelNew(")
    return root


def test_a_run_tells_every_result(folder: Path) -> None:
    arguments = [str(folder / "double"), "--reference", str(folder / "problems"), "--device", "cpu"]
    told: list[str] = []
    run = run_pipeline(arguments, Place(folder / "kept", folder / "cache"), timeout_s=400, tell=told.append)
    assert run.complete
    assert {Path(item.submission).stem: str(item.category) for item in run.results} == {
        "right": "no_custom_kernel",
        "wrong": "wrong_values",
        "broken": "syntax_error",
    }


def test_a_run_is_interrupted_when_its_time_is_up(folder: Path) -> None:
    slow = folder / "slow" / "double"
    slow.mkdir(parents=True)
    (slow / "asleep.py").write_text(submission(before="time.sleep(600)"))
    arguments = [str(slow), "--reference", str(folder / "problems"), "--device", "cpu"]
    run = run_pipeline(arguments, Place(folder / "interrupted", folder / "cache"), timeout_s=1, tell=lambda _: None)
    assert not run.complete
    assert run.wall_s < 100


def test_an_error_of_the_command_line_is_told(folder: Path) -> None:
    with pytest.raises(RunFailedError, match="no-such-folder"):
        run_pipeline(["no-such-folder"], Place(folder / "failed", folder / "cache"), timeout_s=100, tell=lambda _: None)
