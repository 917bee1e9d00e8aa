"""Which submissions need a part of the judge."""

import runpy
from pathlib import Path

import pytest

from benchmarks.checks import WITHOUT, Part, Stored, without_measurements, without_rules
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, TimingEvidence
from tests.diagnosis.evidence import failed, launch, timing
from tests.judge.correctness.inputs.test_round_inputs import CPU, rounds_of
from tests.judge.correctness.plain_problems import plain_case
from tests.shipped import ROOT

PLANNING = ROOT / "evaluator/judge/correctness/inputs/round_inputs.py"


def stored(name: str, category: Category, evidence: Evidence, kind: str = "cpu") -> Stored:
    return Stored(name, kind, category, evidence)


def test_a_rule_is_needed_by_what_has_another_category_without_it() -> None:
    wrong = Evidence(rounds=(failed(Category.WRONG_VALUES),))
    library = Evidence(device_kind="cuda", launches=(launch().model_copy(update={"own": False}),))
    kept = [stored("wrong", Category.WRONG_VALUES, wrong), stored("library", Category.NO_CUSTOM_KERNEL, library)]
    parts = {part.name: part.submissions for part in without_rules([*kept, stored("older", Category.TIMEOUT, wrong)])}
    assert parts["failed_round"] == ("wrong",) and parts["no_own_kernel"] == ("library",)
    assert sum(map(len, parts.values())) == 2


def test_a_measurement_is_needed_by_what_is_shorter_without_it() -> None:
    side = timing().candidate.model_copy(update={"samples_ms": (1.0,) * 4, "wall_ms": (1.0,) * 4})
    late = side.model_copy(update={"single_ms": (9.0,) * 4})
    honest = side.model_copy(update={"single_ms": (1.0,) * 4})
    evidence = Evidence(timing=TimingEvidence(clock="cuda_event", calls=4, candidate=late, baseline=honest, alone=honest))
    parts = list(without_measurements([stored("late", Category.OK, evidence, "cuda"), stored("elsewhere", Category.OK, evidence)]))
    assert Part("ON_DEVICE", "Excess single_ms", ("late",)) in parts
    assert [part for part in parts if part.submissions and part.table == "ON_DEVICE"] == [parts[0]]


@pytest.mark.parametrize("name", ["signs", "rows", "outliers"])
def test_a_distribution_that_is_left_out_is_never_drawn(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = plain_case(tmp_path, "torch.randn(20, 30)")
    assert name in {plan.distribution for plan in rounds_of(case).plans}
    monkeypatch.setattr(FewChanges, "__init__", FewChanges.__init__)  # restored after the test
    changed = tmp_path / "round_inputs.py"
    changed.write_text(PLANNING.read_text(encoding="utf-8") + WITHOUT.format(name=name), encoding="utf-8")
    round_inputs = runpy.run_path(str(changed))["RoundInputs"](case, CPU, rounds_of(case)._oracle)
    assert name not in {plan.distribution for plan in round_inputs.plans} | set(FewChanges(case, CPU).names)
