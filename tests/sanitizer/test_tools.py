"""The option `--sanitize`, and the search for compute-sanitizer."""

from pathlib import Path

import pytest

from evaluator.nvidia_tools.program import LOG_PATH
from evaluator.sanitizer.tools import Sanitizer, SanitizerMissingError, Tool, Wish, command, find, read_wish

WISH = Wish((Tool.MEMCHECK,))


def program(path: Path, says: str = "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 36400806)", code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\nexit {code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compute-sanitizer anywhere; the shell that stands in for one is found by its path."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setattr("evaluator.nvidia_tools.find.TOOLKIT", str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("all", Wish(tuple(Tool))),
        ("auto", Wish(tuple(Tool), only_faulty=True)),
        ("racecheck", Wish((Tool.RACECHECK,))),
        ("synccheck, memcheck,memcheck", Wish((Tool.MEMCHECK, Tool.SYNCCHECK))),
    ],
)
def test_a_wish_is_read(text: str, wish: Wish) -> None:
    assert read_wish(text) == wish


@pytest.mark.parametrize("text", ["", "memcheck,", "valgrind", "all,memcheck", "MEMCHECK"])
def test_what_is_no_tool_is_refused_with_the_names_of_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="memcheck, racecheck, initcheck, synccheck"):
        read_wish(text)


def test_a_missing_one_is_one_line_with_the_way_out(nowhere: None) -> None:
    with pytest.raises(SanitizerMissingError, match=r"CUDA_HOME.*omit --sanitize") as told:
        find(WISH)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("folder", ["bin", "compute-sanitizer"])
def test_the_toolkits_is_found(nowhere: None, tmp_path: Path, folder: str) -> None:
    made = program(tmp_path / "toolkit" / folder / "compute-sanitizer")
    found = find(WISH)
    assert (found.program, found.version, found.wish) == (str(made), "2025.3.1.0", WISH)


def test_the_one_on_the_path_comes_first(nowhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "toolkit/bin/compute-sanitizer")
    made = program(tmp_path / "elsewhere/compute-sanitizer", "Version 2021.1")
    monkeypatch.setenv("PATH", str(made.parent))
    assert (find(WISH).program, find(WISH).version) == (str(made), "2021.1")


@pytest.mark.parametrize(("says", "code"), [("libfoo.so is missing", 127), ("Version 1", 1), ("hello", 0), ("", 0)])
def test_one_that_does_not_run_is_told_of_before_anything_is_judged(nowhere: None, tmp_path: Path, says: str, code: int) -> None:
    program(tmp_path / "toolkit/bin/compute-sanitizer", says, code)
    with pytest.raises(SanitizerMissingError, match="does not run"):
        find(WISH)


def test_a_sandbox_is_shown_the_program_and_the_folders_of_its_libraries_only(nowhere: None, tmp_path: Path) -> None:
    real = program(tmp_path / "toolkit/compute-sanitizer/compute-sanitizer")
    (real.parent / "libsanitizer-collection.so").touch()
    wrapper = program(tmp_path / "toolkit/bin/compute-sanitizer")
    assert set(find(WISH).readonly_paths) == {str(wrapper), str(real.parent)}


def test_each_tool_writes_to_its_own_descriptor_and_waits_for_a_slow_start() -> None:
    sanitizer = Sanitizer("/opt/cuda/bin/compute-sanitizer", "2025.3", WISH)
    for tool in Tool:
        words = command(sanitizer, tool)
        assert words[:3] == (sanitizer.program, "--tool", tool.value)
        options = dict(zip(words[1::2], words[2::2], strict=True))
        assert options["--log-file"] == LOG_PATH
        assert options["--launch-timeout"] == "0"
        assert ("--padding" in options) is (tool is Tool.MEMCHECK)
