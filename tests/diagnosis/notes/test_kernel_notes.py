"""Notes on the time that kernels take."""

import pytest

from evaluator.diagnosis.feedback import feedback
from evaluator.diagnosis.notes.kernel_notes import breakdown, launches_a_call, own_share
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, KernelTimes, LaunchRecord
from evaluator.results.result import Result
from tests.db.samples import result
from tests.diagnosis.notes.test_static_notes import submission
from tests.diagnosis.test_feedback import launch

CODE = submission(forward="return torch.softmax(ops.run(x), 1)")


def timed(kernel: str, timed: int, device_ms: float, own: bool = True) -> LaunchRecord:
    return launch(kernel, own=own, blocks=4000).model_copy(update={"timed": timed, "device_ms": device_ms})


def observed(*launches: LaunchRecord, call_ms: float = 10.0, calls: int = 2) -> Evidence:
    """`call_ms` for all calls together."""
    return Evidence(launches=launches, kernel_times=KernelTimes(calls=calls, call_ms=call_ms))


MIXED = observed(timed("scale(float*)", 4, 1.0), timed("void gemm<float>(int)", 2, 6.0, own=False), launch("never(int)"))


def slow(evidence: Evidence) -> Result:
    return result(Category.OK, runtime_ms=5.0, baseline_ms=1.0, speedup=0.2, evidence=evidence)


def test_time_is_shared_out_among_launches() -> None:
    scale, gemm, never = MIXED.launches
    assert (MIXED.device_share(scale), MIXED.device_share(gemm), MIXED.device_share(never)) == (0.1, 0.6, None)
    assert (scale.each_ms, gemm.each_ms, never.each_ms) == (0.25, 3.0, None)
    assert own_share(MIXED) == 0.1 and launches_a_call(MIXED) == 3.0


def test_kernels_that_a_graph_replays_have_no_share() -> None:
    replayed = observed(launch("scale()"), timed("gemm()", 2, 4.0, own=False))
    assert own_share(replayed) is None
    assert "making them faster" not in feedback(slow(replayed), CODE).text
    assert own_share(observed(timed("gemm()", 2, 4.0, own=False))) == 0.0


def test_kernels_side_by_side_share_what_they_have() -> None:
    beside = observed(timed("a()", 2, 9.0), timed("b()", 2, 9.0), call_ms=10.0)
    assert [beside.device_share(one) for one in beside.launches] == [0.5, 0.5]
    assert len(breakdown(beside)) == 1, "nothing is left"


@pytest.mark.parametrize(
    "evidence", [Evidence(launches=(launch(),)), observed(call_ms=0.0, calls=0), observed(timed("a()", 1, 0.0), call_ms=0.0)]
)
def test_where_nothing_was_timed_nothing_is_told(evidence: Evidence) -> None:
    assert all(evidence.device_share(one) is None for one in evidence.launches)
    assert not own_share(evidence)
    assert "of a call's time" not in feedback(slow(Evidence(launches=evidence.launches)), CODE).text


def test_the_longest_is_named_first_and_the_rest_is_no_kernels() -> None:
    time, rest = breakdown(MIXED)
    assert time == "time by kernel: `gemm` (library) 60.0 % (3 ms); `scale` 10.0 % (0.25 ms, 2 launches)"
    assert rest.startswith("30.0 % of a call's time is outside these launches") and "cuBLAS" in rest


def test_many_kernels_are_summed_up() -> None:
    many = observed(*(timed(f"k{number}()", 2, 1.0) for number in range(8)))
    assert breakdown(many)[0].endswith("; 3 others 30.0 %")


def test_a_slow_answer_is_told_where_its_time_goes() -> None:
    text = feedback(slow(MIXED), CODE).text
    for words in (
        "time by kernel: `gemm` (library) 60.0 %",
        "its own kernels take 10.0 % of a call's time: replace the other work before making them faster",
        "`scale` × 7: grid 4000×1×1, block 256×1×1; 0.25 ms per launch, 10.0 % of a call's time",
        "7 launches of library kernels; they take 60.0 % of a call's time, mostly `gemm`",
    ):
        assert words in text, text
    assert "making them faster" not in feedback(slow(observed(timed("scale()", 2, 9.0))), CODE).text


def test_a_wrong_answer_is_told_what_ran() -> None:
    text = feedback(result(Category.WRONG_VALUES, message="so", evidence=MIXED), CODE).text
    assert "0.25 ms per launch, 10.0 % of a call's time" in text and "time by kernel" not in text


def test_many_launches_a_call_are_remarked_on() -> None:
    many = observed(timed("tiny()", 84, 1.0))
    assert "42 launches per call: each costs some microseconds, so fuse kernels" in feedback(slow(many), CODE).text
    assert "fuse kernels" not in feedback(slow(MIXED), CODE).text
