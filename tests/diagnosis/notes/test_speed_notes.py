"""Notes on the time of a right answer."""

from typing import Any

import pytest

from evaluator.diagnosis.feedback import MAX_CHARS, feedback
from evaluator.diagnosis.notes.speed_notes import speed_notes
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence, KernelLimits, LightEvidence, WorkloadEvidence
from evaluator.results.result import Result
from evaluator.results.score import overall_ms
from tests.db.samples import result
from tests.diagnosis.evidence import floor, timing
from tests.diagnosis.test_feedback import launch

LIGHT = LightEvidence.model_validate(
    {"read_bytes": 0, "written_bytes": 5_000_000_000, "moved_bytes": 5_000_000_000, "operations": 4e11, "arithmetic": "3 × tf32"}
    | {"bytes_per_s": 4e12, "operations_per_s": 8e14, "light_ms": 1.25, "bound": "memory", "declared": True}
)


def in_workloads(*times_ms: float | None, message: str = "far off", **more: Any) -> Result:
    """A result in the workloads w0, w1, …, in each of which the baseline takes 1 ms; None for an unsolved one."""
    one_ms = {"baseline": timing(1.0).baseline, "alone": None}
    found = [None if time_ms is None else timing(time_ms).model_copy(update=one_ms) for time_ms in times_ms]
    workloads = tuple(
        WorkloadEvidence(case=f"w{number}", right=each is not None, message="" if each else message, timing=each)
        for number, each in enumerate(found)
    )
    assert found[0] is not None
    timed = found[0].model_copy(update={"workloads": workloads, **more})
    runtime_ms, baseline_ms = overall_ms(timed)
    speedup = baseline_ms / runtime_ms
    evidence = Evidence(timing=timed, light=LIGHT)
    return result(Category.OK, runtime_ms=runtime_ms, baseline_ms=baseline_ms, speedup=speedup, evidence=evidence)


def test_a_time_bound_by_arithmetic_says_of_which() -> None:
    light = LIGHT.model_copy(update={"bound": "arithmetic"})
    text = "\n".join(speed_notes(result(Category.OK, speedup=2.0, evidence=Evidence(light=light))))
    assert "400 G operations must be done, at 800 TFLOP/s of 3 × tf32" in text


def test_a_slow_answer_is_told_why() -> None:
    evidence = Evidence(
        timing=timing(4.0),
        floor=floor(1.0),
        light=LIGHT,
        conditions=ConditionsEvidence(shared=True, throttled="", repeated=True),
        launches=(launch(threads=48, blocks=8, count=4000), launch("gemm<1>(int)", own=False)),
    )
    slow = result(Category.OK, runtime_ms=4.0, baseline_ms=1.0, speedup=0.25, evidence=evidence)
    text = "\n".join(speed_notes(slow))
    for words in (
        "4 ms per call, 4 times slower than the baseline's 1 ms",
        "31.2 % of the speed of light, the baseline 125 %: 5000 MB must be moved, at 4 TB/s",
        "the times may be off: others' processes were on the device, in a second timing too",
        "4007 launches in all",
        "`scale` has blocks of 48×1×1: 48 threads are not a multiple of 32",
        "`scale` has a grid of 8 blocks",
        "library kernels also run: `gemm`",
    ):
        assert words in text, text
    fast = "\n".join(speed_notes(result(Category.OK, speedup=2.0)))
    assert "2 times faster than" in fast and "grid of" not in fast


@pytest.mark.parametrize(
    ("deferred_ms", "unclaimed_ms", "told"),
    [
        (0.25, 0.5, ["0.5 ms of it are spent outside of its claimed times"]),
        (0.5, 0.25, ["0.5 ms of it are spent until the output arrives"]),
        (0.0, 0.0, []),
    ],
)
def test_what_was_added_to_a_time_is_told_once(deferred_ms: float, unclaimed_ms: float, told: list[str]) -> None:
    charged = timing(1.0).model_copy(update={"deferred_ms": deferred_ms, "unclaimed_ms": unclaimed_ms})
    assert charged.runtime_ms == pytest.approx(1.0 + max(deferred_ms, unclaimed_ms))
    text = "\n".join(speed_notes(result(Category.OK, speedup=2.0, evidence=Evidence(timing=charged))))
    assert [line.strip() for line in text.splitlines() if "of it are spent" in line] == told


@pytest.mark.parametrize(
    ("host_ms", "launch_lead_ms", "told"), [(2.5, 4.0, True), (0.5, 4.0, False), (2.5, 0.0, False), (None, 4.0, False)]
)
def test_a_host_that_takes_longer_than_the_device_is_told(host_ms: float | None, launch_lead_ms: float, told: bool) -> None:
    took = timing(1.0)
    led = took.model_copy(update={"candidate": took.candidate.model_copy(update={"host_ms": host_ms, "launch_lead_ms": launch_lead_ms})})
    text = "\n".join(speed_notes(result(Category.OK, speedup=2.0, evidence=Evidence(timing=led))))
    assert ("launching takes 2.5 ms on the host" in text) is told


def test_what_limits_a_kernel_is_told_of_a_slow_one() -> None:
    limits = KernelLimits(registers=168, static_shared_bytes=4096, local_bytes=64, max_threads=384, max_dynamic_shared_bytes=49152)
    for changes, words in (
        ({}, "is limited to 256 of 2048 threads per multiprocessor by 168 registers per thread"),
        (
            {"shared_bytes": 200_000, "limits": limits.model_copy(update={"registers": 32})},
            "is limited to 256 of 2048 threads per multiprocessor by 204096 bytes of shared memory per block",
        ),
        ({}, "keeps 64 bytes per thread in local memory"),
    ):
        kernel = launch(blocks=4000).model_copy(update={"limits": limits, **changes})
        slow = result(Category.OK, runtime_ms=2.0, baseline_ms=1.0, speedup=0.5, evidence=Evidence(launches=(kernel,)))
        assert words in "\n".join(speed_notes(slow))


def test_the_slowest_workloads_are_told_first_and_the_faster_ones_counted() -> None:
    assert speed_notes(in_workloads(0.5, 2.0, 0.125, 1.0, 0.25))[:6] == (
        "0.5 ms per call, 2 times faster than the baseline's 1 ms",
        "these figures are geometric means over 5 workloads",
        "workload `w1`: 2 ms per call, 2 times slower than the baseline's 1 ms",
        "workload `w3`: 1 ms per call, 1 times faster than the baseline's 1 ms",
        "workload `w0`: 0.5 ms per call, 2 times faster than the baseline's 1 ms",
        "and 2 more with higher speedups",
    )


def test_an_unsolved_workload_is_told_with_its_message_and_what_it_counts_as() -> None:
    assert speed_notes(in_workloads(0.1, None))[:4] == (
        "1 ms per call, 1 times faster than the baseline's 1 ms",
        "these figures are geometric means over 2 workloads, the baseline's time over the solved ones",
        "workload `w0`: 0.1 ms per call, 10 times faster than the baseline's 1 ms",
        "workload `w1` is unsolved, and counts as 0.1 times the baseline's speed: far off",
    )


def test_notes_on_one_workload_name_it() -> None:
    text = "\n".join(speed_notes(in_workloads(0.5, 0.5, unclaimed_ms=0.25)))
    assert "in workload `w0`, 0.25 ms of it are spent outside of its claimed times" in text
    assert "in workload `w0`, 167 % of the speed of light" in text
    assert "workload" not in "\n".join(speed_notes(result(Category.OK, evidence=Evidence(timing=timing(1.0), light=LIGHT))))


def test_many_unsolved_workloads_leave_room_in_the_feedback() -> None:
    text = feedback(in_workloads(0.5, *[None] * 40, message=f"line 3, in /home/judge/secret/a.py: {'y' * 100_000}\nthe end"), "").text
    assert text.count("is unsolved") == 3 and text.count("the end") == 3
    assert "and 37 more unsolved" in text and "secret" not in text
    assert len(text) < MAX_CHARS / 2
