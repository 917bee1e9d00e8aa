"""The code of docs/python.md, run from top to bottom as in a notebook, on the CPU."""

from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.command_line import PROJECT
from tests.test_docs import code_blocks, document

pytestmark = pytest.mark.slow(20)


def test_every_block_runs_in_one_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("submissions", "reference"):
        (tmp_path / folder).symlink_to(PROJECT / folder)
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(document("python.md"), "python")
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    with warm.servers():
        for block in blocks:
            exec(block, names)
    assert names["result"].category == "no_custom_kernel"
    categories = ["no_custom_kernel", "missing_model_new", "no_custom_kernel", "syntax_error"]
    assert [result.category for result in names["results"]] == categories
    assert {result.category for answers in names["rounds"] for result in answers} == {"wrong_values"}
    assert (names["executed"].correctness, names["executed"].metadata["category"]) == (True, "no_custom_kernel")
    assert sorted(names["frame"]["category"]) == sorted(categories)
    assert set(names["best"].index) == {"leaky_relu", "softmax"}
    assert Path("speedup.png").read_bytes().startswith(b"\x89PNG")
    assert "verdict: incorrect/wrong_values" in capsys.readouterr().out
