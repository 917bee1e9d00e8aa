"""What is said of the time of a right answer."""

import pytest

from evaluator.diagnosis.notes.speed_notes import speed_notes
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence, KernelLimits, LightEvidence
from tests.db.samples import result
from tests.diagnosis.evidence import floor, timing
from tests.diagnosis.test_feedback import launch

LIGHT = LightEvidence.model_validate(
    {"read_bytes": 0, "written_bytes": 5_000_000_000, "moved_bytes": 5_000_000_000, "operations": 4e11, "arithmetic": "3 × tf32"}
    | {"bytes_per_s": 4e12, "operations_per_s": 8e14, "light_ms": 1.25, "bound": "memory", "declared": True}
)


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


@pytest.mark.parametrize(("host_ms", "head_start_ms", "told"), [(2.5, 4.0, True), (0.5, 4.0, False), (2.5, 0.0, False), (None, 4.0, False)])
def test_a_host_that_takes_longer_than_the_device_is_told(host_ms: float | None, head_start_ms: float, told: bool) -> None:
    took = timing(1.0)
    led = took.model_copy(update={"candidate": took.candidate.model_copy(update={"host_ms": host_ms, "head_start_ms": head_start_ms})})
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
