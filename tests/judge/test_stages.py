"""Whose fault it is that an evaluation under way fails."""

import logging
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
import torch

from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.integrity.worker_end import answer_at_end
from evaluator.judge.stages import Stages
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerError
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.evidence import StarvingEvidence
from tests.judge.conftest import Judge, make_job
from tests.judge.sources import forward

pytestmark = pytest.mark.slow(40)

SUBMISSIONS = Path(__file__).parents[2] / "submissions"


@pytest.mark.parametrize("alone", [True, False])
def test_memory_is_missed_at_somebodys_expense_only_where_nobody_else_has_the_device(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    problem = load(SHIPPED / "softmax.py")
    attempt = Stages(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None)
    monkeypatch.setattr("evaluator.judge.stages.blame", lambda *_: StarvingEvidence(held_bytes=3, total_bytes=4))
    try:
        attempt._worker_set.lock.acquire()
        if not alone:
            attempt._worker_set.lock.share()
        verdict = attempt._without_blame(torch.OutOfMemoryError("CUDA out of memory"), "none left")
        assert (verdict is None) == alone
        assert verdict is None or verdict.category is Category.INFRASTRUCTURE_ERROR
    finally:
        attempt.close()


@pytest.mark.parametrize(
    ("code", "category", "is_anew"),
    [
        (forward("raise RuntimeError('CUDA out of memory')"), Category.PYTHON_EXCEPTION, True),
        (forward("time.sleep(600)"), Category.TIMEOUT, True),
        (forward("return 1 / 0"), Category.PYTHON_EXCEPTION, False),
    ],
    ids=["memory", "time", "neither"],
)
def test_what_lacked_memory_or_time_beside_another_is_judged_anew_alone(
    judge: Judge, context: JudgeContext, caplog: pytest.LogCaptureFixture, code: str, category: Category, is_anew: bool
) -> None:
    """The other judge has timed its submission, and ends its remaining work after a while."""
    caplog.set_level(logging.INFO)
    other = DeviceLock(context.device.unique_id)
    other.acquire()
    other.share()
    ends = threading.Timer(4.0, other.release)
    ends.start()
    started = time.monotonic()
    result = judge(code, timeout_s=2.0)
    took_s = time.monotonic() - started
    ends.cancel()
    other.close()
    assert result.category is category
    assert ("judged again, alone" in caplog.text) == is_anew
    assert took_s > 4.0 or not is_anew, "it has waited for the other's end"
    caplog.clear()
    assert judge(code, timeout_s=2.0).category is category
    assert "judged again" not in caplog.text, "nobody else was there"


def test_what_finds_no_memory_to_be_loaded_in_is_loaded_again_alone(judge: Judge, context: JudgeContext) -> None:
    """Beside another submission, it could run out of memory because of that one."""
    other = DeviceLock(context.device.unique_id)
    other.acquire()
    other.share()
    left = list[float]()

    def leave() -> None:
        other.release()
        left.append(time.monotonic())

    ends = threading.Timer(4.0, leave)
    ends.start()
    result = judge("raise RuntimeError('CUDA out of memory')\nclass ModelNew: pass")
    ended = time.monotonic()
    ends.cancel()
    other.close()
    assert result.category is Category.PYTHON_EXCEPTION
    assert left and left[0] < ended, "it has waited for the other's end"


@pytest.mark.parametrize("alone", [True, False])
def test_who_is_late_in_a_check_beside_another_submission_is_not_wrong(context: JudgeContext, alone: bool) -> None:
    problem = load(SHIPPED / "softmax.py")
    worker_set = WorkerSet(Task(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    try:
        worker_set.lock.acquire()
        if not alone:
            worker_set.lock.share()
        worker = worker_set.start("shapes")
        with pytest.raises(WorkerError):
            worker.request("load", 0.0)
        assert answer_at_end(worker, "")["right"] is (False if alone else None)
    finally:
        worker_set.close()


def test_the_next_one_may_have_the_device_after_the_timing(judge: Judge, context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """The locks are those of a GPU: another process can then hold the device, but not alone."""
    seen: list[tuple[bool, bool]] = []

    def can_have(name: str) -> bool:
        program = "import sys, fcntl, os; fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        path = Path(tempfile.gettempdir(), f"assay-{context.device.unique_id}{name}.lock")
        return subprocess.run([sys.executable, "-c", program, str(path)], stderr=subprocess.DEVNULL, check=False).returncode == 0

    def share(worker_set: WorkerSet) -> None:
        worker_set.lock.share()
        seen.append((can_have(""), can_have("-alone")))

    monkeypatch.setattr(WorkerSet, "share_device", share)
    result = judge((SUBMISSIONS / "softmax/cpp_parallel.py").read_text())
    assert result.category is Category.OK and result.evidence.ablation is not None
    assert seen == [(True, False), (True, False)] or seen == [(True, False), (True, True)]
    held_s, stages_s = result.evidence.held_s, result.evidence.stages_s
    assert held_s["rounds"] == pytest.approx(stages_s["rounds"], abs=0.01)
    assert "problem check" in stages_s and held_s.get("problem check", 0.0) == 0.0
