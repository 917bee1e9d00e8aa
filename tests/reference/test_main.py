"""`python -m reference`: exit codes, reports and JSON."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.problem.catalogue import discover
from evaluator.results.advice import assay_command
from evaluator.results.display import progress
from reference.__main__ import main
from tests.screens import WIDTHS, assert_fits

pytestmark = pytest.mark.slow(40)

ROOT = Path(__file__).parents[2]
DEGENERATE = """
import torch
from torch import nn

size = 64
ASSAY = {"description": "A [bold]constant", "cases": {"full": {}, "small": {"size": 8}}}

class Model(nn.Module):
    def forward(self, x):
        return torch.ones_like(x)

def get_inputs():
    return [torch.randn(size, 3)]

def get_init_inputs():
    return []
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(autouse=True)
def cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "constant.py").write_text(DEGENERATE)
    return tmp_path


def test_admitted_problems_exit_with_0_and_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "softmax", "topk", "softmax"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["softmax", "small", "admitted"], ["topk", "small", "admitted"]]
    assert lines[-1] == "2 checked, 0 refused as degenerate or unsound"


def test_a_refused_problem_exits_with_1_and_names_what_passed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "constant", "softmax", "--reference", str(folder)]) == 1
    output = capsys.readouterr().out
    assert "ones passes as the output: the output is all ones" in output
    assert output.splitlines()[-1] == "2 checked, 1 refused as degenerate or unsound"


def test_json_has_every_case_with_its_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "constant", "--all-cases", "--json", "--reference", str(folder)]) == 1
    full, small = json.loads(capsys.readouterr().out)
    assert (full["problem"], full["case"], small["case"], full["device"], full["admitted"]) == ("constant", "full", "small", "cpu", False)
    finding = full["findings"][0]
    assert finding == {"check": "trivial_answer", "answer": "ones", "message": "ones passes as the output: the output is all ones"}
    assert full["duration_s"] > 0
    assert full["floor_ms"] is full["reference_ms"] is None  # on the CPU nothing is timed


def test_progress_names_and_counts_each_case(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PIPED_EVERY_S", 0.01)
    (folder / "constant.py").write_text(
        DEGENERATE.replace("    return [torch.randn", "    __import__('time').sleep(0.2)\n    return [torch.randn")
    )
    assert main(["check", "constant", "--all-cases", "--reference", str(folder)]) == 1
    error = capsys.readouterr().err
    told = {line.partition(" s: ")[2] for line in error.splitlines()}
    assert {"0 of 2 done; constant, case full", "1 of 2 done; refused 1; constant, case small"} <= told
    for number, case in ((1, "full"), (2, "small")):
        assert re.search(rf"^Checking, \d+ s: {number} of 2 done; refused constant, case {case}, \d+\.\d s$", error, re.MULTILINE), error


def test_too_little_memory_for_one_case_leaves_the_others_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broad.py").write_text(DEGENERATE.replace("def get_inputs():", "def get_inputs():\n    if size == 64: raise MemoryError"))
    assert main(["check", "broad", "softmax", "--all-cases", "--json", "--reference", str(folder)]) == 2
    output = capsys.readouterr()
    assert [(record["problem"], record["case"]) for record in json.loads(output.out)] == [
        ("broad", "small"),
        ("softmax", "full"),
        ("softmax", "small"),
    ]
    assert "has too little memory for broad, case full" in output.err


def test_all_cases_find_what_each_alone_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def checked(*words: str) -> list[dict[str, Any]]:
        main(["check", *words, "--json", "--reference", str(folder)])
        records: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        # Rounds are shuffled.
        return [{**record, "duration_s": 0, "distributions": sorted(map(str, record["distributions"]))} for record in records]

    alone = [record for name in ("constant", "gelu_tanh") for case in ("full", "small") for record in checked(name, "--case", case)]
    assert [record["admitted"] for record in alone] == [False, False, True, True]
    assert checked("constant", "gelu_tanh", "--all-cases") == alone


def test_an_interrupted_check_keeps_what_was_checked(folder: Path) -> None:
    slow = "    if size == 8: __import__('time').sleep(60)\n    return [torch.randn"
    (folder / "constant.py").write_text(DEGENERATE.replace("    return [torch.randn", slow))
    words = [sys.executable, "-m", "assay", "problems", "check", "constant", "--all-cases", "--reference", str(folder)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert "1 of 2 done; refused constant, case full" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        output, error = running.communicate(timeout=60)
    assert (running.returncode, output, error) == (130, "", "interrupted\n")
    words = [sys.executable, "-m", "assay", "problems", "list", "constant", "--json", "--reference", str(folder)]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert [kept["case"] for kept in json.loads(listed.stdout)[0]["admissions"]] == ["full"]


def test_one_case_can_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "constant", "--case", "full", "--json", "--reference", str(folder)]) == 1
    assert [record["case"] for record in json.loads(capsys.readouterr().out)] == ["full"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "sofmax"], "there is no problem 'sofmax'; known: softmax"),
        (["check", "softmax", "--case", "huge"], "no case 'huge'; known: full, small"),
        (["check", "softmax", "--device", "tpu"], "no device 'tpu'"),
        (["list", "--reference", "/nowhere"], "/nowhere: can't be listed"),
    ],
)
def test_bad_usage_exits_with_2_and_says_why(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert message in output.err and not output.out


def test_the_list_names_all_problems_and_takes_no_markup(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["list", "--reference", str(folder)]) == 0
    output = capsys.readouterr().out
    assert [line.split()[0] for line in output.splitlines()[1:]] == list(discover([folder]))
    assert "A [bold]constant" in output
    assert "reads all; writes all; 2 * rows * inner * columns" in output
    assert main(["list", "--json", "softmax", "constant", "--reference", str(folder)]) == 0
    softmax, constant = json.loads(capsys.readouterr().out)
    assert (softmax["problem"], softmax["cases"], softmax["description"]) == ("softmax", ["full", "small"], "Softmax along dimension 1")
    assert softmax["floor"] == {"reads": "all", "writes": "all", "bytes": "0", "operations": "0"} and constant["floor"] is None
    assert (softmax["input_bytes"], constant["input_bytes"]) == (4096 * 393216 * 4, 64 * 3 * 4)


def test_the_list_tells_what_a_check_came_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told() -> list[dict[str, object]]:
        assert main(["list", "constant", "--json", "--reference", str(folder)]) == 0
        admissions: list[dict[str, object]] = json.loads(capsys.readouterr().out)[0]["admissions"]
        return admissions

    assert told() == []
    main(["check", "constant", "--reference", str(folder)])
    capsys.readouterr()
    (admission,) = told()
    assert (admission["case"], admission["precision"], admission["admitted"]) == ("small", None, False)
    main(["list", "constant", "--reference", str(folder)])
    assert "refused (small on " in capsys.readouterr().out
    (folder / "constant.py").write_text(DEGENERATE + "# another text\n")
    assert told() == []  # that has not been checked


def test_what_was_seen_is_shown_where_it_is_one_case_or_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "softmax", "constant", "--reference", str(folder)])
    output = capsys.readouterr().out
    assert "constant, case small, on cpu" in output and "softmax, case small" not in output
    assert "input 0         float32 (8, 3)" in output
    assert "passed          file, runs, output, inputs, finite, deterministic, floor, oracle\n" in output
    assert "→               Use inputs for which the output varies" in output
    main(["check", "softmax"])
    assert "softmax, case small, on cpu" in capsys.readouterr().out


def test_a_broken_file_is_shown_with_its_line_and_ends_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "broken.py"
    path.write_text(DEGENERATE.replace('"description"', '"descripton"'))
    assert main(["check", "broken", "softmax", "--reference", str(folder)]) == 1
    output = capsys.readouterr().out
    assert f"{path}:6: ASSAY has no key 'descripton'; nearest: description" in output
    assert '  6  ASSAY = {"descripton"' in output and "2 checked, 1 refused" in output
    main(["check", "broken", "--json", "--reference", str(folder)])
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["line"], record["admitted"], record["findings"][0]["check"]) == (6, False, "file")
    assert main(["list", "broken", "softmax", "--reference", str(folder)]) == 0
    assert "broken" in capsys.readouterr().out


def test_a_new_problem_is_admitted_as_it_comes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    assert main(["new", "swish", "--reference", str(folder)]) == 0
    output = capsys.readouterr().out
    assert f"{folder}/swish.py" in output and f"    python -m reference check swish --reference {folder}" in output
    assert f"    {assay_command()} judge --reference {folder} --problem swish my_kernel.py" in output
    assert main(["check", "swish", "--json", "--reference", str(folder)]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["outputs"] == ["float32 (37, 771)"]
    assert record["admitted"] and "the description is still the template's" in " ".join(record["notes"])
    assert main(["check", "swish", "--reference", str(folder)]) == 0
    assert "the description is still the template's" in " ".join(capsys.readouterr().out.split())
    assert main(["check", "swish"]) == 2
    assert "--reference DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Swish", "is not a valid name"),
        ("class", "is not a valid name"),
        ("../x", "is not a valid name"),
        ("softmax", "a shipped problem"),
        ("old", "there already"),
    ],
)
def test_names_that_can_not_be_given(name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.py").write_text("kept")
    assert main(["new", name, "--reference", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "old.py").read_text() == "kept" and len(list(tmp_path.iterdir())) == 1


def test_it_runs_as_a_module_from_the_shell() -> None:
    done = subprocess.run([sys.executable, "-m", "reference", "list"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0 and "softmax" in done.stdout


def test_threads_that_wait_leave_the_cores_to_others(folder: Path) -> None:
    words = [sys.executable, "-m", "assay", "problems", "check", "constant", "--reference", str(folder)]
    variables = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(words, cwd=ROOT, env=variables | {"OMP_DISPLAY_ENV": "verbose"}, capture_output=True, text=True, timeout=120)
    assert "GOMP_SPINCOUNT = '0'" in done.stderr and "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr, "told before libgomp is loaded"


def test_a_precision_is_checked_and_listed_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "gelu_tanh", "--dtype", "bf16", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["precision"], record["inputs"][0].split()[0], record["outputs"][0].split()[0]) == ("bfloat16", "bfloat16", "bfloat16")
    main(["list", "gelu_tanh", "--json"])
    (listed,) = json.loads(capsys.readouterr().out)
    assert [admission["precision"] for admission in listed["admissions"]] == ["bfloat16"]
    assert main(["check", "gelu_tanh", "--dtype", "int8"]) == 2
    assert "--dtype is one of fp16" in capsys.readouterr().err


LISTED = ["problem", "level", "tags", "cases", "dtype", "inputs", "floor", "admission", "description"]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_fits(width: int, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    (folder / "23_Softmax_along_dimension_one_of_two.py").write_text(DEGENERATE)
    (folder / "23_Softmax_along_dimension_two_of_two.py").write_text(DEGENERATE)
    assert main(["list", "--reference", str(folder)]) == 0
    rows = assert_fits(capsys.readouterr().out, width, LISTED, ["problem"])
    assert sum(not row.startswith(" ") for row in rows) == len(discover([folder]))
    assert len({row.split()[0] for row in rows if row.startswith("23_S")}) == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_of_a_check_fits(width: int, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["check", "constant", "softmax", "--reference", str(folder)]) == 1
    assert_fits(capsys.readouterr().out, width, ["problem", "case", "verdict", "floor", "reference", "reason"], ["problem", "verdict"])
