"""Whatever a worker does, its judge goes on, and the verdict is on that worker alone."""

import gc
from pathlib import Path

import pytest

from evaluator.judge.workers import build_broker, launcher
from evaluator.results.category import Category
from tests.judge.conftest import Judge
from tests.judge.hostile import BEHAVIOURS, ENTRY

pytestmark = pytest.mark.slow(60)

SOFTMAX = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
"""

FORGED = Category.FORGED_RESULT
CASES = [
    ("garbage", "load", FORGED, "not a JSON frame"),
    ("garbage", "construct", FORGED, "not a JSON frame"),
    ("garbage", "map", FORGED, "not a JSON frame"),
    ("garbage", "inputs", FORGED, "not a JSON frame"),
    ("garbage", "call", FORGED, "not a JSON frame"),
    ("garbage", "reveal", FORGED, "not a JSON frame"),
    ("garbage", "unmap", FORGED, "not a JSON frame"),
    ("garbage", "time", FORGED, "not a JSON frame"),
    ("announcing_four_gibibytes", "call", FORGED, "4294967295 bytes"),
    ("an_empty_frame", "call", FORGED, "not a JSON frame"),
    ("a_list", "call", FORGED, "not list"),
    ("deep_json", "call", FORGED, "not a JSON frame"),
    ("a_lone_surrogate", "call", FORGED, "not a JSON frame"),
    ("wrong_number", "call", FORGED, "a reply to request 0"),
    ("number_of_another_type", "call", FORGED, "a reply to request [1]"),
    ("wrong_kind", "load", FORGED, "a reply of kind 'loaded'"),
    ("kind_of_another_type", "call", FORGED, "a reply of kind {'a': 1}"),
    ("answering_twice", "inputs", FORGED, "a reply to request"),
    ("answering_ahead", "inputs", FORGED, "a reply to request"),
    ("silent", "call", Category.TIMEOUT, "forward() did not end within 1 s"),
    ("silent", "time", Category.TIMEOUT, "forward() while timed did not end within 1 s"),
    ("stopped", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("dripping", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("flooding_output", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("leaving_with_0", "call", Category.EARLY_EXIT, "exit code 0"),
    ("leaving_with_7", "construct", Category.EARLY_EXIT, "constructing ModelNew ended the process with exit code 7"),
    ("leaving_with_0", "time", Category.EARLY_EXIT, "forward() while timed ended the process"),
    ("segmentation_fault", "load", Category.PROCESS_CRASH, "loading the file ended by SIGSEGV"),
    ("killed_by_itself", "call", Category.PROCESS_CRASH, "SIGKILL"),
    ("hanging_up", "call", FORGED, "closed its channel and went on"),
    ("left_to_a_child", "call", Category.EARLY_EXIT, "exit code 3"),
    ("cut_off", "call", Category.EARLY_EXIT, "exit code 0"),
    ("flooding", "call", FORGED, "a reply to request 1 "),
    ("flooding_builds", "call", FORGED, "more than 32 builds"),
    ("loud_builds", "call", Category.CPP_COMPILE_ERROR, "#error 0000"),
    ("loud_builds_listened_to", "call", FORGED, "more than 32 builds"),
    ("build_of_nothing", "load", FORGED, "more than 32 builds"),
    ("build_with_long_names", "load", FORGED, "more than 32 builds"),
    ("sending_descriptors", "inputs", Category.PYTHON_EXCEPTION, "IndexError"),
    ("no_output", "call", FORGED, "structure"),
    ("negative_shape", "call", FORGED, "malformed"),
    ("huge_shape", "call", FORGED, "malformed"),
    ("large_shape", "call", Category.WRONG_SHAPE, "round 1: the output has shape (1099511627776, 1099511627776)"),
    ("shape_of_floats", "call", FORGED, "malformed"),
    ("no_shape", "call", FORGED, "malformed"),
    ("unknown_dtype", "call", Category.WRONG_DTYPE, "float31"),
    ("dtype_that_is_a_module", "call", Category.WRONG_DTYPE, "_inductor"),
    ("device_of_another_type", "call", FORGED, "malformed"),
    ("other_device", "call", Category.WRONG_DEVICE, "is on cuda"),
    ("very_many_tensors", "call", FORGED, "more than 1024 tensors"),
    ("very_many_values", "call", Category.WRONG_STRUCTURE, "a list of 500000"),
    ("deep_structure", "call", FORGED, "structure"),
    ("an_object", "call", Category.WRONG_STRUCTURE, "a TensorTensor"),
    ("nothing_revealed", "reveal", Category.NAN_OR_INF, "17357 of 17357"),
    ("failure_of_numbers", "call", FORGED, "valid string"),
    ("failure_without_end", "call", FORGED, "at most 100000 characters"),
    ("failure_with_a_fraction_of_a_line", "call", FORGED, "line"),
    ("failure_with_a_long_line_number", "call", FORGED, "line"),
    ("failure_as_it_should_be", "call", Category.PYTHON_EXCEPTION, "ValueError: as it says"),
    ("no_output", "time", FORGED, "structure"),
    ("negative_shape", "time", FORGED, "malformed"),
    ("large_shape", "time", Category.CACHED_OUTPUT, "has shape (1099511627776, 1099511627776)"),
    ("unknown_dtype", "time", Category.CACHED_OUTPUT, "float31"),
    ("garbage", "poison", FORGED, "not a JSON frame"),
    ("silent", "poison", Category.TIMEOUT, "did not end within 1 s"),
]


@pytest.fixture(autouse=True)
def hostile_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "WORKER_ENTRY", ENTRY)


def open_descriptors() -> int:
    gc.collect()  # mapped memory goes with the last tensor over it
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize(("behaviour", "kind", "category", "words"), CASES)
def test_a_worker_that_breaks_the_protocol(judge: Judge, behaviour: str, kind: str, category: Category, words: str) -> None:
    before = open_descriptors()
    result = judge(f"# hostile: {behaviour} at {kind}\n{SOFTMAX}", timeout_s=1.0)
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.runtime_ms is None
    assert len(result.model_dump_json()) < 1 << 21
    assert open_descriptors() <= before


def test_answers_to_builds_that_nobody_reads_cost_no_more_than_the_deadline(judge: Judge) -> None:
    result = judge(f"# hostile: loud_builds at call\n{SOFTMAX}", timeout_s=1.0)
    assert result.evidence.exit is not None
    assert result.evidence.exit.deadline_s == 1.0
    assert result.evidence.stages_s["rounds"] < 4


def test_what_compilers_say_is_kept_within_a_limit(judge: Judge) -> None:
    result = judge(f"# hostile: loud_builds_listened_to at call\n{SOFTMAX}", timeout_s=5.0)
    builds = result.evidence.builds
    assert len(builds) == build_broker.MAX_BUILDS
    assert sum(len(build.output) for build in builds) == build_broker.MAX_BUILDS_OUTPUT_CHARS
    assert "#error 0000" in builds[0].output
    assert len(builds[-1].diagnostics) == build_broker.KEPT_DIAGNOSTICS


def test_all_builds_together_have_a_time(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_broker, "MAX_BUILDING_S", 0.0)
    result = judge(f"# hostile: loud_builds_listened_to at call\n{SOFTMAX}", timeout_s=5.0)
    categories = [build.category for build in result.evidence.builds]
    assert categories[0] is Category.CPP_COMPILE_ERROR
    assert set(categories[1:]) == {Category.BUILD_TIMEOUT}


def test_every_behaviour_is_tried() -> None:
    assert {case[0] for case in CASES} == set(BEHAVIOURS)


def test_after_all_of_them_an_honest_submission_is_judged(judge: Judge) -> None:
    result = judge(SOFTMAX)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
