"""How workers come by their device, and by another start."""

from concurrent.futures import Future

import pytest
import torch

from evaluator.judge.bench import Bench, Task
from evaluator.judge.crew import Crew
from evaluator.judge.oracle import BaselineFailedError
from evaluator.judge.session import Worker
from evaluator.problem import SHIPPED, load
from tests.judge.conftest import make_job


@pytest.mark.parametrize("early", [True, False])
def test_a_baseline_that_failed_beside_another_submission_is_started_again(bench: Bench, early: bool) -> None:
    """On a GPU it starts early, while another may have the device; not so on the CPU."""
    problem = load(SHIPPED / "softmax.py")
    crew = Crew(Task(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    crew._ready = Future[Worker]()
    crew.device = torch.device("cuda" if early else "cpu")
    crew._ready.set_exception(BaselineFailedError("CUDA out of memory"))
    try:
        if early:
            assert crew.take_baseline().failure == ""
        else:
            with pytest.raises(BaselineFailedError):
                crew.take_baseline()
    finally:
        crew.close()


def test_a_judge_without_memory_beside_another_tries_again_when_it_has_the_device(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(SHIPPED / "softmax.py")
    crew = Crew(Task(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    held: list[bool] = []

    def warm(*_: object) -> None:
        held.append(crew.lock.held)
        if len(held) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("evaluator.judge.crew.warm", warm)
    try:
        worker = crew.load_candidate()
        crew.device = torch.device("cuda")
        crew.take_device(worker)
        assert held == [False, True]
    finally:
        crew.device = torch.device("cpu")
        crew.close()
