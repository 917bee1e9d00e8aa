"""The jobs that a run makes from its options."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import exits
from command.engine_choice import find_place
from command.options import parser
from command.outputs import Outputs
from command.run import Session
from db.store import Store
from evaluator.engine.problem_loader import ProblemReader
from evaluator.job import Job
from evaluator.problem.catalogue import discover
from evaluator.results.category import Category
from evaluator.submission.discover import find
from tests.command_line import Bench, submission
from tests.engine.test_judge_client import settles_and_goes_on

pytestmark = pytest.mark.slow(6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Bench(tmp_path).write("double/right.py", submission())


def jobs(path: Path, *words: str) -> Iterator[Job]:
    """Jobs of a command with these options."""
    root = path.parents[1]
    options = parser().parse_args([str(path), "--device", "cpu", "--reference", str(root / "problems"), *words])
    known = discover(options.reference)
    with Store.open(f"sqlite:///{root / 'results.db'}") as store, Outputs(options) as outputs, ProblemReader(known, None) as problems:
        session = Session(options, store, outputs, find_place(options, None), problems)
        yield from session._jobs(find(options.paths, False, None, None, known))


@pytest.mark.parametrize(
    ("words", "shapes", "strict_inputs", "profile"),
    [
        ((), "others", False, False),
        (("--strict-shapes", "--profile"), "strict", False, True),
        (("--strict-inputs", "--own-shapes"), "own", True, False),
    ],
)
def test_options_come_to_the_judge(path: Path, words: tuple[str, ...], shapes: str, strict_inputs: bool, profile: bool) -> None:
    (job,) = jobs(path, *words)
    assert (job.shapes, job.strict_inputs, job.profile) == (shapes, strict_inputs, profile)


def test_a_verdict_is_stored_though_its_profile_is_interrupted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.engine.judge_client._serve", settles_and_goes_on)

    def interrupt(_job: Job, stage: str) -> None:
        if stage == "profile":
            os.kill(os.getpid(), signal.SIGINT)

    root = path.parents[1]
    words = [str(path), "--device", "cpu", "--jobs", "1", "--reference", str(root / "problems"), "--profile"]
    options = parser().parse_args(words)
    known = discover(options.reference)
    with Store.open(f"sqlite:///{root / 'results.db'}") as store, Outputs(options) as outputs, ProblemReader(known, None) as problems:
        store.start_run(["test"])
        session = Session(options, store, outputs, find_place(options, None), problems)
        monkeypatch.setattr(session.display, "stage", interrupt)
        assert session.judge(find(options.paths, False, None, None, known)) == exits.INTERRUPTED
        stored = store.get(1)
        assert stored is not None and (stored.result.category, stored.result.message) == (Category.OK, "right")
        assert store.get(2) is None
