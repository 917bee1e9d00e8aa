"""Results in KernelBench's form."""

import pytest

from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.evidence import Evidence, ExceptionEvidence, RoundEvidence
from evaluator.results.kernelbench import KernelExecResult, executed
from tests.db.samples import result, timing


def test_the_fields_are_kernelbenchs() -> None:
    untouched = {"compiled": False, "correctness": False, "metadata": {}, "runtime": -1.0, "runtime_stats": {}}
    assert KernelExecResult().model_dump() == untouched | {"ref_runtime": -1.0, "ref_runtime_stats": {}}


@pytest.mark.parametrize("category", Category)
def test_every_category_says_what_it_was_and_which_error(category: Category) -> None:
    told = executed(result(category))
    status = CATEGORIES[category].status
    assert told.correctness == (status is Status.CORRECT)
    assert told.metadata["status"] == status and told.metadata["category"] == category
    assert (told.runtime > 0) == (status is Status.CORRECT and category is not Category.UNTIMED)
    errors = {key for key in told.metadata if key in ("compilation_error", "runtime_error", "correctness_issue")}
    judged_right = status in (Status.CORRECT, Status.NOT_EVALUATED)
    assert len(errors) == (0 if judged_right else 1)
    assert told.compiled == ("compilation_error" not in errors)


def test_an_error_has_the_name_of_its_exception() -> None:
    raised = ExceptionEvidence(stage="construct", type="ModuleNotFoundError", message="No module named 'triton'")
    told = executed(result(Category.IMPORT_ERROR, evidence=Evidence(exception=raised)))
    assert (told.compiled, told.metadata["compilation_error_name"]) == (False, "ModuleNotFoundError")
    assert executed(result(Category.WRONG_VALUES)).metadata["correctness_issue_name"] == "wrong_values"


def test_the_time_that_counts_is_the_mean() -> None:
    rounds = (RoundEvidence(index=0, seed=1, passed=True), RoundEvidence(index=1, seed=2, passed=True))
    told = executed(result(speedup=3.0, evidence=Evidence(rounds=rounds, timing=timing(3.0))))
    assert (told.runtime, told.ref_runtime) == (2.0, 6.0)
    machine = {"hardware": "NVIDIA H200", "device": "cuda:0"}
    assert told.runtime_stats == {"mean": 2.0, "std": 0.0, "min": 2.0, "max": 2.0, "num_trials": 8} | machine
    assert told.ref_runtime_stats["mean"] == 6.0
    assert told.metadata["correctness_trials"] == "(2 / 2)"
    assert executed(result(speedup=3.0)).runtime_stats == {"mean": 2.0} | machine, "without samples"
