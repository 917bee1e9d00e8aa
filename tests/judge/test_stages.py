"""Whose fault it is that an evaluation under way fails."""

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.stages import Stages
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.evidence import StarvingEvidence
from tests.judge.conftest import make_job


@pytest.mark.parametrize("alone", [True, False])
def test_memory_is_missed_at_somebodys_expense_only_where_nobody_else_has_the_device(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    problem = load(SHIPPED / "softmax.py")
    attempt = Stages(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None)
    monkeypatch.setattr("evaluator.judge.stages.blame", lambda *_: StarvingEvidence(held_bytes=3, total_bytes=4))
    try:
        if alone:
            attempt._worker_set.lock.acquire()
        verdict = attempt._without_blame(torch.OutOfMemoryError("CUDA out of memory"), "none left")
        assert (verdict is None) == alone
        assert verdict is None or verdict.category is Category.INFRASTRUCTURE_ERROR
    finally:
        attempt.close()
