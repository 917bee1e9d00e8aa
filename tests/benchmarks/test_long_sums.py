"""Errors of long sums, measured with little."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.long_sums import BFLOAT_BITS, BFLOAT_LARGEST, FLOAT32, HALF_BITS, HALF_LARGEST, KINDS, NARROW, compiled, main

pytestmark = pytest.mark.nightly


def test_float32_sums_are_accepted_and_narrow_ones_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "sums.json"
    assert main(["--most", "1000", "--json", str(target)]) == 0
    rows = json.loads(target.read_text(encoding="utf-8"))
    assert [(row["terms"], row["kind"]) for row in rows] == [(terms, kind) for terms in (100, 1000) for kind in KINDS]
    for row in rows:
        assert all(row["errors"][kernel] <= row["allowed"] for kernel in FLOAT32)
        assert row["errors"]["bfloat16 accumulator"] > row["allowed"]
        assert (row["errors"]["TF32 product"] > row["allowed"]) == (row["kind"] != "positive")
    assert f"{len(FLOAT32)} of {len(FLOAT32)} | {len(NARROW)} of {len(NARROW)}" in capsys.readouterr().out


def test_the_reduced_precision_is_that_of_the_types(tmp_path: Path) -> None:
    """One term, so that rounding is all there is, against PyTorch's own conversion."""
    library = compiled(tmp_path)
    for x in torch.randn(200):
        for dtype, bits, largest in ((torch.float16, HALF_BITS, HALF_LARGEST), (torch.bfloat16, BFLOAT_BITS, BFLOAT_LARGEST)):
            if x.abs() > 1e-4:
                assert library.narrow(x.contiguous().data_ptr(), 1, 1, bits, largest) == float(x.to(dtype))
