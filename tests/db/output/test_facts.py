"""The words for parts of the evidence."""

from db.output.facts import ablation_text
from evaluator.results.category import Category
from evaluator.results.evidence import AblationEvidence


def test_a_wrong_answer_without_its_own_kernels_is_what_is_expected() -> None:
    wrong = AblationEvidence(still_right=False, category=Category.WRONG_VALUES, message="all of it")
    assert ablation_text(wrong) == "no longer right, as expected: this proves that its own kernels are used (wrong_values: all of it)"
    right = AblationEvidence(still_right=True)
    assert ablation_text(right).startswith("still right")
    attempt = AblationEvidence(still_right=False, category=Category.REFERENCE_ACCESS, message="it reads the reference")
    assert ablation_text(attempt) == "reference_access: it reads the reference"
