"""Which kernel a second run names."""

from typing import Any

import pytest

from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge import limits
from evaluator.judge.blocking_rerun import applies, culprit, deadline_s
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExceptionEvidence, ExitEvidence, FaultEvidence, LaunchRecord
from tests.judge.conftest import make_job
from tests.judge.sources import forward


def launch(kernel: str, first: int, last: int, **more: Any) -> LaunchRecord:
    values: dict[str, Any] = {"api": "cudaLaunchKernel", "object": "extension", "own": True, "count": 1, "shared_bytes": 0, "code": 0}
    return LaunchRecord(kernel=kernel, first=first, last=last, grid=(2, 1, 1), block=(64, 1, 1), **values | more)


BROKEN = ExceptionEvidence(stage="rounds", type="AcceleratorError", message="CUDA error", cuda_error=700, line=9)
LAUNCHES = (launch("first(float*)", 0, 8), launch("second(float*)", 1, 9), launch("third(float*)", 2, 7))


def named(found: FaultEvidence | None) -> str | None:
    return None if found is None else found.kernel


def test_the_launch_that_came_back_with_the_error_is_at_fault() -> None:
    refused = launch("bad(float*)", 3, 3, code=700)
    assert named(culprit((*LAUNCHES, refused), BROKEN, timed_out=False)) == "bad(float*)"


def test_the_last_launch_is_at_fault_where_none_came_back_with_it() -> None:
    assert named(culprit(LAUNCHES, BROKEN, timed_out=False)) == "second(float*)"


def test_what_did_not_come_back_is_what_does_not_end() -> None:
    hanging = launch("endless(float*)", 4, 4, pending=True, count=0)
    assert named(culprit((*LAUNCHES, hanging), None, timed_out=True)) == "endless(float*)"
    assert culprit(LAUNCHES, None, timed_out=True) is None


@pytest.mark.parametrize("exception", [None, BROKEN.model_copy(update={"cuda_error": None})])
def test_a_second_run_that_ends_otherwise_names_nobody(exception: ExceptionEvidence | None) -> None:
    assert culprit(LAUNCHES, exception, timed_out=False) is None


@pytest.mark.parametrize(
    ("category", "stage", "own", "wanted"),
    [
        (Category.ILLEGAL_MEMORY_ACCESS, "timing", True, True),
        (Category.DEVICE_ASSERT, "rounds", True, True),
        (Category.TIMEOUT, "rounds", True, True),
        (Category.TIMEOUT, "load", True, False),
        (Category.MISALIGNED_ADDRESS, "rounds", False, False),
        (Category.WRONG_VALUES, "rounds", True, False),
    ],
)
def test_when_a_second_run_is_wanted(category: Category, stage: str, own: bool, wanted: bool) -> None:
    assert applies(None, Verdict(category, ""), Evidence(launches=(launch("k", 0, 0, own=own),), stage=stage)) is wanted


def test_what_hung_in_the_first_run_gives_the_second_no_time() -> None:
    hung = Evidence(exit=ExitEvidence(stage="rounds", deadline_s=30), stages_s={"construct": 0.5, "rounds": 30.2})
    assert limits.SECOND_S < deadline_s(hung, 30.0) < limits.SECOND_S + 5
    broke = Evidence(exception=BROKEN, stages_s={"rounds": 2.0})
    assert deadline_s(broke, 30.0) == limits.SECOND_S + 10
    assert deadline_s(broke, 1.0) == 1.0


def test_the_verdict_names_the_kernel_and_stays_what_it_is() -> None:
    fault = FaultEvidence(kernel="void bad<4>(float*)", own=True, grid=(2, 1, 1), block=(64, 1, 1), shared_bytes=0, position=3)
    evidence = Evidence(launches=LAUNCHES, exception=BROKEN)
    before, after = diagnose(evidence), diagnose(evidence.model_copy(update={"fault": fault}))
    assert before.category is after.category is Category.ILLEGAL_MEMORY_ACCESS
    assert "one of `first`, `second`, `third`" in before.message
    assert after.message.endswith("(CUDA error 700): in `bad` (grid 2×1×1, block 64×1×1)")
    hung = diagnose(Evidence(exit=ExitEvidence(stage="rounds", deadline_s=5), fault=fault))
    assert hung.message == "forward() did not end within 5 s: `bad` (grid 2×1×1, block 64×1×1) does not end"


@pytest.mark.slow
def test_a_second_run_makes_all_calls_of_the_rounds(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("evaluator.judge.blocking_rerun.applies", lambda *_: True)  # on the CPU no kernel is seen to be launched
    with caplog.at_level("INFO"):
        result = evaluate(context, make_job(forward("return torch.softmax(x, 1)")), lambda _: None)
    assert result.category is Category.NO_CUSTOM_KERNEL and result.evidence.stages_s["second_run"] > 0
    assert "run again" in caplog.text and "no second_run" not in caplog.text
