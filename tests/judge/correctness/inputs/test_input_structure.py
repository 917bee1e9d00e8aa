"""The structure that the judge finds in a problem's random inputs."""

from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.inputs.input_structure import InputStructure, Kind, Relation, Tie, structure_of
from tests.judge.correctness.plain_problems import plain_case

CPU = torch.device("cpu")


def structure(folder: Path, drawn: str) -> InputStructure:
    return structure_of(plain_case(folder, drawn, parameters="*x"), CPU)


@pytest.mark.parametrize(
    "drawn",
    [
        "torch.randn(40, 30)",
        "torch.rand(40, 30)",
        "torch.randn(5000)",
        "torch.rand(3)",
        "torch.randn(40, 30).tril()",
        "torch.randn(40, 40)",
        "torch.diag(torch.randn(40))",
        "torch.randn(40, 30).half()",
        "torch.randn(40, 30).to(torch.float8_e4m3fn)",
        "torch.rand(2, 2)",
    ],
)
def test_plain_inputs_may_change(tmp_path: Path, drawn: str) -> None:
    assert structure(tmp_path, drawn) == InputStructure((Kind.FREE,))


@pytest.mark.parametrize(
    "drawn",
    [
        "torch.randn(())",
        "torch.randint(0, 9, (40, 30))",
        "(torch.rand(40, 30) < 0.5).float()",
        "torch.randint(0, 1000, (40, 30)).float()",
        "torch.randint(0, 16, (40, 30)) / 16.0",
        "torch.zeros(40, 30).masked_fill(torch.rand(40, 30) < 0.5, -torch.inf)",
        "torch.zeros(40, 30)",
        "torch.rand(40, 30).softmax(-1)",
        "torch.rand(40, 30).softmax(0)",
        "torch.rand(40, 30).flatten().softmax(0).view(40, 30)",
        "torch.rand(40, 30).log_softmax(-1)",
        "nn.functional.normalize(torch.randn(40, 30))",
        "nn.functional.normalize(torch.randn(40, 30)).bfloat16()",
        "torch.rand(40, 30).to(torch.float8_e8m0fnu)",
        "torch.rand(40, 30).softmax(-1).to(torch.float8_e4m3fn)",
    ],
)
def test_what_means_something_else_when_multiplied_stays(tmp_path: Path, drawn: str) -> None:
    assert structure(tmp_path, drawn) == InputStructure((Kind.FIXED,))


@pytest.mark.parametrize(
    ("drawn", "kind"),
    [
        ("torch.randn(40, 30).abs()", Kind.POSITIVE),
        ("torch.empty(40, 30).uniform_(0.5, 1.5)", Kind.POSITIVE),
        ("torch.randn(40, 30) + 1e-3", Kind.FREE),
        ("torch.randn(40, 30).sort(1).values", Kind.SORTED),
        ("torch.rand(40, 30).sort(1, descending=True).values", Kind.SORTED),
        ("(lambda a: a + a.mT)(torch.randn(3, 20, 20))", Kind.SYMMETRIC),
    ],
)
def test_structure_that_a_change_can_keep(tmp_path: Path, drawn: str, kind: Kind) -> None:
    assert structure(tmp_path, drawn).kinds == (kind,)


@pytest.mark.parametrize(
    ("drawn", "relation"),
    [
        ("x = torch.randn(40, 30)\n    return [x, x.clone()]", Relation.EQUAL),
        ("x = torch.randn(40, 30)\n    return [x, x.mT.contiguous()]", Relation.TRANSPOSED),
        ("x = torch.randn(40, 30)\n    return [x, x + torch.rand(40, 30)]", Relation.ORDERED),
        ("x = torch.randn(40, 30)\n    return [x, x - torch.rand(40, 30)]", Relation.ORDERED),
    ],
)
def test_inputs_that_depend_on_each_other(tmp_path: Path, drawn: str, relation: Relation) -> None:
    assert structure(tmp_path, drawn) == InputStructure((Kind.FREE, Kind.FREE), (Tie(1, 0, relation),))


def test_inputs_that_are_always_the_same_stay_beside_others_that_vary(tmp_path: Path) -> None:
    table = "torch.linspace(-1, 1, 1200).sin().view(40, 30)"
    assert structure(tmp_path, f"{table}, torch.randn(40, 30)").kinds == (Kind.FIXED, Kind.FREE)
    assert structure(tmp_path, f"torch.randint(0, 40, (9,)), {table}").kinds == (Kind.FIXED, Kind.FIXED)


def test_inputs_that_are_all_always_the_same_may_change(tmp_path: Path) -> None:
    drawn = "torch.randn(40, 30, generator=torch.Generator().manual_seed(0))"
    assert structure(tmp_path, f"{drawn}, torch.ones(30)").kinds == (Kind.FREE, Kind.FIXED)
    assert structure(tmp_path, "torch.linspace(0, 1, 100)").kinds == (Kind.SORTED,)


def test_inputs_that_do_not(tmp_path: Path) -> None:
    assert structure(tmp_path, "torch.rand(40, 30), torch.rand(40, 30), torch.rand(30, 40)").ties == ()


def test_a_third_input_is_tied_to_the_first(tmp_path: Path) -> None:
    found = structure(tmp_path, "x = torch.randn(9, 9)\n    return [x, torch.randn(4), x.clone(), x.clone()]")
    assert found.ties == (Tie(2, 0, Relation.EQUAL), Tie(3, 0, Relation.EQUAL))


@pytest.mark.parametrize(
    ("drawn", "kind"),
    [
        ("x = torch.rand(40, 30)\n    return [x, x.abs()]", Kind.POSITIVE),
        ("x = torch.randn(40, 30).sort(1).values\n    return [x, x.mT.contiguous()]", Kind.FIXED),
        ("x = torch.randn(40, 30).sort(0).values\n    return [x, x.mT.contiguous()]", Kind.FIXED),
    ],
)
def test_two_that_change_as_one_have_one_kind(tmp_path: Path, drawn: str, kind: Kind) -> None:
    assert structure(tmp_path, drawn).kinds == (kind, kind)


def test_nested_inputs_are_counted_one_by_one(tmp_path: Path) -> None:
    drawn = "{'a': torch.randn(4, 5), 'b': (torch.randint(0, 3, (4,)), 3)}, torch.randn(4, 5).abs()"
    assert structure(tmp_path, drawn).kinds == (Kind.FREE, Kind.FIXED, Kind.POSITIVE)


def test_only_a_part_of_a_large_input_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.correctness.inputs.input_structure.SAMPLE_ELEMENTS", 600)
    monkeypatch.setattr("evaluator.judge.correctness.inputs.input_structure.SQUARE", 16)
    drawn = (
        "x = torch.randn(50, 50)\n    return [x + x.mT, torch.randn(100, 30).sort(1).values, torch.rand(100, 30).softmax(1), "
        "torch.randn(100, 30)]"
    )
    assert structure(tmp_path, drawn).kinds == (Kind.SYMMETRIC, Kind.SORTED, Kind.FIXED, Kind.FREE)


def test_it_is_found_once_for_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = plain_case(tmp_path, "torch.randn(41, 7)")
    first = structure_of(case, CPU)
    monkeypatch.setattr("evaluator.judge.correctness.inputs.input_structure.fresh_seed", None)
    assert structure_of(case, CPU) is first
