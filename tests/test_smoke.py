"""One run of the pipeline over a few files of each corpus: every stage is crossed, and each gets its verdict."""

from pathlib import Path

import pytest

from tests.corpus import Entry, Record, check, corpus, judge
from tests.diagnosis.fault import FAULTS

HERE = Path(__file__).parent
ATTACKS = ("answer_zeros", "exit_zero", "forge_nan_json", "memo_by_shape")
"""A few that are soon judged on a CPU."""
FORMS = ("nested_outputs",)
PLAIN = ("batch_norm",)
FAULTY = ("nul.py", "refusal.txt", "raises.txt", "typo.py")
CHOSEN = {
    **{entry.name: entry for name, entry in corpus(HERE / "attacks/corpus").items() if name in ATTACKS},
    **{entry.name: entry for name, entry in corpus(HERE / "honest/corpus").items() if name in FORMS},
    **{entry.name: entry for name, entry in corpus(HERE / "contract/corpus").items() if name in PLAIN},
    **{name: FAULTS[name] for name in FAULTY},
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    return judge(CHOSEN.values(), tmp_path_factory.mktemp("smoke"), "--device", "cpu", "--timeout", "30")


@pytest.mark.parametrize("entry", CHOSEN.values(), ids=CHOSEN)
def test_verdict(records: dict[str, Record], entry: Entry) -> None:
    check(entry, records[entry.name], "cpu")


def test_all_that_were_chosen_are_in_the_corpora() -> None:
    assert len(CHOSEN) == len(ATTACKS) + len(FORMS) + len(PLAIN) + len(FAULTY)
