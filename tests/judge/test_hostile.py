"""Whatever a worker does, its judge goes on, and the verdict is on that worker alone.

Most workers are light: threads that speak the protocol (see tests.judge.hostile). What is about processes runs in the sandbox.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.judge.workers import build_broker, launcher
from evaluator.judge.workers.client import WorkerClient
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.fuzz.conversation import LightZygote, short_deadlines
from tests.judge import hostile
from tests.judge.conftest import Judge, make_job
from tests.judge.hostile import BEHAVIOURS, ENTRY, PICKLE_MARKER, SPOILED

HURRY_S, PATIENCE_S = 1.0, 20.0
"""Timeouts: of those that let the judge wait for it, and of all others, which are over sooner unless the machine is busy."""
PROBLEM = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns))

    def forward(self, x):
        return x * self.weight


def get_inputs():
    return [torch.rand(5, 7)]


def get_init_inputs():
    return [7]
"""
SOFTMAX = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
"""


FORGED = Category.FORGED_RESULT
slow = pytest.mark.slow(25)
LIGHT = [
    ("garbage", "load", FORGED, "not a JSON frame"),
    ("garbage", "construct", FORGED, "not a JSON frame"),
    ("garbage", "map", FORGED, "not a JSON frame"),
    ("garbage", "inputs", FORGED, "not a JSON frame"),
    ("garbage", "call", FORGED, "not a JSON frame"),
    ("garbage", "reveal", FORGED, "not a JSON frame"),
    ("garbage", "unmap", FORGED, "not a JSON frame"),
    ("garbage", "time", FORGED, "not a JSON frame"),
    ("guessing_numbers", "inputs", FORGED, "a reply to request 1 "),
    ("wrong_kind", "load", FORGED, "a reply of kind 'loaded'"),
    ("answering_twice", "inputs", FORGED, "a reply to request"),
    ("silent", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("silent", "time", Category.TIMEOUT, "did not end within 1 s"),
    ("leaving_with_0", "time", Category.EARLY_EXIT, "forward() while timed ended the process"),
    ("hanging_up", "call", FORGED, "closed its channel and went on"),
    ("cut_off", "call", Category.EARLY_EXIT, "exit code 0"),
    ("flooding_builds", "call", FORGED, "more than 32 builds"),
    ("loud_builds", "call", Category.CPP_COMPILE_ERROR, "#error 0000"),
    ("build_with_long_names", "load", FORGED, "more than 32 builds"),
    ("negative_shape", "call", FORGED, "malformed"),
    ("large_shape", "call", Category.WRONG_SHAPE, "round 1: the output has shape (1099511627776, 1099511627776)"),
    ("unknown_dtype", "call", Category.WRONG_DTYPE, "float31"),
    ("other_device", "call", Category.WRONG_DEVICE, "is on cuda"),
    ("nothing_revealed", "reveal", Category.NAN_OR_INF, "35 of 35"),
    ("failure_without_end", "call", FORGED, "at most 100000 characters"),
    ("failure_with_a_long_line_number", "call", FORGED, "line"),
    ("failure_like_the_machines", "call", Category.PYTHON_EXCEPTION, "no CUDA-capable device"),
    ("large_shape", "time", Category.NONDETERMINISTIC, "has shape (1099511627776, 1099511627776)"),
    ("garbage", "poison", FORGED, "not a JSON frame"),
    ("silent", "poison", Category.TIMEOUT, "did not end within 1 s"),
    ("zeros", "timed", Category.CACHED_OUTPUT, ""),
    ("last_row_doubled", "timed", Category.TIMING_TAMPERING, "it answers otherwise when it is timed"),
]


CONFINED = [
    ("stopped", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("flooding_output", "call", Category.TIMEOUT, "did not end within 1 s"),
    ("left_to_a_child", "call", Category.EARLY_EXIT, "exit code 3"),
]


WAITED_FOR = {
    ("silent", "time"),
    ("hanging_up", "call"),
    ("loud_builds", "call"),
    ("silent", "poison"),
    ("stopped", "call"),
}
"""Cases that last a second or more: a deadline, or very much to read."""


def soon(cases: list[tuple[str, str, Category, str]]) -> list[Any]:
    """Leave those that are waited for to the full tests."""
    return [pytest.param(*case, marks=slow) if case[:2] in WAITED_FOR else case for case in cases]


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Spare `open_descriptors` a look at all that was there before."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def light(context: JudgeContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Result]]:
    """Judges a submission to `PROBLEM` with light workers, of which only the first line counts, in a hurry."""
    problem = tmp_path_factory.mktemp("hostile") / "scaled.py"
    problem.write_text(PROBLEM, encoding="utf-8")
    with LightZygote(hostile.__name__) as zygote:
        quick = replace(context, zygote=zygote)

        def judge(code: str, timeout_s: float = PATIENCE_S) -> Result:
            job = make_job(code, "scaled", timeout_s, problem)
            with short_deadlines(timeout_s):
                return Result.model_validate_json(evaluate(quick, job, lambda _: None).model_dump_json())

        yield judge


@pytest.fixture
def judge(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges softmax with confined workers that may be hostile."""
    monkeypatch.setattr(launcher, "WORKER_ENTRY", ENTRY)
    return judge


def open_descriptors() -> int:
    gc.collect()  # mapped memory goes with the last tensor over it
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def check(result: Result, category: Category, words: str) -> None:
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.runtime_ms is None
    assert len(result.model_dump_json()) < 1 << 21


def test_a_wrong_timed_answer_of_a_slow_worker_is_asked_for_again(light: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes any worker slow: that must not change the verdict."""
    monkeypatch.setattr(limits, "SLOW_CALL_S", 0.0)
    monkeypatch.setattr(limits, "SLOW_FACTOR", 0.0)
    result = light("# hostile: zeros at timed\nclass ModelNew: ...\n", PATIENCE_S)
    check(result, Category.CACHED_OUTPUT, "the same inputs again")


@pytest.mark.parametrize(("behaviour", "kind", "category", "words"), soon(LIGHT))
def test_a_light_worker_that_breaks_the_protocol(
    light: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, behaviour: str, kind: str, category: Category, words: str
) -> None:
    monkeypatch.setattr(WorkerClient, "exit_grace_s", HURRY_S)
    waits = category is Category.TIMEOUT or behaviour == "loud_builds"
    before = open_descriptors()
    check(light(f"# hostile: {behaviour} at {kind}\nclass ModelNew: ...\n", HURRY_S if waits else PATIENCE_S), category, words)
    assert open_descriptors() <= before


@pytest.mark.parametrize(("behaviour", "kind", "category", "words"), soon(CONFINED))
def test_a_confined_worker_that_breaks_the_protocol(judge: Judge, behaviour: str, kind: str, category: Category, words: str) -> None:
    before = open_descriptors()
    deadline_s = HURRY_S if category is Category.TIMEOUT else PATIENCE_S
    check(judge(f"# hostile: {behaviour} at {kind}\n{SOFTMAX}", timeout_s=deadline_s), category, words)
    assert open_descriptors() <= before


def test_nothing_that_a_worker_sends_is_unpickled(light: Callable[..., Result]) -> None:
    light("# hostile: a_pickle at call\nclass ModelNew: ...\n")
    assert not Path(PICKLE_MARKER).exists()


@slow
def test_what_compilers_say_is_kept_within_a_limit(light: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BUILDS", 6)
    result = light("# hostile: loud_builds_listened_to at call\nclass ModelNew: ...\n")
    check(result, FORGED, "more than 6 builds")
    builds = result.evidence.builds
    assert len(builds) == 6
    assert sum(len(build.output) for build in builds) == build_broker.MAX_BUILDS_OUTPUT_CHARS
    assert "#error 0000" in builds[0].output
    assert len(builds[-1].diagnostics) == build_broker.KEPT_DIAGNOSTICS


def test_all_builds_together_have_a_time(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BUILDING_S", 0.0)
    result = judge(f"# hostile: loud_builds_listened_to at call\n{SOFTMAX}", timeout_s=5.0)
    categories = [build.category for build in result.evidence.builds]
    assert categories[0] is Category.CPP_COMPILE_ERROR
    assert set(categories[1:]) == {Category.BUILD_TIMEOUT}


def test_every_behaviour_is_tried() -> None:
    assert {case[0] for case in (*LIGHT, *CONFINED)} | {"a_pickle", "loud_builds_listened_to"} == BEHAVIOURS.keys() | SPOILED.keys()


def test_after_all_of_them_an_honest_submission_is_judged(judge: Judge, light: Callable[..., Result]) -> None:
    for result in (judge(SOFTMAX), light("class ModelNew: ...\n")):
        assert result.category is Category.NO_CUSTOM_KERNEL, result.message
