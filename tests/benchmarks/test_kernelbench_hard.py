"""The benchmark of KernelBench-Hard's problems, on a small one made here."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import kernelbench_hard

REFERENCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, rows, columns, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return torch.topk(x, self.k)


rows, columns, k = 4, 256, 8


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [rows, columns, k]
"""


def test_honest_answers_are_right_and_near_ones_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "05_topk_bitonic"
    folder.mkdir()
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "shapes.py").write_text('SHAPES = [{"rows": 4, "columns": 256, "k": 8}]\n')
    words = [str(tmp_path), "--device", "cpu", "--draws", "3", "--json", str(tmp_path / "found.json")]
    monkeypatch.setattr(sys, "argv", ["kernelbench_hard", *words])
    assert kernelbench_hard.main() == 0
    assert "05_topk_bitonic" in json.dumps(json.loads((tmp_path / "found.json").read_text()))
    monkeypatch.setattr(kernelbench_hard, "HONEST", kernelbench_hard.NEAR)
    assert kernelbench_hard.main() == 1
