"""Refused launches: the requested sizes beside the allowed ones."""

from typing import Any

import pytest

from evaluator.diagnosis import diagnose
from evaluator.diagnosis.rules.launch_rules import launch_fault
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, KernelLimits, LaunchRecord
from tests.diagnosis.evidence import GPU, REFUSED, Rule, check, exception, failed, launch

LIMITS = KernelLimits(registers=128, static_shared_bytes=8192, local_bytes=0, max_threads=512, max_dynamic_shared_bytes=40960)


def refused(**changes: Any) -> LaunchRecord:
    fields: dict[str, Any] = {"kernel": "void tiled<4>(float*)", "code": 1}
    return launch(**fields | changes)


CASES: dict[str, tuple[dict[str, Any], Category, str]] = {
    "too many threads": ({"block": (2048, 1, 1)}, Category.OVERSIZED_BLOCK, "`tiled`: block 2048×1×1, the device allows 1024 threads"),
    "too many in three dimensions": ({"block": (32, 32, 2)}, Category.OVERSIZED_BLOCK, "block 32×32×2"),
    "a square of 33": ({"block": (33, 33, 1), "code": 9}, Category.OVERSIZED_BLOCK, "block 33×33×1, the device allows 1024 threads"),
    "too deep": ({"block": (1, 1, 65)}, Category.OVERSIZED_BLOCK, "allows 1024×1024×64"),
    "an empty grid": ({"grid": (0, 1, 1), "code": 9}, Category.INVALID_LAUNCH, "grid 0×1×1 is empty"),
    "an empty block": ({"block": (0, 1, 1), "code": 9}, Category.INVALID_LAUNCH, "block 0×1×1 is empty"),
    "a tall grid": (
        {"grid": (1, 65536, 1), "code": 9},
        Category.INVALID_LAUNCH,
        "grid 1×65536×1, the device allows 2147483647×65535×65535",
    ),
    "too many registers": (
        {"block": (1024, 1, 1), "limits": LIMITS, "code": 701},
        Category.INVALID_LAUNCH,
        "block 1024×1×1 has 1024 threads, its 128 registers per thread allow 512",
    ),
    "much shared memory, unasked": (
        {"shared_bytes": 65536, "limits": LIMITS},
        Category.INVALID_LAUNCH,
        "and 8192 static bytes, 40960 are allowed; for more, call cudaFuncSetAttribute(tiled,",
    ),
    "much shared memory, nothing known": ({"shared_bytes": 49153}, Category.INVALID_LAUNCH, "49152 are allowed"),
    "a grid of odd clusters": ({"cluster": (8, 1, 1)}, Category.INVALID_LAUNCH, "grid 4×1×1 is not a multiple of the cluster 8×1×1"),
    "a cluster of 16": ({"grid": (32, 1, 1), "cluster": (16, 1, 1)}, Category.INVALID_LAUNCH, "cluster 16×1×1; 8 blocks are allowed"),
    "another architecture": ({"code": 209}, Category.INVALID_LAUNCH, "compiled for another architecture"),
    "a cooperative launch": ({"code": 720}, Category.INVALID_LAUNCH, "more blocks than fit"),
    "a code that nobody knows": ({"code": 4242}, Category.INVALID_LAUNCH, "CUDA error 4242 (grid 4×1×1, block 256×1×1, 0 bytes"),
}


RULES: dict[str, Rule] = {
    "too many threads": (
        {"launches": (REFUSED,), "exception": exception(message="CUDA error: invalid argument")},
        Category.OVERSIZED_BLOCK,
        "block 4096×1×1, the device allows 1024 threads",
    ),
    "too much shared memory": (
        {"launches": (launch(code=1, shared_bytes=60_000),), "rounds": (failed(Category.NAN_OR_INF),)},
        Category.INVALID_LAUNCH,
        "60000 bytes of dynamic shared memory, 49152 are allowed; for more, call cudaFuncSetAttribute(k, ",
    ),
    "a refused launch of the library's": (
        {"launches": (launch(code=1, own=False),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.WRONG_VALUES,
        "round 1: so",
    ),
    "a refused launch that did no harm": ({**GPU, "launches": (REFUSED, launch())}, Category.OK, ""),
    "a refused launch, then a broken context": (
        {"launches": (REFUSED,), "exception": exception(cuda_error=700)},
        Category.ILLEGAL_MEMORY_ACCESS,
        "RuntimeError",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


@pytest.mark.parametrize("name", CASES)
def test_fault(name: str) -> None:
    changes, category, words = CASES[name]
    found, message = launch_fault(refused(**changes))
    assert (found, words in message) == (category, True), message


def test_the_first_refusal_is_told_of_several() -> None:
    raised = exception(message="CUDA error: invalid argument")
    launches = (refused(first=7, block=(2048, 1, 1)), refused(first=3, shared_bytes=50_000), refused(first=1, code=0))
    verdict = diagnose(Evidence(launches=launches, exception=raised))
    assert verdict.category is Category.INVALID_LAUNCH
    assert verdict.message.endswith("; launch 4 of the process, and the first of 2 kernels that were refused")


def test_torchs_words_alone_name_no_launch() -> None:
    raised = exception(message="CUDA error: invalid configuration argument", line=3)
    assert diagnose(Evidence(launches=(launch(),), exception=raised)).category is Category.PYTHON_EXCEPTION
