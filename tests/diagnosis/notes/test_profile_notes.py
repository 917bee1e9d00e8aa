"""The advice that follows from a profile."""

from typing import Any

import pytest

from evaluator.diagnosis.notes.profile_notes import EXCESS_BYTES, WAITS, excess, told, waits_for
from evaluator.results.evidence import KernelProfile, LightEvidence, ProfiledSide, ProfileEvidence, Stall

MB = 1_000_000
LIGHT = LightEvidence(
    read_bytes=100 * MB, written_bytes=50 * MB, moved_bytes=150 * MB, operations=0, light_ms=0.04, bound="memory", declared=True
)


def kernel(**more: Any) -> KernelProfile:
    values: dict[str, Any] = {"kernel": "void ns::softmax<4>(float*)", "own": True, "duration_ms": 0.2, "block": (256, 1, 1)}
    return KernelProfile(**values | more)


def advice(*kernels: KernelProfile, light: LightEvidence | None = LIGHT, **more: Any) -> str:
    side = ProfiledSide(outcome="ended", kernels=kernels)
    return "\n".join(told(ProfileEvidence(version="1", case="full", submission=side, light=light, **more)))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"read_bytes": 310 * MB, "written_bytes": 50 * MB}, "reads each input 3.1 times"),
        ({"read_bytes": 100 * MB, "written_bytes": 100 * MB}, "writes 2 times the output's bytes"),
        ({"read_bytes": 310 * MB, "written_bytes": 50 * MB}, "360 MB to and from device memory (needed: 150 MB)"),
        ({"memory_share": 0.91}, "91.0 % of the memory's peak: only fewer bytes make it faster"),
        ({"arithmetic_share": 0.85}, "85.0 % of the arithmetic's peak: only fewer or cheaper instructions"),
        (
            {"occupancy": 0.25, "occupancy_limit": 0.25, "limited_by": ("registers",), "registers": 168},
            "occupancy 25.0 %, limited by 168 registers per thread",
        ),
        (
            {"occupancy": 0.12, "occupancy_limit": 0.125, "limited_by": ("shared memory",), "shared_bytes": 102400},
            "occupancy 12.0 %, limited by 102400 bytes of shared memory per block",
        ),
        (
            {"occupancy": 0.4, "occupancy_limit": 0.5, "limited_by": ("block size",), "block": (32, 32, 1)},
            "blocks of 1024 threads",
        ),
        ({"occupancy": 0.4, "occupancy_limit": 0.5, "limited_by": ("blocks",), "block": (32, 1, 1)}, "at 32 threads each"),
        (
            {
                "occupancy": 0.2,
                "occupancy_limit": 0.25,
                "limited_by": ("registers", "shared memory"),
                "registers": 128,
                "shared_bytes": 65536,
            },
            "128 registers per thread and 65536 bytes of shared memory per block",
        ),
        ({"occupancy": 0.1, "occupancy_limit": 1.0}, "occupancy 10.0 %, but the launch permits 100 %: too few blocks, or uneven work"),
        (
            {"memory_share": 0.2, "arithmetic_share": 0.3, "stalls": (Stall(reason="barrier", share=0.6), Stall(reason="wait", share=0.1))},
            "its warps wait for other warps at a barrier (60.0 %); the fixed latency of the instruction before (10.0 %)",
        ),
        ({"memory_share": 0.6, "l2_hit_share": 0.12}, "L2 hits 12.0 %"),
    ],
)
def test_what_holds_a_kernel_back_is_told(figures: dict[str, Any], words: str) -> None:
    assert words in advice(kernel(**figures))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"read_bytes": 110 * MB, "written_bytes": 55 * MB}, "reads each"),
        ({"read_bytes": 110 * MB, "written_bytes": 52 * MB}, "writes"),
        ({"occupancy": 0.8, "occupancy_limit": 1.0}, "occupancy"),
        ({"memory_share": 0.9, "arithmetic_share": 0.3, "stalls": (Stall(reason="barrier", share=0.6),)}, "wait for"),
        ({"memory_share": 0.5}, "faster"),
    ],
)
def test_what_is_well_is_not_told(figures: dict[str, Any], words: str) -> None:
    assert words not in advice(kernel(**figures))


def test_a_kernel_of_which_nothing_is_known_says_nothing() -> None:
    assert advice(kernel(duration_ms=None)) == ""


def test_the_longest_kernels_are_told_first_and_the_others_counted() -> None:
    lines = advice(*(kernel(kernel=f"k{number}(int)", duration_ms=number, memory_share=0.5) for number in range(1, 8))).splitlines()
    assert lines[0] == "its own kernels: 7 launches, 28 ms"
    assert [line.split("`")[1] for line in lines[1:5]] == ["k7", "k6", "k5", "k4"] and lines[5] == "and 3 shorter launches"


def test_the_reference_is_told_beside_it() -> None:
    side = ProfiledSide(outcome="ended", kernels=(kernel(own=False, read_bytes=200 * MB, written_bytes=50 * MB),))
    assert "the reference's kernels: 0.2 ms; 250 MB to and from" in advice(kernel(memory_share=0.5), reference=side)


def test_what_was_not_measured_is_told() -> None:
    refused = ProfiledSide(outcome="refused", remark="ERR_NVGPUCTRPERM - ask your administrator")
    found = told(ProfileEvidence(version="1", case="full", submission=refused))
    assert found == ("the profile is not complete: ERR_NVGPUCTRPERM - ask your administrator",)
    assert told(ProfileEvidence(remark="nothing was profiled: no ncu")) == ("nothing was profiled: no ncu",)
    assert told(ProfileEvidence()) == ()


def test_another_case_is_named() -> None:
    assert advice(kernel(), remark="full has 13 GB").startswith("not the evaluation's case: full has 13 GB")


def test_bytes_count_as_too_many_by_share_and_by_number() -> None:
    assert excess(1000.0, 10) is None and excess(None, 10) is None and excess(1e9, 0) is None
    assert excess(EXCESS_BYTES + 10.0, 10) == pytest.approx((EXCESS_BYTES + 10) / 10)
    assert excess(110.0 * MB, 100 * MB) is None


# Two kernels of 0.2 ms that use 90 % of the issue slots: 0.36 ms to issue 9e6 warp instructions. LIGHT is 0.04 ms for 150 MB.
BUSY = {"instructions": 4_500_000, "issue_share": 0.9}


@pytest.mark.parametrize(
    ("light", "words"),
    [
        (LIGHT, "execute 1.92 instructions for each byte that the problem needs: issuing them alone takes 0.36 ms"),
        (LIGHT, "by memory, 0.04 ms, leaves time for 0.213: load and store 16 bytes at once"),
        (LIGHT.model_copy(update={"bound": "arithmetic", "light_ms": 0.18}), "0.18 ms, leaves time for 0.96: use tensor cores"),
    ],
)
def test_too_many_instructions_are_told_by_the_byte(light: LightEvidence, words: str) -> None:
    assert words in advice(kernel(**BUSY), kernel(**BUSY), light=light)


@pytest.mark.parametrize(
    ("figures", "light"),
    [
        ({}, LIGHT.model_copy(update={"light_ms": 0.37})),  # they take 0.36 ms to issue
        ({}, None),
        ({}, LIGHT.model_copy(update={"read_bytes": 0, "written_bytes": 0})),
        ({"issue_share": 0.45}, LIGHT),  # latency is the limit
        ({"issue_share": None}, LIGHT),
        ({"instructions": None}, LIGHT),
        ({"duration_ms": None}, LIGHT),
    ],
)
def test_instructions_that_are_not_the_limit_are_not_told(figures: dict[str, Any], light: LightEvidence | None) -> None:
    assert "execute" not in advice(*[kernel(**BUSY | figures)] * 2, light=light)


def test_a_reason_without_words_keeps_its_name() -> None:
    assert waits_for("barrier") == WAITS["barrier"] and waits_for("warpgroup_arrive") == "warpgroup_arrive"
