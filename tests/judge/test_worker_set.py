"""Workers get their device, and are started again."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
import torch

from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.correctness.oracle.reference import BaselineFailedError, Oracle, Reference
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers import kept_workers
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.sandbox.confined import Confined
from evaluator.sandbox.program import Exit
from tests.judge.conftest import make_job


def worker_set_in(context: JudgeContext) -> WorkerSet:
    problem = load(SHIPPED / "softmax.py")
    case = problem.instance("small")
    made = WorkerSet(Task(context, make_job("class ModelNew: pass"), problem, case, lambda _: None))
    model = case.model(1)
    made.reference = Reference(model, case.init_inputs(1), Oracle(model, case.rows_independent))
    return made


@pytest.fixture
def worker_set(context: JudgeContext) -> Iterator[WorkerSet]:
    made = worker_set_in(context)
    yield made
    made.device = torch.device("cpu")
    made.close()


@pytest.mark.parametrize("early", [True, False])
def test_a_baseline_that_failed_beside_another_submission_is_started_again(worker_set: WorkerSet, early: bool) -> None:
    """On a GPU it starts early, while another may have the device; not so on the CPU."""
    worker_set._constructed = Future[WorkerClient]()
    worker_set.device = torch.device("cuda" if early else "cpu")
    worker_set._constructed.set_exception(BaselineFailedError("CUDA out of memory"))
    if early:
        assert worker_set.take_baseline().failure == ""
    else:
        with pytest.raises(BaselineFailedError):
            worker_set.take_baseline()


def test_a_judge_without_memory_beside_another_tries_again_when_it_has_the_device(
    worker_set: WorkerSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def warm(*_: object) -> None:
        held.append(worker_set.lock.held)
        if len(held) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("evaluator.judge.worker_set.warm", warm)
    worker = worker_set.start()
    worker_set.device = torch.device("cuda")
    worker_set.take_device(worker)
    assert held == [False, True]


def test_a_baseline_starts_cuda_once_it_is_needed(worker_set: WorkerSet, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[WorkerClient] = []
    monkeypatch.setattr(worker_set.launcher, "start_cuda", started.append)
    worker_set.device = torch.device("cuda")
    worker_set.prepare_baseline()
    assert worker_set._loaded is not None
    baseline = worker_set._loaded.result(30.0)
    assert started == []
    worker_set.ready_baseline()
    worker_set.ready_baseline()
    worker_set.prepare_spare()
    assert worker_set.take_baseline() is baseline
    assert started[:1] == [baseline] or started[1:] == [baseline]
    assert worker_set.has_spare and len(started) == 2
    assert worker_set.start("ablation") in started, "the worker that has started beside the rounds"


@pytest.mark.parametrize(("how", "count"), [("end_all", 2), ("close", 3)])
def test_all_workers_are_killed_before_the_first_is_waited_for(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, how: str, count: int
) -> None:
    worker_set, seen = worker_set_in(context), list[str]()
    kill, wait = Confined.kill, Confined.wait

    def noted_kill(confined: Confined) -> None:
        seen.append("killed")
        kill(confined)

    def noted_wait(confined: Confined, timeout_s: float | None) -> Exit | None:
        seen.append("waited for")
        return wait(confined, timeout_s)

    try:
        workers = [worker_set.load_candidate(), worker_set.start("again"), worker_set.start_baseline()][:count]
        monkeypatch.setattr(Confined, "kill", noted_kill)
        monkeypatch.setattr(Confined, "wait", noted_wait)
    finally:
        getattr(worker_set, how)()
        monkeypatch.undo()
        if how != "close":
            worker_set.close()
    assert seen[:count] == ["killed"] * count and "waited for" in seen
    assert all(worker.ended for worker in workers)


def test_a_baseline_that_is_dismissed_while_it_starts_is_waited_for_by_nobody(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_set, greeted = worker_set_in(context), threading.Event()

    def never_loaded(worker: WorkerClient) -> None:
        greeted.set()
        worker.request("ping", 60.0)
        time.sleep(0.1)
        never_loaded(worker)

    monkeypatch.setattr(worker_set.launcher, "load_reference", never_loaded)
    try:
        worker_set.prepare_baseline()
        assert greeted.wait(30.0)
        worker_set.dismiss()
        assert worker_set._loaded is not None
        assert isinstance(worker_set._loaded.exception(60.0), BaselineFailedError)
    finally:
        worker_set.close()


def test_a_baseline_whose_construction_hangs_is_killed_when_the_device_could_be_left(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_set, begun = worker_set_in(context), threading.Event()

    def never_constructed(worker: WorkerClient, *_: object) -> None:
        begun.set()
        while True:
            worker.request("ping", 60.0)
            time.sleep(0.1)

    monkeypatch.setattr(worker_set.launcher, "construct_baseline", never_constructed)
    monkeypatch.setattr("evaluator.judge.prepared_workers.SPARE_S", 0.5)
    worker_set.ready_baseline()
    assert begun.wait(30.0)
    worker = worker_set.baseline
    start = time.monotonic()
    worker_set.device = torch.device("cuda")
    worker_set.dismiss()
    worker_set.part_with_baseline()
    assert time.monotonic() - start > 0.4
    assert worker is not None and not worker.is_alive and kept_workers.BASELINE not in context.kept_workers
    worker_set.device = torch.device("cpu")
    worker_set.close()


def test_the_baselines_worker_stays_for_the_next_evaluation(context: JudgeContext) -> None:
    """On a GPU: it loads and constructs anew, and knows nothing of the memory that it was given before."""
    first, second = worker_set_in(context), worker_set_in(context)
    try:
        first.device = second.device = torch.device("cuda")
        worker = first.take_baseline()
        first.part_with_baseline()
        assert second.take_baseline() is worker
        assert worker.lock is second.lock and not worker.failure
        assert kept_workers.BASELINE not in context.kept_workers
        inputs = InputSet(second.memory, [torch.ones(4)])
        worker.hand_over(inputs.allocations, 10.0)
        worker.request("inputs", 10.0, sets=[inputs.tree([torch.ones(4)])])
        second.part_with_baseline()
        with pytest.raises(WorkerError):  # nothing to call, and nothing to call it with
            worker.request("call", 10.0, set=0)
    finally:
        for worker_set in (first, second):
            worker_set.device = torch.device("cpu")
            worker_set.close()
        for worker, _ in context.kept_workers.values():
            worker.close()
        context.kept_workers.clear()


def test_a_baselines_worker_that_failed_does_not_stay(context: JudgeContext) -> None:
    worker_set = worker_set_in(context)
    try:
        worker_set.device = torch.device("cuda")
        worker = worker_set.take_baseline()
        with pytest.raises(WorkerError):
            worker.request("call", 10.0, set=7)
        worker_set.part_with_baseline()
        assert kept_workers.BASELINE not in context.kept_workers
        assert worker.confined.exit is not None
    finally:
        worker_set.device = torch.device("cpu")
        worker_set.close()


def test_a_spare_worker_that_was_not_needed_is_the_next_evaluations(context: JudgeContext) -> None:
    first, second = worker_set_in(context), worker_set_in(context)
    try:
        first.device = second.device = torch.device("cuda")
        first.prepare_spare()
        first.close()
        second.prepare_spare()
        worker = second.start("ablation")
        assert worker in second.workers and worker.lock is second.lock
        assert kept_workers.SPARE not in context.kept_workers, "it has gone to the second"
        second.launcher.load_submission(worker)
        assert not worker.failure
    finally:
        second.device = torch.device("cpu")
        second.close()
    assert worker.confined.exit is not None, "a submission was loaded in it"
