"""Further baselines: who is left out, and who is to blame."""

import pytest
import torch

from evaluator.judge.bench import Bench
from evaluator.judge.further import EAGER, FurtherBaselines, call_once
from evaluator.judge.oracle import BaselineFailedError
from evaluator.judge.session import Worker, WorkerError
from tests.judge.test_side import side_of

WORKS = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
FAILS = WORKS.replace("x + 1", "x.no_such()")


def refuse(kind: str) -> Worker:
    raise WorkerError(f"{kind} is not to be had")


def test_the_eager_one_is_none_of_these() -> None:
    with FurtherBaselines((EAGER, "compile", "compile")) as further:
        further.start(refuse)
        assert further.workers == {} and further.failures == {"compile": "compile is not to be had"}


def test_one_that_fails_while_it_is_timed_is_the_judges_fault_and_not_the_candidates(bench: Bench) -> None:
    with side_of(bench, FAILS, [torch.zeros(2)]) as (side, _, memory):
        further = FurtherBaselines(("compile",))
        with pytest.raises(BaselineFailedError, match="no_such"), further:
            further.start(lambda _: side.worker)
            call_once(side.worker, memory, [torch.zeros(2)], 30.0)


def test_a_failure_of_another_stays_what_it_is(bench: Bench) -> None:
    with side_of(bench, WORKS, [torch.zeros(2)]) as (side, _, memory):
        further = FurtherBaselines(("compile",))
        with pytest.raises(WorkerError, match="the candidate"), further:
            further.start(lambda _: side.worker)
            call_once(side.worker, memory, [torch.zeros(2)], 30.0)
            raise WorkerError("the candidate")
