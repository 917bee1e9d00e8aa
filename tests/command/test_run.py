"""What a run makes of its options: the jobs that it asks for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from command.engine_choice import find_place
from command.options import parser
from command.outputs import Outputs
from command.run import Session
from db.store import Store
from evaluator.engine.problem_loader import ProblemReader
from evaluator.job import Job
from evaluator.problem.catalogue import discover
from evaluator.submission.discover import find
from tests.command_line import Bench, submission


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Bench(tmp_path).write("double/right.py", submission())


def jobs(path: Path, *words: str) -> Iterator[Job]:
    """What a command with these words would have judged."""
    root = path.parents[1]
    options = parser().parse_args([str(path), "--device", "cpu", "--reference", str(root / "problems"), *words])
    known = discover(options.reference)
    with Store.open(f"sqlite:///{root / 'results.db'}") as store, Outputs(options) as outputs, ProblemReader(known, None) as problems:
        session = Session(options, store, outputs, find_place(options, None), problems)
        yield from session._jobs(find(options.paths, False, None, None, known))


@pytest.mark.parametrize(
    ("words", "shapes", "strict_inputs"),
    [
        ((), "others", False),
        (("--strict-inputs",), "others", True),
        (("--strict-shapes",), "strict", False),
        (("--strict-inputs", "--own-shapes"), "own", True),
    ],
)
def test_strictness_is_asked_of_the_judge(path: Path, words: tuple[str, ...], shapes: str, strict_inputs: bool) -> None:
    (job,) = jobs(path, *words)
    assert (job.shapes, job.strict_inputs) == (shapes, strict_inputs)
