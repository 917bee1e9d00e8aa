"""Results of problem checks in the cache."""

from dataclasses import replace
from pathlib import Path

from evaluator.problem.check_cache import FOLDER, CheckCache, CheckedCase, KeptCheck

SUBJECT = CheckedCase("0" * 64, "small", "A processor", None)


def test_what_was_kept_is_found_for_just_that_subject(tmp_path: Path) -> None:
    admissions = CheckCache(tmp_path / "cache")
    kept = KeptCheck(SUBJECT, False, ("zeros",), ("zeros passes as the output",))
    assert admissions.of(SUBJECT) is None
    admissions.keep(kept)
    assert admissions.of(SUBJECT) == kept
    others = [replace(SUBJECT, case="full"), replace(SUBJECT, precision="bfloat16"), replace(SUBJECT, device_name="B")]
    assert admissions.among([*others, SUBJECT]) == [kept]
    admissions.keep(KeptCheck(SUBJECT, True, (), ()))
    assert admissions.of(SUBJECT) == KeptCheck(SUBJECT, True, (), ())


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    admissions = CheckCache(tmp_path)
    admissions.keep(KeptCheck(SUBJECT, True, (), ()))
    for damaged in ("", "[]", '{"admitted": true}', '{"admitted": true, "trivial": 3, "reasons": []}'):
        (tmp_path / FOLDER / SUBJECT.key).write_text(damaged)
        assert admissions.of(SUBJECT) is None
