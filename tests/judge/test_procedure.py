"""Whose fault it is that an evaluation under way fails."""

import fcntl
from collections.abc import Callable, Iterator

import pytest
import torch

from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.device.device_lock import SHARERS, DeviceLock
from evaluator.judge.failures import without_blame
from evaluator.judge.integrity.worker_end import answer_at_end
from evaluator.judge.session import Session
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerError
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.evidence import StarvingEvidence
from evaluator.results.protocol_names import UNTIMED
from tests.judge.conftest import Judge, make_job
from tests.judge.sources import SOFTMAX, copied, forward
from tests.judge.test_untimed import DOUBLE, OWN


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[JudgeContext], DeviceLock]]:
    """Has another judge share the device, as several may share a GPU."""
    monkeypatch.setattr("evaluator.judge.prepared_workers.sharers_on", lambda _: SHARERS)
    locks: list[DeviceLock] = []

    def begin(context: JudgeContext) -> DeviceLock:
        locks.append(DeviceLock(context.device.unique_id))
        locks[-1].acquire()
        return locks[-1]

    yield begin
    for lock in locks:
        lock.close()


@pytest.mark.parametrize("alone", [True, False])
def test_memory_is_missed_at_somebodys_expense_only_where_nobody_else_has_the_device(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, begun: Callable[[JudgeContext], DeviceLock], alone: bool
) -> None:
    problem = load(SHIPPED / "softmax.py")
    session = Session(Task(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    monkeypatch.setattr("evaluator.judge.failures.blame", lambda *_: StarvingEvidence(held_bytes=3, total_bytes=4))
    try:
        session.worker_set.lock.acquire()
        if not alone:
            begun(context)
        verdict = without_blame(session, torch.OutOfMemoryError("CUDA out of memory"), "none left")
        assert (verdict is None) == alone
        assert verdict is None or verdict.category is Category.INFRASTRUCTURE_ERROR
    finally:
        session.worker_set.close()


@pytest.fixture
def other(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, begun: Callable[[JudgeContext], DeviceLock]) -> list[str]:
    """Another judge that shares the device. Its evaluation ends when it is waited for; the list says so."""
    lock, seen = begun(context), list[str]()
    acquire_alone = DeviceLock.acquire_alone

    def waited_for(own: DeviceLock) -> None:
        if lock.held:
            seen.append("waited for")
            lock.release()
            fcntl.flock(lock._begun, fcntl.LOCK_UN)
        acquire_alone(own)
        assert own.is_alone

    monkeypatch.setattr(DeviceLock, "acquire_alone", waited_for)
    return seen


@pytest.mark.parametrize(
    ("code", "timeout_s", "category", "starts"),
    [
        (forward("raise RuntimeError('CUDA out of memory')"), 30.0, Category.PYTHON_EXCEPTION, 2),
        (forward("time.sleep(600)"), 0.5, Category.TIMEOUT, 2),
        (forward("return 1 / 0"), 30.0, Category.PYTHON_EXCEPTION, 1),
        ("raise RuntimeError('CUDA out of memory')\nclass ModelNew: pass", 30.0, Category.PYTHON_EXCEPTION, 2),
    ],
    ids=["memory", "time", "neither", "memory while it is loaded"],
)
def test_what_lacked_memory_or_time_beside_another_is_judged_anew_alone(
    judge: Judge, other: list[str], code: str, timeout_s: float, category: Category, starts: int
) -> None:
    stages: list[str] = []
    assert judge(code, timeout_s=timeout_s, report=stages.append).category is category
    assert (stages.count("start"), other) == (starts, ["waited for"] * (starts - 1))


def test_what_lacks_memory_alone_is_not_judged_anew(judge: Judge) -> None:
    stages: list[str] = []
    judge(forward("raise RuntimeError('CUDA out of memory')"), report=stages.append)
    assert stages.count("start") == 1


@pytest.mark.slow(20)
def test_a_failure_in_a_strict_shape_is_not_excused_by_its_own_text(judge: Judge, other: list[str]) -> None:
    """Beside others the text says that memory was short. Alone it is the submission's failure."""
    call = "run(torch.empty_like(x), x) if x.shape == (64, 48) else exec('raise RuntimeError(\"out of memory\")')"
    result = judge(OWN.replace("CALL", call), problem_text=DOUBLE, protocol=UNTIMED, shapes="strict")
    assert (result.category, other) == (Category.SHAPE_SPECIFIC, ["waited for"]), result.message


@pytest.mark.parametrize("alone", [True, False])
def test_who_is_late_in_a_check_beside_another_submission_is_not_wrong(
    context: JudgeContext, begun: Callable[[JudgeContext], DeviceLock], alone: bool
) -> None:
    problem = load(SHIPPED / "softmax.py")
    worker_set = WorkerSet(Task(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    try:
        worker_set.lock.acquire()
        if not alone:
            begun(context)
        worker = worker_set.start("shapes")
        with pytest.raises(WorkerError):
            worker.request("load", 0.0)
        assert answer_at_end(worker, None)["right"] is (False if alone else None)
    finally:
        worker_set.close()


@pytest.mark.slow
def test_the_next_one_may_have_the_device_after_the_timing(judge: Judge, context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """The locks are those of a GPU: another judge can then share the device."""
    seen: list[bool] = []
    monkeypatch.setattr("evaluator.judge.prepared_workers.sharers_on", lambda _: SHARERS)

    def can_enter() -> bool:
        lock = DeviceLock(context.device.unique_id)
        try:
            return lock._can_share()
        finally:
            lock.close()

    def share(worker_set: WorkerSet) -> None:
        before = can_enter()
        worker_set.lock.share()
        seen.append(not before and can_enter())

    monkeypatch.setattr(WorkerSet, "share_device", share)
    result = judge(copied(SOFTMAX))
    assert result.category is Category.OK and result.evidence.ablation is not None
    assert seen == [True, False], "the second time it shares already"
    held_s, stages_s = result.evidence.held_s, result.evidence.stages_s
    assert held_s["timing"] == pytest.approx(stages_s["timing"], abs=0.01) and "rounds" not in held_s
    assert "problem check" in stages_s and held_s.get("problem check", 0.0) == 0.0
