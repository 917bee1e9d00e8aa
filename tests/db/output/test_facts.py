"""The words for parts of the evidence."""

from db.output.facts import ablation_text, own_work_text
from evaluator.results.category import Category
from evaluator.results.evidence import AblationEvidence, OwnWorkEvidence


def test_a_wrong_answer_without_its_own_kernels_is_what_is_expected() -> None:
    wrong = AblationEvidence(still_right=False, category=Category.WRONG_VALUES, message="all of it")
    assert ablation_text(wrong) == "no longer right, as expected: this proves that its own kernels are used (wrong_values: all of it)"
    right = AblationEvidence(still_right=True)
    assert ablation_text(right).startswith("still right")
    attempt = AblationEvidence(still_right=False, category=Category.REFERENCE_ACCESS, message="it reads the reference")
    assert ablation_text(attempt) == "reference_access: it reads the reference"


def test_what_own_kernels_do_is_told_with_what_it_means() -> None:
    little = OwnWorkEvidence(time_share=0.031, written_bytes=4, answer_bytes=4000)
    assert own_work_text(little) == (
        "3.10 % of a call's time, 4 bytes written for an answer of 4000: too little for the answer to be theirs"
    )
    enough = OwnWorkEvidence(time_share=0.031, written_bytes=40, answer_bytes=4000)
    assert own_work_text(enough) == "3.10 % of a call's time, at least 40 bytes written for an answer of 4000"
