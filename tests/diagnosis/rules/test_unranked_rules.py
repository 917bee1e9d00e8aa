"""Right answers: which are ranked."""

from typing import Any

import pytest

from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures, OwnWorkEvidence, RoundEvidence
from tests.diagnosis.evidence import CPU, GPU, KERNEL, NEEDED, NOT_NEEDED, ROUNDS, UNDECLARED, Rule, check, launch


def signs(distribution: str = "signs", **changes: Any) -> tuple[RoundEvidence, ...]:
    """Rounds in one of which all elements err as TF32 does."""
    fields: dict[str, Any] = {"output": "", "elements": 1000, "wrong": 0, "max_error": 2e-3, "rms_error": 4e-4, "tolerance": 4e-5}
    fields |= {"reference_error": 1e-7, "beyond": 800, "gross_error": 2e-3}
    outputs = (ErrorFigures(**fields | changes),)
    return (*ROUNDS, RoundEvidence(index=2, seed=1, distribution=distribution, passed=True, outputs=outputs))


def left_out(distribution: str, rounds: tuple[RoundEvidence, ...]) -> tuple[RoundEvidence, ...]:
    """These rounds, of which the last has inputs of this distribution, and is left out."""
    return (*rounds[:-1], rounds[-1].model_copy(update={"distribution": distribution, "message": "left out: it errs"}))


UNTIMED: dict[str, Any] = {**GPU, "device_kind": "cuda", "timing": None, "untimed": True}
SORT = "void cub::CUB_300001_SM_900::detail::segmented_sort::DeviceSegmentedSortKernel<false, float*>(float*)"


def own_work(time_share: float, written_bytes: int) -> OwnWorkEvidence:
    return OwnWorkEvidence(time_share=time_share, written_bytes=written_bytes, answer_bytes=40_000)


RULES: dict[str, Rule] = {
    "all well on a GPU": ({**GPU, "launches": (launch(),)}, Category.OK, ""),
    "all well on the CPU": (CPU, Category.OK, ""),
    "all well, and wrong without its own kernels": ({**GPU, "launches": (launch(),), "ablation": NEEDED}, Category.OK, ""),
    "a stream of its own that is waited for": ({**GPU, "launches": (launch(side_stream=True),)}, Category.OK, ""),
    "still right without its own kernels": (
        {**GPU, "launches": (launch(),), "ablation": NOT_NEEDED},
        Category.NO_CUSTOM_KERNEL,
        "still right with its own kernels left out",
    ),
    "still right without its extension": ({**CPU, "ablation": NOT_NEEDED}, Category.NO_CUSTOM_KERNEL, "still right"),
    "own kernels that do next to nothing": (
        {**GPU, "launches": (launch(),), "ablation": NEEDED, "own_work": own_work(0.02, 4)},
        Category.NO_CUSTOM_KERNEL,
        "do too little: 2.00 % of a call's time, 4 bytes written for an output of 40000",
    ),
    "own functions that do next to nothing": ({**CPU, "ablation": NEEDED, "own_work": own_work(0.0, 0)}, Category.NO_CUSTOM_KERNEL, ""),
    "own functions that take their time": ({**CPU, "ablation": NEEDED, "own_work": own_work(0.1, 4)}, Category.OK, ""),
    "own functions that write enough": ({**CPU, "ablation": NEEDED, "own_work": own_work(0.02, 4000)}, Category.OK, ""),
    "no launch of its own": ({**GPU, "launches": (launch(own=False),)}, Category.NO_CUSTOM_KERNEL, "own kernels ran"),
    "a library's launch alone": (
        {**GPU, "launches": (launch(kernel=SORT),)},
        Category.NO_CUSTOM_KERNEL,
        "library kernels: DeviceSegmentedSort",
    ),
    "a library's launch beside one of its own": ({**GPU, "launches": (launch(kernel=SORT), launch())}, Category.OK, ""),
    "a library's launch beside a refused one": (
        {**GPU, "launches": (launch(kernel=SORT), launch(code=1))},
        Category.NO_CUSTOM_KERNEL,
        "library kernels",
    ),
    "no launch at all": (GPU, Category.NO_CUSTOM_KERNEL, "own kernels ran"),
    "only a refused launch of its own": ({**GPU, "launches": (launch(code=1),)}, Category.NO_CUSTOM_KERNEL, "own kernels ran"),
    "no extension on the CPU": ({**CPU, "builds": ()}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed extension, survived, on the CPU": ({**CPU, "builds": (UNDECLARED,)}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "no times requested": ({**UNTIMED, "launches": (launch(),)}, Category.UNTIMED, "no times"),
    "no times requested, on the CPU": ({**CPU, "timing": None, "untimed": True}, Category.UNTIMED, "no times"),
    "no launch and no times requested": (UNTIMED, Category.NO_CUSTOM_KERNEL, "own kernels ran"),
    "narrow arithmetic and no times requested": ({**UNTIMED, "launches": (launch(),), "rounds": signs()}, Category.REDUCED_PRECISION, ""),
    "narrow arithmetic": ({**KERNEL, "rounds": signs()}, Category.REDUCED_PRECISION, "RMS error is 0.0004"),
    "narrow arithmetic on the CPU": ({**CPU, "rounds": signs()}, Category.REDUCED_PRECISION, "narrower"),
    "narrow arithmetic of the library's": ({**CPU, "builds": (), "rounds": signs()}, Category.NO_CUSTOM_KERNEL, "no extension"),
    "narrow arithmetic that a problem allows": ({**KERNEL, "rounds": signs(tolerance=2e-3)}, Category.OK, ""),
    "narrow arithmetic of the reference's": ({**KERNEL, "rounds": signs(reference_error=1e-3)}, Category.OK, ""),
    "a formula that is off at a few elements": ({**KERNEL, "rounds": signs(beyond=50)}, Category.OK, ""),
    "a small error at many elements": ({**KERNEL, "rounds": signs(rms_error=9e-5)}, Category.OK, ""),
    "signs that decide by the tolerance": ({**KERNEL, "rounds": signs(gross_error=None)}, Category.OK, ""),
    "narrow arithmetic where a few values were changed": (
        {**CPU, "rounds": signs("outliers")},
        Category.REDUCED_PRECISION,
        "a few changed values",
    ),
    "rows of other sizes, whose errors weigh otherwise": ({**KERNEL, "rounds": signs("scaled")}, Category.OK, ""),
    "a trivial answer without a kernel": (
        {**GPU, "trivial": ("zeros",), "ablation": NOT_NEEDED},
        Category.DEGENERATE_PROBLEM,
        "zeros",
    ),
    "a reference without an accurate output": (
        {**CPU, "rounds": left_out("own", signs())},
        Category.DEGENERATE_PROBLEM,
        "no answer can be called wrong: it errs",
    ),
    "other inputs on which the reference is not accurate": (
        {**CPU, "rounds": left_out("rows", signs(reference_error=1e-3))},
        Category.OK,
        "",
    ),
    "a problem that trivial answers pass": ({**CPU, "trivial": ("zeros", "ones")}, Category.DEGENERATE_PROBLEM, "zeros, ones"),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])
