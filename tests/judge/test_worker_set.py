"""How workers come by their device, and by another start."""

import threading
import time
from concurrent.futures import Future

import pytest
import torch

from evaluator.judge.context import Bench, Task
from evaluator.judge.correctness.reference import BaselineFailedError
from evaluator.judge.worker_set import Crew
from evaluator.judge.workers.client import Worker
from evaluator.problem.problem import SHIPPED, load
from evaluator.sandbox.confined import Confined
from evaluator.sandbox.program import Exit
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

    monkeypatch.setattr("evaluator.judge.worker_set.warm", warm)
    try:
        worker = crew.load_candidate()
        crew.device = torch.device("cuda")
        crew.take_device(worker)
        assert held == [False, True]
    finally:
        crew.device = torch.device("cpu")
        crew.close()


def test_a_baseline_starts_cuda_once_it_is_needed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(SHIPPED / "softmax.py")
    crew = Crew(Task(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    started: list[Worker] = []
    monkeypatch.setattr(crew.starter, "start_cuda", started.append)
    crew.device = torch.device("cuda")
    try:
        crew.prepare_baseline()
        assert crew._loaded is not None
        baseline = crew._loaded.result(30.0)
        assert started == []
        crew.ready_baseline()
        crew.ready_baseline()
        assert crew.take_baseline() is baseline
        assert started == [baseline]
    finally:
        crew.device = torch.device("cpu")
        crew.close()


@pytest.mark.parametrize("how", ["end_all", "close"])
def test_all_workers_are_killed_before_the_first_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    problem = load(SHIPPED / "softmax.py")
    crew = Crew(Task(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    seen: list[str] = []
    kill, wait = Confined.kill, Confined.wait

    def noted_kill(confined: Confined) -> None:
        seen.append("killed")
        kill(confined)

    def noted_wait(confined: Confined, timeout_s: float | None) -> Exit | None:
        seen.append("waited for")
        return wait(confined, timeout_s)

    try:
        workers = [crew.load_candidate(), crew.start("again"), crew.start_baseline()]
        monkeypatch.setattr(Confined, "kill", noted_kill)
        monkeypatch.setattr(Confined, "wait", noted_wait)
    finally:
        getattr(crew, how)()
        monkeypatch.undo()
        if how != "close":
            crew.close()
    assert seen[:3] == ["killed"] * 3 and "waited for" in seen
    assert all(worker.ended for worker in workers)


def test_a_baseline_that_is_dismissed_while_it_starts_is_waited_for_by_nobody(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(SHIPPED / "softmax.py")
    crew = Crew(Task(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    greeted = threading.Event()

    def never_loaded(worker: Worker) -> None:
        greeted.set()
        worker.request("ping", 60.0)
        time.sleep(0.1)
        never_loaded(worker)

    monkeypatch.setattr(crew.starter, "load_reference", never_loaded)
    start = time.monotonic()
    try:
        crew.prepare_baseline()
        assert greeted.wait(30.0)
        crew.dismiss_baseline()
        assert crew._loaded is not None
        assert isinstance(crew._loaded.exception(10.0), BaselineFailedError)
    finally:
        crew.close()
    assert time.monotonic() - start < 30.0
