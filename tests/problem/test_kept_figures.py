"""Figures of problems and results of their checks, kept in the cache folder."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evaluator.problem import kept_figures, shapes
from evaluator.problem.kept_figures import CheckedCase, KeptCheck, check_of, keep_check
from evaluator.problem.load import load
from evaluator.problem.shapes import other_shapes

PROBLEM = """
import torch

batch = {batch}
width = (32, 48)

class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu()

def get_inputs():
    return [torch.rand(batch, *width)]

def get_init_inputs():
    return []
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def problem_of(folder: Path, batch: int) -> Path:
    path = folder / f"1_Relu{batch}.py"
    path.write_text(PROBLEM.format(batch=batch), encoding="utf-8")
    return path


def test_what_is_kept_is_read_again_under_its_own_key_alone() -> None:
    kept_figures.write(["peak", "copy"], {"per_s": 2.5})
    assert kept_figures.read(["peak", "copy"]) == {"per_s": 2.5}
    assert kept_figures.read(["peak", "float32"]) is None


def test_what_can_not_be_read_is_missing_and_what_can_not_be_written_is_no_error(cache: Path) -> None:
    kept_figures.write(["one"], {"per_s": 1.0})
    (file,) = (cache / kept_figures.FOLDER).iterdir()
    file.write_text("[1, 2", encoding="utf-8")
    assert kept_figures.read(["one"]) is None
    (cache / "known-elsewhere").write_text("", encoding="utf-8")
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder", encoding="utf-8")
    kept_figures.write(["one"], {"per_s": 1.0})
    assert kept_figures.read(["one"]) is None


@dataclass(frozen=True)
class Work:
    read_bytes: int


def test_what_another_version_kept_with_other_fields_is_missing() -> None:
    kept_figures.write(["work"], {"read_bytes": 3})
    assert kept_figures.read_as(Work, ["work"]) == Work(3)
    kept_figures.write(["work"], {"read_bytes": 3, "moved_bytes": 4})
    assert kept_figures.read_as(Work, ["work"]) is None


def test_another_text_case_or_constant_has_another_key(tmp_path: Path) -> None:
    one, other = load(problem_of(tmp_path, 16)).instance("full"), load(problem_of(tmp_path, 24)).instance("full")
    assert kept_figures.case_key("work", one) == kept_figures.case_key("work", load(one.problem.path).instance("full"))
    assert kept_figures.case_key("work", one) != kept_figures.case_key("work", other)
    assert kept_figures.case_key("work", one) != kept_figures.case_key("demand", one)


SUBJECT = CheckedCase("0" * 64, "small", "A processor", None)


def test_a_check_is_found_for_just_its_subject() -> None:
    kept = KeptCheck(SUBJECT, False, ("zeros",), ("zeros passes as the output",))
    assert check_of(SUBJECT) is None
    keep_check(kept)
    assert check_of(SUBJECT) == kept
    others = {"case": "full", "precision": "bfloat16", "device_name": "B", "scope": "effortless"}
    assert all(check_of(replace(SUBJECT, **{name: other})) is None for name, other in others.items())  # type: ignore[arg-type]
    keep_check(KeptCheck(SUBJECT, True, (), ()))
    assert check_of(SUBJECT) == KeptCheck(SUBJECT, True, (), ())


def test_a_damaged_check_counts_as_none(cache: Path) -> None:
    keep_check(KeptCheck(SUBJECT, True, (), ()))
    (file,) = (cache / kept_figures.FOLDER).iterdir()
    for damaged in ("", "[]", '{"admitted": true}', '{"admitted": true, "trivial": 3, "reasons": []}'):
        file.write_text(damaged, encoding="utf-8")
        assert check_of(SUBJECT) is None


def test_other_shapes_are_searched_for_once_and_are_the_same_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(problem_of(tmp_path, 16))
    searched = [(shape.name, shape.constants, tuple(shape.case.inputs(1, "cpu")[0].shape)) for shape in other_shapes(problem, "full")]
    assert len(searched) >= 2 and all(shape != (16, 32, 48) for _, _, shape in searched)

    def never(*_: object) -> None:
        raise AssertionError("they are known")

    monkeypatch.setattr(shapes._Maker, "_run", never)
    again = [(shape.name, shape.constants, tuple(shape.case.inputs(1, "cpu")[0].shape)) for shape in other_shapes(problem, "full")]
    assert again == searched
    assert isinstance(again[0][1].get("width", ()), tuple)
