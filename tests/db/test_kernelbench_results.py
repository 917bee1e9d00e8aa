"""`eval_results.json` as KernelBench's `scripts/benchmark_eval_analysis.py` reads it, at commit 423217d."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from db.__main__ import main
from db.error import StoreError
from db.kernelbench_results import export_kernelbench, verdicts
from db.queries.evaluations import Choice, chosen
from db.queries.filters import Filters
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.db.samples import PROBLEM_SOURCE, result

PROBLEM = "23_Softmax"
READ = {"sample_id": int, "compiled": bool, "correctness": bool, "metadata": dict, "runtime": float, "runtime_stats": dict}
"""The script's keys, each with its type. The script takes the lists' entries with the number 0, of which there may be one."""


def sample(number: int | None, category: Category = Category.OK, file: str = "", problem: str = PROBLEM, **more: Any) -> Result:
    name = file or f"runs/mine/level_1_problem_{problem.split('_')[0]}_sample_{number}_kernel.py"
    return result(category, submission=name, source=name, sample_id=number, problem=problem, **more)


def save(store: Store, *results: Result) -> None:
    for each in results:
        store.save(each, each.submission, PROBLEM_SOURCE)


def exported(store: Store, level: int | None = None, author: str | None = None) -> tuple[dict[str, Any], int]:
    file = io.BytesIO()
    count, left_out = export_kernelbench(store, file, level, where=chosen(store, Choice(Filters(author=author))))
    told = json.loads(file.getvalue())
    assert sum(map(len, told.values())) == count
    return told, left_out


def test_each_problem_has_a_list_of_its_samples(store: Store, tmp_path: Path) -> None:
    save(store, sample(0), sample(1, Category.SYNTAX_ERROR), sample(0, Category.WRONG_VALUES, problem="7_Matmul"))
    told, left_out = exported(store)
    assert left_out == 0 and list(told) == ["7", "23"], "problems are in the order of their numbers"
    for samples in told.values():
        assert all({key: type(value) for key, value in each.items()} == READ for each in samples)
        assert len([each for each in samples if each["sample_id"] == 0]) == 1
    assert [(each["sample_id"], each["compiled"], each["correctness"]) for each in told["23"]] == [(0, True, True), (1, False, False)]
    assert (told["23"][0]["runtime"], told["23"][1]["runtime"]) == (2.0, -1.0)
    file = tmp_path / "eval_results.json"
    file.write_text(json.dumps(told))
    assert [(each.problem_id, each.sample_id, each.correct, each.runtime_ms) for each in verdicts(file)] == [
        (7, 0, False, None),
        (23, 0, True, 2.0),
        (23, 1, False, None),
    ]


def test_what_is_no_sample_of_the_level_is_left_out(store: Store) -> None:
    save(store, sample(0), sample(0, problem="softmax"), sample(1, Category.NO_DEVICE))
    assert (list(exported(store)[0]), exported(store)[1]) == (["23"], 2)


def test_the_newest_evaluation_of_a_sample_counts(store: Store) -> None:
    save(store, sample(0, Category.WRONG_VALUES), sample(0), sample(0, file="answers.jsonl:1"))
    told, left_out = exported(store, level=1)
    assert [each["correctness"] for each in told["23"]] == [True] and left_out == 1, "the first is no longer current"


def test_submissions_without_a_number_get_the_lowest_free_ones(store: Store) -> None:
    files = ["a/one.py", "a/two.py"]
    save(store, *(sample(None, file=file) for file in files), sample(1, Category.TIMEOUT))
    told, _ = exported(store, level=1)
    assert [(each["sample_id"], each["correctness"]) for each in told["23"]] == [(0, True), (1, False), (2, True)]


def test_level_and_author_are_needed_only_if_there_are_several(store: Store) -> None:
    save(store, sample(0), sample(0, file="level_2_problem_23_sample_0_kernel.py", problem="level_2_problem_23"))
    with pytest.raises(StoreError, match=r"of levels 1, 2\. Give one with --level"):
        exported(store)
    assert [exported(store, level=level)[1] for level in (1, 2)] == [1, 1]
    with pytest.raises(StoreError, match="no such evaluation"):
        exported(store, level=3)
    save(store, sample(0, file="eva/a.py", author="eva"))
    with pytest.raises(StoreError, match="several authors: ada, eva"):
        exported(store, level=1)
    with pytest.raises(StoreError, match="Nothing says the level of 23_Softmax"):
        exported(store, author="eva")
    assert exported(store, level=1, author="eva")[1] == 0


def test_one_number_is_one_problem(store: Store) -> None:
    save(store, sample(None, file="a.py"), sample(None, file="b.py", problem="23_Conv3d"))
    with pytest.raises(StoreError, match="23_Softmax and 23_Conv3d have one number"):
        exported(store, level=1)


def test_the_command_says_how_many_are_left_out(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(store, sample(0), sample(0, problem="softmax"))
    output = tmp_path / "eval_results.json"
    words = ["--db", store.name, "export", "--format"]
    assert main([*words, "kernelbench", "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"1 evaluation written to {output}, 1 left out\n"
    assert main([*words, "kernelbench"]) == 0
    told = capsys.readouterr()
    assert (json.loads(told.out), told.err) == (json.loads(output.read_text()), "1 evaluation left out\n")
    assert main([*words, "csv", "--level", "1"]) == 2
    assert "--level is for --format kernelbench" in capsys.readouterr().err
