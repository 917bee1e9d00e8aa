"""ncu's command line, and where it is looked for."""

import itertools
import re
from pathlib import Path

import pytest

from evaluator.nvidia_tools.find import ToolMissingError
from evaluator.nvidia_tools.program import LOG_PATH
from evaluator.profiler.tool import MAX_KERNELS, METRICS, Profiler, command, find, pattern

SAYS = "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880) (public-release)"


def options(*kernels: str) -> dict[str, str]:
    words = command(Profiler("/opt/ncu", "2025.3"), kernels)
    return dict(itertools.pairwise(words))


def test_it_profiles_one_range_with_few_metrics_and_leaves_the_clock_alone() -> None:
    told = options()
    assert told["--log-file"] == LOG_PATH and told["--page"] == "raw" and told["--print-units"] == "base"
    assert told["--profile-from-start"] == "off" and told["--launch-count"] == str(MAX_KERNELS)
    assert (told["--replay-mode"], told["--clock-control"], told["--cache-control"]) == ("kernel", "none", "all")
    assert told["--metrics"].split(",") == list(METRICS) and len(set(METRICS)) == len(METRICS)
    assert "--kernel-name" not in told and "--set" not in told


def test_own_kernels_are_chosen_by_name() -> None:
    assert options("b", "a", "b")["--kernel-name"] == f"regex:{pattern(['a', 'b'])}"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("softmax", True),
        ("softmax(float *, int)", True),
        ("void ns::softmax<float, (int)4>(float const*)", True),
        ("softmax_backward", False),
        ("void at::native::cunn_softmax<4>(float*)", False),
        ("void other<softmax2>(int)", False),
    ],
)
def test_a_bare_name_is_found_as_a_whole_word(name: str, found: bool) -> None:
    assert (re.search(pattern(["softmax"]), name) is not None) is found


@pytest.mark.parametrize("names", [[], ["a", "b c"], [".*"], ["a|b"], ["kernel(int)"], ["", "a"], ["é"], ["_ZN6cudapy4axpyE"]])
def test_what_is_no_plain_name_chooses_nothing(names: list[str]) -> None:
    assert pattern(names) == "" and "--kernel-name" not in options(*names)


def made(path: Path, script: str = f"printf '%s\\n' '{SAYS}'") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setattr("evaluator.nvidia_tools.find.TOOLKIT", str(tmp_path / "nothing"))


def test_the_toolkits_is_found_with_the_folders_that_it_needs(nowhere: None, tmp_path: Path) -> None:
    script = made(tmp_path / "toolkit/bin/ncu")
    proper = made(tmp_path / "toolkit/nsight-compute-2025.3.1/ncu")
    found = find()
    assert (found.program, found.version) == (str(script), "2025.3.1.0")
    assert {str(script), str(proper.parent)} <= set(found.readonly_paths)


def test_a_missing_one_and_one_that_does_not_run_are_told_apart(nowhere: None, tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match="ncu, which is neither on the PATH"):
        find()
    made(tmp_path / "toolkit/bin/ncu", "echo libfoo.so is missing >&2; exit 127")
    with pytest.raises(ToolMissingError, match=r"does not run: libfoo\.so is missing"):
        find()
