"""The words for parts of the evidence."""

from db.output.facts import KERNEL_COLUMNS, ablation_text, kernel_cells, own_work_text, profile_facts
from evaluator.results.category import Category
from evaluator.results.evidence import AblationEvidence, KernelProfile, OwnWorkEvidence, ProfiledSide, ProfileEvidence
from tests.db.samples import full_evidence


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


def test_a_profiled_kernel_has_a_cell_for_each_column() -> None:
    profile = full_evidence().profile
    assert profile is not None and profile.submission is not None
    cells = dict(zip(KERNEL_COLUMNS, kernel_cells(profile.submission.kernels[0], "library"), strict=True))
    assert (cells["of"], cells["ms"], cells["occupancy"], cells["limited by"]) == ("its own", "0.25", "24.0 % of 25.0 %", "registers")
    assert cells["waits"] == "long_scoreboard 60.0 %, barrier 20.0 %"
    unknown = kernel_cells(KernelProfile(kernel="k", own=False), "library")
    assert unknown == ["k", "library", *[""] * (len(KERNEL_COLUMNS) - 2)]


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
