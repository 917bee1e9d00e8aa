"""The output of the database's commands: words for parts of the evidence, and tables at several widths."""

import re
from pathlib import Path
from typing import Any

import pytest

from db.__main__ import main
from db.foreign import import_kernelbench
from db.output.facts import KERNEL_COLUMNS, ablation_text, kernel_cells, own_work_text, profile_facts
from db.output.show_correctness import rounds_section
from db.store import Store
from evaluator.results.advice import assay_command
from evaluator.results.category import Category
from evaluator.results.display.table import Table
from evaluator.results.evidence import AblationEvidence, KernelProfile, OwnWorkEvidence, ProfiledSide, ProfileEvidence
from tests.db.samples import environment, full_evidence, result
from tests.screens import WIDTHS, assert_fits, dropped

pytestmark = pytest.mark.slow(3)

AUTHORS = ("a-model-of-a-name-that-is-long-2026", "another_model_with_underscores_v2")

PROBLEMS = ("23_Softmax_along_dimension_one", "bias_residual_relu_with_dropout")

FAILURES = (Category.WRONG_VALUES, Category.ILLEGAL_MEMORY_ACCESS)

DEVICE = "NVIDIA H200"


def name(author: str, problem: str, number: int) -> str:
    return f"runs/{author[:7]}/{problem[:8]}/sample_{number}/kernel.py"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('tables')}/assay.db"
    with Store.open(url) as store:
        for author in AUTHORS:
            for problem in PROBLEMS:
                for number, speedup in enumerate((1.5, 2.25, 4.0)):
                    source = f"{author} {problem} {number}"
                    more: dict[str, Any] = {"author": author, "problem": problem, "environment": environment(DEVICE), "sample_id": number}
                    told = result(
                        submission=name(author, problem, number), speedup=speedup, source=source, evidence=full_evidence(), **more
                    )
                    store.save(told, source)
                for category in FAILURES:
                    submission = name(author, problem, 7).replace("kernel", category.value)
                    store.save(result(category, submission=submission, source=category + author, **more), category + author)
    return url


def told(capsys: pytest.CaptureFixture[str], url: str, *words: str) -> str:
    assert main(["--db", url, *words]) == 0
    return capsys.readouterr().out


BOARD = ["rank", "speedup", "95 % interval", "runtime ms", "baseline ms", "best baseline ms", "of light (baseline)"]

BOARD += ["author", "submission", "block", "evaluation", "category"]

OVERALL = ["rank", "author", "solved", "fast_0", "fast_0.5", "fast_0.8", "fast_1", "fast_1.5", "fast_2", "mean"]

OVERALL += ["pass@1", "pass@5", "pass@10", "medals", "tried", "samples", "most frequent failures"]

HISTORY = ["evaluation", "started", "block", "problem", "case", "device", "verdict", "speedup", "source", "evaluator", "state"]

TABLES: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "leaderboard": (("leaderboard", "--all", "--problem", PROBLEMS[0]), BOARD, ["rank", "speedup", "submission"]),
    "overall": (("leaderboard", "--overall"), OVERALL, ["rank", "author"]),
    "list": (("list",), ["id", "UTC", "category", "speedup", "problem", "author", "submission"], ["id", "category", "submission"]),
    "failures": (("failures",), ["status", "category", "meaning", "count", "share"], ["category", "count"]),
    "compare": (
        ("compare", *AUTHORS),
        ["problem", "case", "device", "precision", "first", "second", "ratio", "faster"],
        ["problem", "first", "second"],
    ),
    "history": (("history", name(AUTHORS[0], PROBLEMS[1], 1)), HISTORY, ["evaluation", "verdict"]),
}
"""The words of each command, the columns of its table, and those that are always there."""


@pytest.mark.parametrize("table", TABLES)
def test_a_table_fits_and_a_pipe_gets_all_of_it(
    table: str, filled: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words, columns, always = TABLES[table]
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        rows = assert_fits(told(capsys, filled, *words), width, columns, always)
        assert len({row.strip() for row in rows}) == len(rows), "they can be told apart"
    monkeypatch.delenv("COLUMNS", raising=False)
    text = told(capsys, filled, *words)
    assert dropped(text) == [] and "…" not in text
    assert any(re.split(r" {2,}", line.strip()) == columns for line in text.splitlines())
    if table in ("leaderboard", "list"):
        assert name(AUTHORS[1], PROBLEMS[0], 2) in text and AUTHORS[1] in text


def test_authors_of_short_names_head_their_columns(capsys: pytest.CaptureFixture[str], store: Store, url: str) -> None:
    for author in ("ada", "bob"):
        store.save(result(author=author, submission=author, source=author), author)
    assert "ada    bob    ratio  faster" in told(capsys, url, "compare", "ada", "bob")


@pytest.mark.parametrize("width", WIDTHS)
def test_what_others_said_fits_too(
    width: int, store: Store, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    kernel = tmp_path / "level_1_problem_23_sample_0_kernel.py"
    kernel.write_text("pass\n")
    results = tmp_path / "eval_results.json"
    results.write_text(
        '{"23": [{"sample_id": 0, "compiled": true, "correctness": true, "metadata": {}, "runtime": 1.5, "runtime_stats": {}}]}'
    )
    import_kernelbench(store, results)
    columns = ["harness", "imported", "problem", "sample", "verdict", "time ms", "source"]
    assert len(assert_fits(told(capsys, url, "history", str(kernel)), width, columns, ["verdict"])) == 1


def test_a_failures_hint_stands_below_once_with_the_command_that_lists_it(
    filled: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = told(capsys, filled, "failures", "--problem", PROBLEMS[0]).split("What to do\n")[1].splitlines()
    assert lines[2].startswith("wrong_values (2): Look at the first wrong index")
    command = lines[3].split()
    assert command[:4] == [assay_command(), "list", "--category", "wrong_values"]
    assert main(command[1:]) == 0
    listed = capsys.readouterr().out.splitlines()[1:]
    assert len(listed) == 2 and all("wrong_values" in line and PROBLEMS[0] in line for line in listed)


def test_an_output_compared_with_the_reference_has_no_reference_error() -> None:
    first = full_evidence().rounds[0]
    known = [output.model_copy(update={"reference_error": error}) for output in first.outputs for error in (None, 1e-7)]
    (_, figures) = [item for item in rounds_section([first.model_copy(update={"outputs": tuple(known)})]) if isinstance(item, Table)]
    place = [column.name for column in figures.columns].index("reference error")
    assert [str(row[place]) for row in figures.rows] == ["", "1e-07"]


def test_a_wrong_answer_without_its_own_kernels_is_what_is_expected() -> None:
    wrong = AblationEvidence(still_right=False, category=Category.WRONG_VALUES, message="all of it")
    assert ablation_text(wrong) == "no longer right, as expected: this proves that its own kernels are used (wrong_values: all of it)"
    right = AblationEvidence(still_right=True)
    assert ablation_text(right).startswith("still right")
    attempt = AblationEvidence(still_right=False, category=Category.REFERENCE_ACCESS, message="it reads the reference")
    assert ablation_text(attempt) == "reference_access: it reads the reference"


def test_what_own_kernels_do_is_told_with_what_it_means() -> None:
    little = OwnWorkEvidence(time_share=0.031, written_bytes=4, answer_bytes=4000)
    assert own_work_text(little) == "3.10 % of a call's time, 4 bytes written for an output of 4000: too little to count as their result"
    enough = OwnWorkEvidence(time_share=0.031, written_bytes=400, answer_bytes=4000)
    assert own_work_text(enough) == "3.10 % of a call's time, at least 400 bytes written for an output of 4000"


def test_of_an_unknown_kernel_the_cells_are_empty() -> None:
    assert kernel_cells(KernelProfile(kernel="k", own=False), "library") == ["k", "library", *[""] * (len(KERNEL_COLUMNS) - 2)]


def test_a_profile_tells_of_both_calls_and_of_what_is_needed() -> None:
    profile = full_evidence().profile
    assert profile is not None
    told = profile_facts(profile)
    assert told["the problem needs"] == "100 MB read, 100 MB written"
    assert told["submission"] == "ended; 1 kernel; 0.25 ms; 500 MB to and from device memory; 8 passes, 12.5 s"
    assert told["reference"] == "deadline; stopped; 2 kernels"
    part = ProfileEvidence(submission=ProfiledSide(outcome="ended", kernels=(KernelProfile(kernel="k", own=True),), partial=True))
    assert profile_facts(part)["submission"] == "ended; 1 kernel, only a part of the call"
    assert profile_facts(ProfileEvidence(remark="no ncu")) == dict.fromkeys(told) | {"remark": "no ncu"}
