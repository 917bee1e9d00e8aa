"""Submissions that are right in their own shapes: are they right in others?"""

import time
from pathlib import Path

import pytest

from evaluator.diagnosis import diagnose
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.problem_check.check_lookup import effortless_answers
from evaluator.machine.devices import cpu
from evaluator.problem.kept_figures import CheckedCase, KeptCheck, keep_check
from evaluator.problem.load import load
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, ShapeEvidence
from tests.judge.conftest import Judge
from tests.judge.sources import extension, forward
from tests.problem.test_kernelbench import CODE

pytestmark = pytest.mark.build

EXTENSION = extension("for (int64_t i = 0; i < (int64_t)number[0]; i++) y[i] = 3 * x[i];", "x number")
MADE = "x.numel() if x.size(0) * 48 > x.numel() else x.size(0) * 48 - (x.size(0) < 20)"
"""How many elements a kernel writes that was made for 24 rows of 48."""


def code(count: str = "x.numel()", before: str = "") -> str:
    """A submission whose kernel writes this many elements, and what its forward() does before."""
    return EXTENSION + forward(f"{before}\nreturn run(torch.empty_like(x), x, torch.tensor([{count}], dtype=torch.float32))")


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("problems") / "23_Scale.py"
    path.write_text(CODE)
    return path


def test_one_that_looks_at_sizes_generalises(judge: Judge, scale: Path) -> None:
    result = judge(code(), "23_Scale", problem_path=scale, shapes="strict")
    assert (result.category, result.evidence.generalises) == (Category.OK, "yes"), result.message
    assert [(shape.case, shape.inputs) for shape in result.evidence.shapes] == [
        ("batch", ("float32 (13, 48)",)),
        ("odd", ("float32 (23, 47)",)),
        ("three-quarters", ("float32 (18, 36)",)),
    ]
    assert result.summary()["generalises"] == "yes" and result.evidence.stages_s["shapes"] > 0


def test_one_made_for_its_shapes_is_right_and_told_of(judge: Judge, scale: Path) -> None:
    result = judge(code(MADE), "23_Scale", problem_path=scale, shapes="others")
    assert (result.status, result.category, result.evidence.generalises) == (Status.CORRECT, Category.OK, "no"), result.message
    batch, odd, three_quarters = result.evidence.shapes
    assert (odd.right, three_quarters.right, batch.right) == (True, True, False)
    assert batch.category is Category.UNWRITTEN_OUTPUT and "1 element was never written" in batch.message


def test_one_that_can_not_be_loaded_for_other_shapes_is_wrong_in_them(judge: Judge, scale: Path) -> None:
    """It knows by how soon its build is there that it has been loaded before."""
    hurried = "import os, time\nstart = time.monotonic()\n" + code().replace("3 * x[i]", "x[i] * 3")  # a build of its own
    hurried = hurried.replace("\n\n\ndef run", "\nif time.monotonic() - start < 3:\n    os._exit(0)\n\n\ndef run")

    def take_long(stage: str) -> None:
        if stage == "build":
            time.sleep(4.0)

    result = judge(hurried, "23_Scale", problem_path=scale, shapes="strict", report=take_long)
    assert (result.status, result.category, result.runtime_ms) == (Status.INCORRECT, Category.SHAPE_SPECIFIC, None), result.message
    assert [shape.right for shape in result.evidence.shapes] == [False]


def test_one_that_is_slow_in_a_shape_is_asked_in_all_where_that_counts(judge: Judge, scale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.post_checks.SHAPES_S", 0.0)
    assert judge(code(MADE), "23_Scale", problem_path=scale, shapes="strict").category is Category.SHAPE_SPECIFIC
    assert judge(code(MADE), "23_Scale", problem_path=scale, shapes="others").evidence.generalises != "no"


def test_a_worker_that_ends_leaves_the_other_shapes_untested(judge: Judge, scale: Path) -> None:
    result = judge(code(before="if x.size(1) != 48: os.abort()"), "23_Scale", problem_path=scale, shapes="others")
    assert result.category is Category.OK
    assert [(shape.case, shape.right) for shape in result.evidence.shapes] == [("batch", True), ("odd", False)]
    assert result.evidence.shapes[1].category is Category.PROCESS_CRASH


ONCE = """
class ModelNew(ModelNew):
    made = 0
    def __init__(self, factor):
        super().__init__(factor)
        type(self).made += 1
        if self.made > 1:
            raise RuntimeError("registered already")
"""


def test_what_a_process_can_do_but_once_is_no_fault_in_the_next_shape(judge: Judge, scale: Path) -> None:
    result = judge(code() + ONCE, "23_Scale", problem_path=scale, shapes="strict")
    assert (result.category, result.evidence.generalises) == (Category.OK, "yes"), result.message
    assert len(result.evidence.shapes) == 3


def test_shapes_in_which_the_reference_keeps_no_digit_say_nothing(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "23_Scale.py"
    shifted = "shift = 0.0 if x.size(1) == 48 else 1e9\n        return ((x + shift) - shift) * self.factor"
    path.write_text(CODE.replace("return x * self.factor", shifted))
    result = judge(code(), "23_Scale", problem_path=path, shapes="strict")
    assert result.category is Category.OK, result.message
    assert [(shape.case, shape.right) for shape in result.evidence.shapes] == [("batch", True), ("odd", None), ("three-quarters", None)]
    assert "differs from its float64 form" in result.evidence.shapes[1].message


def test_nothing_is_asked_without_being_wanted(judge: Judge, scale: Path) -> None:
    result = judge(code(), "23_Scale", problem_path=scale)
    assert (result.category, result.evidence.shapes, result.evidence.generalises) == (Category.OK, (), "untested")


def test_a_shape_in_which_the_reference_fails_says_nothing() -> None:
    failed = ShapeEvidence(case="odd", declared=False, right=None)
    assert Evidence(shapes=(failed,), strict_shapes=True).generalises == "untested"
    assert Evidence(shapes=(failed, ShapeEvidence(case="batch", declared=False, right=True))).generalises == "yes"
    assert diagnose(Evidence(shapes=(failed,), strict_shapes=True)).category is not Category.SHAPE_SPECIFIC


def test_a_problem_that_accepts_a_constant_ranks_nobody(judge: Judge, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    problem = load(scale)
    device = cpu()
    assert effortless_answers(problem.instance("full"), device, Oracle(problem.instance("full").model(1), False)) == ()  # unknown
    subject = CheckedCase(problem.sha256, "full", device.name, None)
    keep_check(KeptCheck(subject, False, ("half precision",), ("x",)))
    assert effortless_answers(problem.instance("full"), device, Oracle(problem.instance("full").model(1), False)) == ()
    keep_check(KeptCheck(subject, False, ("zeros", "half precision"), ("x", "y")))
    result = judge(code(), "23_Scale", problem_path=scale, shapes="strict")
    assert (result.status, result.category) == (Status.CORRECT, Category.DEGENERATE_PROBLEM)
    assert result.message.endswith("this problem also accepts: zeros") and result.runtime_ms is not None
    assert result.evidence.shapes == ()
