"""Sources that fail to compile, with PyTorch's own headers: where the fast way's failure counts, the stock way has to say the same.

A stock build takes half a minute of a small machine's processor time, so that one is built each way, unless ASSAY_WHOLE_CORPUS is set
in the environment or the tests that need a GPU are asked for.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.extensions import Extension, requested
from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.results.evidence import BuildEvidence
from tests.build.conftest import FLAGS, copy_of
from tests.build.failing import CPP, CUDA, ONLY_STOCK, TORCH
from tests.build.test_corpus import SIDE_BY_SIDE, evidence_of
from tests.corpus import corpus

pytestmark = pytest.mark.slow(60)

SUBMISSIONS = corpus(Path(__file__).parents[1] / "diagnosis" / "corpus").values()
EXPECTED = (
    {f"cuda: {name}": proof for name, (proof, _) in CUDA.items()}
    | {f"cpp: {name}": proof for name, (proof, _) in CPP.items()}
    | {f"stock: {name}": None for name in ONLY_STOCK}
)
"""What proves each failure; None where nothing may."""
TEXTS = (
    {f"cuda: {name}": text for name, (_, text) in CUDA.items()}
    | {f"cpp: {name}": text for name, (_, text) in CPP.items()}
    | {f"stock: {name}": text for name, text in ONLY_STOCK.items()}
)
CHOSEN = list(EXPECTED) if os.environ.get("ASSAY_WHOLE_CORPUS") else ["cpp: undeclared variable"]


@pytest.fixture(scope="module")
def both(machine: Toolchain, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Builder, Builder]:
    """The fast way and the stock way."""
    folder = tmp_path_factory.mktemp("failing")
    copy_of(prepared, folder / "fast")
    return Builder(Cache(folder / "fast"), machine), Builder(Cache(folder / "stock"), machine, stock_only=True)


def proof_of(evidence: BuildEvidence) -> str | None:
    proofs = [way.partition(", proof: ")[2] for way in (attempt.way for attempt in evidence.attempts if not attempt.ok)]
    return next(filter(None, proofs), None)


def compare(request: BuildRequest, both: tuple[Builder, Builder]) -> str | None:
    """Return the proof of a failure, after checking that the stock way fails with the same messages. Without one, the stock way has run."""
    fast, stock = both
    extension = Extension("", request)
    found = evidence_of(fast, extension)
    proof = proof_of(found)
    if proof is None:
        assert found.ok or all(any(way.way == "stock" and way.output == tried.output for way in found.attempts) for tried in found.attempts)
        return None
    expected = evidence_of(stock, extension)
    assert (found.category, found.diagnostics) == (expected.category, expected.diagnostics), found.output
    return proof


def request_of(name: str) -> BuildRequest:
    file = "main.cu" if name.startswith("cuda") else "main.cpp"
    sources = [{"name": file, "text": TORCH + TEXTS[name]}]
    return BuildRequest.model_validate({"name": "x", "sources": sources, "extra_cflags": FLAGS})


@pytest.mark.build
@pytest.mark.parametrize("name", CHOSEN)
def test_failure_is_the_same_both_ways(name: str, both: tuple[Builder, Builder], machine: Toolchain) -> None:
    if name.startswith("cuda") and machine.nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    assert compare(request_of(name), both) == EXPECTED[name]


@pytest.mark.build
def test_a_source_that_only_compiles_the_stock_way_is_right(both: tuple[Builder, Builder]) -> None:
    evidence = evidence_of(both[0], Extension("", request_of("stock: a dictionary")))
    assert evidence.ok, evidence.output
    assert [(way.way, way.ok) for way in evidence.attempts if way.output == "main.cpp.o"] == [("lean+precompiled", False), ("stock", True)]


@pytest.mark.gpu
def test_failure_of_every_source_is_the_same_both_ways(both: tuple[Builder, Builder]) -> None:
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        proofs = pool.map(lambda name: compare(request_of(name), both), EXPECTED)
        assert dict(zip(EXPECTED, proofs, strict=True)) == EXPECTED


@pytest.mark.gpu
def test_build_of_every_faulty_submission_is_the_same_both_ways(both: tuple[Builder, Builder]) -> None:
    requests = [request for request in (requested(entry.data.decode()) for entry in SUBMISSIONS) if request is not None]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        proofs = list(pool.map(lambda request: compare(request, both), requests))
    assert sum(proof is not None for proof in proofs) > 5
