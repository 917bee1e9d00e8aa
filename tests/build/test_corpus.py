"""The shipped submissions' extensions, built the fast way and the stock way: verdicts have to be the same, and what is computed.

A stock build takes half a minute of a small machine's processor time, and two for CUDA. So a pair is built, the one in CUDA nightly, unless
ASSAY_WHOLE_CORPUS is set in the environment or the tests that need a GPU are asked for.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from benchmarks.extensions import FOLDER, Extension, requested, shipped_extensions
from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.toolchain import Toolchain
from evaluator.machine.devices import cpu_count
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence
from tests.build.conftest import copy_of
from tests.shipped import ROOT, expectations

pytestmark = pytest.mark.slow(50)

PAIR = {"softmax/cpp_parallel.py": None, "softmax/const_pointer.py": Category.CONST_POINTER}
"""One in C++ that is right, and one in CUDA that is wrong, each with what its build ends as."""
SIDE_BY_SIDE = max(1, cpu_count() // 2)
"""Stock builds, each of which takes a core or two, and 3 GB."""


@cache
def found() -> dict[str, Extension]:
    """The extensions by label. Each submission runs to its first build for this, which takes seconds."""
    return {extension.label: extension for extension in shipped_extensions()}


CPP, CUDA = PAIR
each_chosen = pytest.mark.parametrize(
    "label", list(found()) if os.environ.get("ASSAY_WHOLE_CORPUS") else [CPP, pytest.param(CUDA, marks=pytest.mark.nightly)]
)


@pytest.fixture
def extension(label: str) -> Extension:
    request = requested((FOLDER / label).read_text(encoding="utf-8")) if label in PAIR else None
    return Extension(label, request) if request else found()[label]


@pytest.fixture(scope="module")
def caches(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one build cache for each way, so that nothing is built twice."""
    folder = tmp_path_factory.mktemp("corpus")
    copy_of(prepared, folder / "fast")
    return folder


@pytest.fixture(scope="module")
def fast(machine: Toolchain, caches: Path) -> Builder:
    return Builder(Cache(caches / "fast"), machine)


@pytest.fixture(scope="module")
def stock(machine: Toolchain, caches: Path) -> Builder:
    return Builder(Cache(caches / "stock"), machine, stock_only=True)


def compare(extension: Extension, fast: Builder, stock: Builder) -> None:
    got, expected = evidence_of(fast, extension), evidence_of(stock, extension)
    assert (got.ok, got.category) == (expected.ok, expected.category), extension.label
    assert got.ok or got.diagnostics == expected.diagnostics, extension.label


def evidence_of(builder: Builder, extension: Extension) -> BuildEvidence:
    outcome = builder.build(extension.request)
    if outcome.object_fd is not None:
        os.close(outcome.object_fd)
    return outcome.evidence


@pytest.mark.build
@each_chosen
def test_verdict_is_the_same_both_ways(extension: Extension, fast: Builder, stock: Builder, machine: Toolchain) -> None:
    if extension.request.uses_cuda and machine.nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    compare(extension, fast, stock)


@pytest.mark.build
@each_chosen
def test_what_is_right_is_built_the_fast_way(extension: Extension, fast: Builder, machine: Toolchain) -> None:
    if extension.request.uses_cuda and machine.nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    evidence = evidence_of(fast, extension)
    assert evidence.category is PAIR.get(extension.label, evidence.category), evidence.output
    ways = [attempt.way for attempt in evidence.attempts if attempt.output.endswith(".o") and attempt.ok]
    assert not evidence.ok or len(ways) == len(extension.request.sources)
    assert not evidence.ok or all("lean" in way for way in ways)


def digests(name: str, caches: Path, way: str, device: str) -> list[str]:
    command = [sys.executable, "-m", "tests.build.answers", str(FOLDER / name), str(caches / way), way, device]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=850, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.build
@pytest.mark.parametrize("name", [CPP])
def test_answers_on_the_cpu_are_the_same_bit_for_bit(name: str, caches: Path) -> None:
    fast, stock = digests(name, caches, "fast", "cpu"), digests(name, caches, "stock", "cpu")
    assert fast == stock
    assert len(set(fast)) == 2


@pytest.mark.gpu
def test_verdict_on_every_shipped_extension_is_the_same(fast: Builder, stock: Builder) -> None:
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for done in [pool.submit(compare, extension, fast, stock) for extension in found().values()]:
            done.result()


RIGHT_ON_CUDA = sorted(
    name
    for (name, block), verdicts in expectations("cuda").items()
    if block is None and verdicts == {"correct/ok"} and "load_inline" in (ROOT / name).read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def answers(caches: Path) -> Iterator[dict[tuple[str, str], Future[list[str]]]]:
    """Digests of all right submissions, built both ways, in parallel: a stock build takes half a minute and more."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        wanted = [(name.removeprefix("submissions/"), way) for name in RIGHT_ON_CUDA for way in ("fast", "stock")]
        yield {(name, way): pool.submit(digests, name, caches, way, "cuda") for name, way in wanted}


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name.removeprefix("submissions/") for name in RIGHT_ON_CUDA])
def test_answers_on_a_gpu_are_the_same_bit_for_bit(name: str, answers: dict[tuple[str, str], Future[list[str]]]) -> None:
    fast, stock = (answers[name, way].result() for way in ("fast", "stock"))
    assert fast == stock
    assert len(set(fast)) == 2


@pytest.mark.nightly
def test_there_are_many_of_both_kinds() -> None:
    assert sum(extension.request.uses_cuda for extension in found().values()) > 30
    assert sum(not extension.request.uses_cuda for extension in found().values()) > 10
