"""Right answers: which are ranked."""

import pytest

from evaluator.results.category import Category
from tests.diagnosis.evidence import CPU, GPU, NEEDED, NOT_NEEDED, UNDECLARED, Rule, check, launch

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
    "no launch of its own": ({**GPU, "launches": (launch(own=False),)}, Category.NO_CUSTOM_KERNEL, "no kernel of the submission's own"),
    "no launch at all": (GPU, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "only a refused launch of its own": ({**GPU, "launches": (launch(code=1),)}, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "no extension on the CPU": ({**CPU, "builds": ()}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed extension, survived, on the CPU": ({**CPU, "builds": (UNDECLARED,)}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a problem that trivial answers pass": ({**CPU, "trivial": ("zeros", "ones")}, Category.DEGENERATE_PROBLEM, "zeros, ones"),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])
