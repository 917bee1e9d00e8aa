"""Failed builds: which one decides, and its message."""

import pytest

from evaluator.results.category import Category
from evaluator.results.evidence import ExitEvidence
from tests.diagnosis.evidence import CPU, TO_EXTENSION, UNDECLARED, Rule, build, check, exception

RULES: dict[str, Rule] = {
    "a failed build, then one that worked": ({**CPU, "builds": (UNDECLARED, build())}, Category.OK, ""),
    "a build that failed": ({"builds": (UNDECLARED,), "exception": TO_EXTENSION}, Category.UNDECLARED_IDENTIFIER, '"foo" is undefined'),
    "a build that failed without diagnostics": (
        {"builds": (build(Category.LINK_ERROR, "one\ntwo\n"),), "exception": TO_EXTENSION},
        Category.LINK_ERROR,
        "two",
    ),
    "a build that failed silently": (
        {"builds": (build(Category.BUILD_TIMEOUT),), "exception": TO_EXTENSION},
        Category.BUILD_TIMEOUT,
        "'x'",
    ),
    "a failed build, caught, then a missing name": (
        {"builds": (UNDECLARED,), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.PYTHON_EXCEPTION,
        "NameError",
    ),
    "no toolchain, caught, then a missing name": (
        {"builds": (build(Category.NO_TOOLCHAIN, "no nvcc"),), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.NO_TOOLCHAIN,
        "no nvcc",
    ),
    "a failed build, then an exit": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", code=1)},
        Category.UNDECLARED_IDENTIFIER,
        "",
    ),
    "a failed build, then a forbidden system call": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", signal="SIGSYS")},
        Category.SANDBOX_VIOLATION,
        "loading the file",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])
