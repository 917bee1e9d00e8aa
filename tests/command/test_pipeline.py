"""The command line: its input, its output and its files."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command.checks import find_sanitizer, why_no_profile
from db.queries.runs import runs
from db.store import Store
from evaluator.machine.devices import Device
from evaluator.sanitizer.tools import SanitizerMissingError, Tool, Wish
from tests.command_line import PROBLEM, PROJECT, RUN_S, TILED, Bench, header_folder, refused, submission

pytestmark = pytest.mark.slow(35)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# --sanitize


def test_sanitizing_without_a_gpu_is_refused_before_anything_is_judged(bench: Bench) -> None:
    bench.write("double/fine.py", submission())
    told = refused(bench.run("double", "--sanitize", "all", "--json", "-"))
    assert "--sanitize needs an NVIDIA GPU" in told and not bench.database.exists()


def test_a_missing_sanitizer_is_told_of_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("evaluator.nvidia_tools.find.TOOLKIT", str(tmp_path))
    with pytest.raises(SanitizerMissingError, match="omit --sanitize"):
        find_sanitizer(Wish((Tool.MEMCHECK,)), Device("cuda:0", "NVIDIA H200", "GPU-0"))


# --profile


def test_without_a_gpu_nothing_is_profiled_and_calls_are_timed_on_the_cores_that_were_asked_for(bench: Bench) -> None:
    bench.write("double/right.py", submission())
    last = max(os.sched_getaffinity(0))
    finished = bench.run("double", "--profile", "--cores", str(last))
    assert finished.code == 0 and "Nothing will be profiled: it needs an NVIDIA GPU" in finished.stdout
    with Store.open(f"sqlite:///{bench.database}") as store:
        stored = store.get(1)
    assert stored is not None and stored.result.environment is not None and stored.result.evidence.timing is not None
    assert stored.result.evidence.timing.cores == (last,)
    assert stored.result.environment.settings["threads"] == 1


def test_a_missing_ncu_is_told_of_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("evaluator.nvidia_tools.find.TOOLKIT", str(tmp_path))
    gpu = Device("cuda:0", "NVIDIA H200", "GPU-0")
    assert "it needs ncu, which is neither on the PATH" in why_no_profile(gpu)
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\n/bin/echo Version 2025.3.1.0\n", encoding="utf-8")
    program.chmod(0o755)
    assert why_no_profile(gpu) == ""


# --headers


def test_a_folder_of_headers_is_for_submissions_once_it_is_named(bench: Bench) -> None:
    bench.write("double/tiled.py", TILED)
    assert "--headers: no folder" in refused(bench.run("double", "--headers", "nothing"))
    (lacking,) = bench.run("double", "--json", "-").records
    assert (lacking["category"], lacking["line"]) == ("missing_header", 6)
    assert "tiles/tiles.hpp" in lacking["message"] and "--headers DIR" in lacking["hint"]
    (found,) = bench.run("double", "--rerun", "--headers", header_folder(bench.root), "--json", "-").records
    assert (found["category"], found["message"]) == ("ok", "")


# --help


@pytest.mark.quiet  # a time; that nothing heavy is imported, which makes it quick, test_assay tests
def test_help_answers_within_half_a_second() -> None:
    took_s = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, str(PROJECT / "pipeline.py"), "--help"], check=True, capture_output=True)
        took_s.append(time.perf_counter() - start)
    assert min(took_s) < 0.5


def test_the_command_line_never_imports_pytorch_and_takes_a_file_name_that_is_not_unicode(bench: Bench) -> None:
    folder = bench.write("double/plain.py", "class ModelNew(:\n").parent
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.py")).write_text(submission("x + 1"))
    program = "import sys, pipeline; code = pipeline.main(sys.argv[1:]); print(code, 'torch' in sys.modules)"
    more = ("--json", "records", "--dtype", "fp16", "--strict-shapes", "--strict-inputs", "--protocol", "cpu")
    command = [sys.executable, "-c", program, *bench.command("double", *more)[2:]]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=bench.root, env=environment, check=True, capture_output=True, text=True, timeout=RUN_S)
    assert done.stdout.splitlines()[-1] == "0 False", done.stderr
    records = [json.loads(line) for line in (bench.root / "records").read_text().splitlines()]
    assert {record["category"] for record in records} == {"syntax_error", "wrong_values"}
    assert "2 already judged" in bench.run("double", "--dtype", "fp16").stdout


def test_a_second_run_skips_what_is_judged_and_rerun_does_not(bench: Bench) -> None:
    bench.write("double/right.py", submission())
    bench.write("double/wrong.py", "class ModelNew(:\n")
    first = bench.run("double", "--json", "first", "--feedback", "markdown", "first.md")
    assert first.code == 0
    assert "2 evaluated: " in first.stdout and "skipped" not in first.stdout
    second = bench.run("double", "--json", "second", "--feedback", "markdown", "second.md")
    assert second.code == 0
    for name in ("first", "first.md"):  # the second run has them in the order in which it reads them
        once, again = ((bench.root / each).read_text() for each in (name, name.replace("first", "second")))
        assert "right.py" in once and sorted(once.splitlines()) == sorted(again.splitlines())
    assert "0 evaluated; " in second.stdout and "2 in all, 2 already judged and skipped" in second.stdout
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store:
        assert [(found.expected, found.skipped, sum(found.statuses.values())) for found in runs(store, 5)] == [(2, 2, 0), (2, 0, 2)]
    assert "2 already judged and skipped" in bench.run("double", "--strict-shapes", "--strict-inputs").stdout
    assert len(bench.rows()) == 2
    bench.write("double/wrong.py", "x = 1\n")
    assert "1 evaluated: 1 rejected" in bench.run("double").stdout
    assert "1 evaluated: 1 rejected" in bench.run("double/wrong.py", "--rerun").stdout
    assert len(bench.rows()) == 4


def test_a_skipped_submission_keeps_its_author_and_that_is_said(bench: Bench) -> None:
    for name in ("in/alice/double/a.py", "in/bob/double/b.py", "in/double/top.py"):
        bench.write(name, "class ModelNew(:\n")
    first = bench.run("in", "--author-from", "folder", "--author", "eve", "--json", "-")
    assert {each["submission"]: each["author"] for each in first.records} == {
        "in/alice/double/a.py": "alice",
        "in/bob/double/b.py": "bob",
        "in/double/top.py": "double",
    }
    assert "keep their author" not in first.stderr + bench.run("in").stdout, "only a run that gives another author tells"
    told = bench.run("in", "--author", "bob").stdout
    assert "2 skipped keep their author (in/alice/double/a.py: alice, not bob); " in told and "author set NAME PATH changes it" in told
    assert {row[0] for row in bench.rows()} == {each["submission"] for each in first.records} and len(bench.rows()) == 3


def test_a_run_without_times_does_not_stand_in_for_one_with_times_but_the_reverse(bench: Bench) -> None:
    bench.write("double/right.py", submission())
    (quick,) = bench.run("double", "--no-timing", "--json", "-").records
    assert (quick["status"], quick["category"], quick["protocol"]) == ("correct", "no_custom_kernel", "untimed")
    assert quick["speedup"] is quick["runtime_ms"] is None and quick["baselines"] == {}
    (full,) = bench.run("double", "--json", "-").records
    assert full["category"] == quick["category"] and full["speedup"] > 0
    bench.write("double/other.py", submission("2 * x"))
    assert "1 already judged and skipped" in bench.run("double").stdout
    assert "2 already judged and skipped" in bench.run("double", "--no-timing").stdout
    assert len(bench.rows()) == 3


def test_a_json_file_that_fills_up_ends_the_run_and_keeps_the_results(bench: Bench) -> None:
    bench.write("double/unread.py", "class ModelNew(:\n")
    finished = bench.run("double", "--json", "/dev/full")
    assert finished.code == 2
    assert finished.stderr == "pipeline.py: --json /dev/full: No space left on device; the results so far are in the database\n"
    assert bench.rows() == [("double/unread.py", None, "syntax_error")]


def test_the_line_that_the_code_begins_on_is_stored(bench: Bench) -> None:
    bench.write("double/response.md", f"Here it is:\n\n```python\n{submission()}    def (\n```\n")
    bench.write("double/file.py", submission() + "    def (\n")
    bench.run(bench.root / "double")
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store:
        found = [stored.result for number in (1, 2) if (stored := store.get(number))]
    assert {(result.submission.rsplit("/")[-1], result.evidence.first_line) for result in found} == {("response.md", 4), ("file.py", 1)}
    assert all(result.category == "syntax_error" for result in found)


def test_nothing_that_a_submission_says_is_obeyed_by_the_terminal(bench: Bench) -> None:
    shout = r"'[bold red]owned[/bold red] \x1b[2J\x1b]0;owned\x07 \u202e'"
    bench.write("double/[red]loud\x1b[31m.py", submission(before=f"print({shout}); raise ValueError({shout})"))
    finished = bench.run("double")
    assert finished.code == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", finished.stdout + finished.stderr)
    assert "[bold red]owned[/bold red]" in finished.stdout
    assert "[red]loud\\x1b[31m.py" in finished.stdout


def test_what_a_run_writes_among_its_submissions_is_not_read(bench: Bench) -> None:
    bench.write("double/unread.py", "class ModelNew(:\n")
    where = ("--db", "sqlite:///double/results.db", "--json", "double/out.jsonl", "--feedback", "markdown", "double/told.md")
    assert "1 evaluated: 1 rejected" in bench.run("double", *where).stdout
    assert "0 evaluated; " in (again := bench.run("double", *where).stdout) and "1 in all, 1 already" in again
    refused = bench.run("double/out.jsonl", *where)
    assert refused.code == 2 and "this run writes this file" in refused.stderr


def test_a_level_and_a_run_of_kernelbench_are_judged_as_they_are(bench: Bench) -> None:
    """A checkout's level and a run's kernels; the files are made for this test."""
    body = "torch.clamp(x, min=0.0) + torch.tensor(0.5)"
    bench.write("KernelBench/KernelBench/level1/23_Clamp.py", PROBLEM.format(operation="* 2").replace("x * 2", body))
    bench.write("KernelBench/KernelBench/level2/23_Clamp_Twice.py", PROBLEM.format(operation="* 2"))
    bench.write("KernelBench/KernelBench/stray.py", "print('no problem')")
    kernel = "runs/a_model/level_1_problem_23_sample_0_kernel.py"
    bench.write(kernel, submission(body))
    finished = bench.run("runs", "--reference", "KernelBench/KernelBench", "--json", "-")
    assert "--reference KernelBench/KernelBench: 1 problem in level1, 1 in level2, 1 in KernelBench" in finished.stderr
    (record,) = finished.records
    assert (record["submission"], record["problem"], record["author"], record["sample_id"]) == (kernel, "23_Clamp", "a_model", 0)
    assert (record["category"], record["generalises"]) == ("no_custom_kernel", "untested")
