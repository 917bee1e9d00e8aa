"""Variants: distinct to every cache of builds, and judged as their origins are."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.extensions import requested
from benchmarks.variants import KINDS, TUNINGS, origins, variants, write
from evaluator.build import Toolchain
from tests.command_line import Bench

pytestmark = pytest.mark.nightly

EACH_JUDGED = {"softmax/cpp_parallel", "softmax/cpp_divides_by_count", "leaky_relu/cpp_crash"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_variants_have_build_keys_of_their_own_and_of_no_origin(kind: str) -> None:
    toolchain = Toolchain.find((9, 0))
    codes = [*(variant.code for variant in variants(kind, 100)), *(origin.code for origin in origins(kind))]
    requests = [requested(code) for code in codes]
    assert None not in requests
    keys = [request.under_common_name().key(toolchain) for request in requests if request]
    assert len(set(keys)) == len(codes)
    texts = [tuple(file.text for file in request.sources) for request in requests if request]
    assert len(set(texts)) == len(codes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_origin_has_its_share_and_every_variant_parses(kind: str) -> None:
    made = variants(kind, 100)
    shares = Counter(variant.origin.label for variant in made)
    assert set(shares) == {origin.label for origin in origins(kind)}
    assert max(shares.values()) - min(shares.values()) <= 1
    for variant in made:
        ast.parse(variant.code)


def test_the_seed_decides_everything() -> None:
    assert variants("cuda", 60, seed=7) == variants("cuda", 60, seed=7)
    assert variants("cuda", 60, seed=7)[:10] == variants("cuda", 10, seed=7)
    assert [item.origin.label for item in variants("cuda", 10, seed=7)] != [item.origin.label for item in variants("cuda", 10, seed=8)]


def test_what_is_tuned_stands_in_its_origin() -> None:
    codes = {origin.label: origin.code for kind in KINDS for origin in origins(kind)}
    for label, tunings in TUNINGS.items():
        for text, choices in tunings:
            assert text in codes[label]
            assert text in choices


def test_kernels_and_bound_functions_have_new_names_and_the_extension_has_not() -> None:
    variant = next(item for item in variants("cuda", 100) if item.origin.label == "softmax/online")
    suffix = variant.label.rpartition("_")[2]
    assert f"softmax_row_{suffix}<4><<<" in variant.code
    assert f"extension.online_softmax_{suffix}(" in variant.code
    assert 'name="assay_online_softmax"' in variant.code


@pytest.mark.build
def test_variants_are_judged_as_their_origins(tmp_path: Path) -> None:
    made = variants("cpp", len(origins("cpp")), seed=3)
    chosen = [next(item for item in made if item.origin.label == label) for label in sorted(EACH_JUDGED)]
    write(chosen, tmp_path / "variants")
    done = Bench(tmp_path).run(tmp_path / "variants", "--json", "-")
    verdicts = {
        f"{record['problem']}/{Path(record['submission']).stem}": f"{record['status']}/{record['category']}" for record in done.records
    }
    assert set(verdicts) == {item.label for item in chosen}, done.stderr
    assert all(verdicts[item.label] in item.origin.expected for item in chosen), verdicts
