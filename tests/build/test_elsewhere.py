"""Builds that another machine is asked for first."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache, Entry
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence
from tests.build.conftest import calls, request

ELSEWHERE_S, BUILT_S = 0.2, 0.1


class Other:
    """Another machine, which replies with a given entry."""

    def __init__(self, entry: Entry | None) -> None:
        self.entry = entry
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: BuildRequest, key: str) -> Entry | None:
        self.asked.append((request.name, key))
        time.sleep(ELSEWHERE_S)
        return self.entry


def entry_for(toolchain: Toolchain, shared_object: bytes | None = b"made elsewhere") -> Entry:
    key = request().key(toolchain)
    category = None if shared_object else Category.CPP_COMPILE_ERROR
    evidence = BuildEvidence(name="answer", key=key, ok=category is None, category=category, uses_cuda=False, duration_s=BUILT_S)
    return Entry(evidence, shared_object)


def test_what_another_machine_has_made_is_taken_and_kept(bare: Toolchain, tmp_path: Path) -> None:
    other = Other(entry_for(bare))
    builder = Builder(Cache(tmp_path / "cache"), bare, elsewhere=other)
    first = builder.build(request())
    assert first.evidence.ok and not first.evidence.cached and calls(bare) == 0
    assert first.object_fd is not None and os.pread(first.object_fd, 100, 0) == b"made elsewhere"
    # The build itself is no waiting.
    assert first.waited_s >= ELSEWHERE_S - BUILT_S - 0.01 and first.evidence.duration_s >= BUILT_S - 0.01
    again = builder.build(request())
    assert again.evidence.cached and other.asked == [("answer", request().key(bare))]
    for outcome in (first, again):
        os.close(outcome.object_fd or 0)


def test_a_failure_is_the_same_failure_wherever_it_was_found(bare: Toolchain, tmp_path: Path) -> None:
    outcome = Builder(Cache(tmp_path / "cache"), bare, elsewhere=Other(entry_for(bare, None))).build(request())
    assert (outcome.evidence.category, outcome.object_fd, calls(bare)) == (Category.CPP_COMPILE_ERROR, None, 0)


@pytest.mark.parametrize("other", ["none", "another key"])
def test_without_a_fitting_answer_it_is_built_here(bare: Toolchain, tmp_path: Path, other: str) -> None:
    made = entry_for(bare)
    wrong = replace(made, evidence=made.evidence.model_copy(update={"key": "0" * 64}))
    outcome = Builder(Cache(tmp_path / "cache"), bare, elsewhere=Other(None if other == "none" else wrong)).build(request())
    assert outcome.evidence.ok and calls(bare) > 0
    assert outcome.waited_s >= ELSEWHERE_S
    assert outcome.object_fd is not None and os.pread(outcome.object_fd, 4, 0) == b"\x7fELF"
    os.close(outcome.object_fd)
