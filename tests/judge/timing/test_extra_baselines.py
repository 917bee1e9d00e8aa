"""Extra baselines: which are left out, and whose failure it is."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.baseline_alone import BaselineAlone
from evaluator.judge.timing.extra_baselines import EAGER, ExtraBaselines, call_once
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.launcher import Launcher
from evaluator.results.category import Category
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX
from tests.judge.timing.test_timed_worker import started


def refuse(kind: str) -> WorkerClient:
    raise WorkerError(f"{kind} is not to be had")


def test_the_eager_one_is_none_of_these() -> None:
    with ExtraBaselines((EAGER, "compile", "compile")) as further:
        further.start(refuse)
        assert further.workers == {} and further.failures == {"compile": "compile is not to be had"}


def broken(monkeypatch: pytest.MonkeyPatch, breaks: Callable[[WorkerClient], object]) -> None:
    """Have the further baseline's worker be as `breaks` leaves it, once it has been called for the first time. It is not compiled."""
    construct_baseline = Launcher.construct_baseline

    def uncompiled(launcher: Launcher, *args: Any, compiled: bool = False) -> None:
        construct_baseline(launcher, *args)

    def call_and_break(worker: WorkerClient, *args: Any) -> None:
        call_once(worker, *args)
        breaks(worker)

    monkeypatch.setattr(Launcher, "construct_baseline", uncompiled)
    monkeypatch.setattr("evaluator.judge.case_timings.call_once", call_and_break)


@pytest.mark.parametrize("stage", [pytest.param("at the beginning", marks=pytest.mark.slow), "while it is timed"])
def test_one_that_fails_after_it_was_compiled_is_left_out(judge: Judge, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    def kill_later(worker: WorkerClient) -> None:
        asked, request = [], worker.request

        def dying(kind: str, *args: Any, **fields: Any) -> Any:
            asked.append(kind)
            if stage == "at the beginning" or asked.count("host_block") > 2:
                worker.confined.kill()
            return request(kind, *args, **fields)

        monkeypatch.setattr(worker, "request", dying)

    broken(monkeypatch, kill_later)
    result = judge(SOFTMAX, baselines=("eager", "compile"))
    timing = result.evidence.timing
    assert result.category is Category.NO_CUSTOM_KERNEL and timing is not None, result.message
    assert timing.others == {} and list(timing.failed_baselines) == ["compile"]
    assert "ended in" in timing.failed_baselines["compile"]


@pytest.mark.slow
def test_one_that_is_faster_without_the_candidate_counts_as_it_is_then(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_beside(worker: WorkerClient) -> None:
        request, run_alone = worker.request, BaselineAlone.run

        def waiting(kind: str, *args: Any, **fields: Any) -> Any:
            if kind == "host_block" and not gone:
                time.sleep(0.2)
            return request(kind, *args, **fields)

        gone: list[bool] = []

        def alone(self: BaselineAlone, *args: Any, **options: Any) -> Any:
            gone.append(True)
            return run_alone(self, *args, **options)

        monkeypatch.setattr(worker, "request", waiting)
        monkeypatch.setattr(BaselineAlone, "run", alone)

    broken(monkeypatch, slow_beside)
    result = judge(SOFTMAX, baselines=("eager", "compile"))
    timing = result.evidence.timing
    assert timing is not None and timing.failed_baselines == {}, result.message
    assert 0 < timing.others["compile"].median_ms < 200


def test_a_failure_of_another_stays_what_it_is(context: JudgeContext) -> None:
    with started(context, SOFTMAX, [torch.zeros(2, 2)]) as (timed, _, memory):
        further = ExtraBaselines(("compile",))
        with pytest.raises(WorkerError, match="the candidate"), further:
            further.start(lambda _: timed.worker)
            call_once(timed.worker, memory, [torch.zeros(2, 2)], 30.0)
            raise WorkerError("the candidate")
