"""The benchmark of how long an evaluation holds the device."""

import json
from pathlib import Path

import pytest

from benchmarks.hold import main
from tests.shipped import ROOT

pytestmark = pytest.mark.nightly


def test_an_evaluation_holds_the_device_for_its_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "hold.json"
    library = str(ROOT / "submissions" / "softmax" / "library_only.py")
    assert main([library, "--device", "cpu", "--case", "small", "--repetitions", "2", "--json", str(target)]) == 0
    first, second = json.loads(target.read_text())
    for one in (first, second):
        assert (one["submission"], one["category"], one["peak_bytes"]) == (library, "no_custom_kernel", None)
        assert one["calls"] > 0
        held_s = one["stages_held_s"]
        assert one["held_s"] == pytest.approx(sum(held_s.values())) and min(held_s["rounds"], held_s["timing"]) > 0
        assert "start" not in held_s
        assert one["answer_bytes"] == 5 * 4 * 17 * 1021
    assert "no_custom_kernel" in capsys.readouterr().out
