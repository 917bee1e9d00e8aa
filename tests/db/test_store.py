"""Saving and reading evaluations."""

import dataclasses
import os
import struct
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from db.schema.models import MAX_SOURCE_BYTES, EvaluationRow
from db.store import LOOKUP, Entry, EvaluationKey, Store, StoreError
from db.upkeep import check
from evaluator.results.category import CATEGORIES, Category
from tests.db.samples import PROBLEM_SOURCE, environment, full_evidence, result, sha256

ROOT = Path(__file__).parents[2]
SOURCE = "class ModelNew: ...\n"


def ids(url: str) -> list[int]:
    return [row[0] for row in query(url, "SELECT id FROM evaluations ORDER BY id")]


def query(url: str, statement: str) -> list[tuple[Any, ...]]:
    """The file's content as any program would see it."""
    with Store.open(url, read_only=True) as store, store.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def change(url: str, statement: str) -> None:
    with Store.open(url) as store, store.change() as connection:
        connection.exec_driver_sql(statement)


def judged(store: Store, key: EvaluationKey) -> bool:
    return store.judged_among([key]).keys() == {key}


def test_what_is_saved_comes_back_equal(store: Store) -> None:
    saved = result(block=3, sample_id=0, hint="do this", evidence=full_evidence())
    stored = store.get(store.save(saved, SOURCE, PROBLEM_SOURCE))
    assert stored is not None
    assert stored.result == saved
    assert stored.source == SOURCE and stored.source_exact
    assert stored.problem_source == PROBLEM_SOURCE


def test_every_category_can_be_stored(store: Store) -> None:
    saved = [result(category, submission=category.value) for category in CATEGORIES]
    store.save_all([Entry(each, SOURCE) for each in saved])
    assert [stored.result for stored in store.each()] == saved


def test_shared_texts_are_stored_once(store: Store, url: str) -> None:
    for name in "abc":
        store.save(result(submission=name), SOURCE, PROBLEM_SOURCE)
    tables = ("sources", "problems", "cases", "environments", "authors", "boards")
    assert [query(url, f"SELECT count(*) FROM {table}")[0][0] for table in tables] == [1] * len(tables)


def test_a_long_source_is_cut_and_says_so(store: Store) -> None:
    source = "é" * MAX_SOURCE_BYTES
    stored = store.get(store.save(result(Category.TOO_LARGE, source), source))
    assert stored is not None
    assert stored.source == "é" * (MAX_SOURCE_BYTES // 2)
    assert not stored.source_exact


def test_an_exact_source_replaces_an_inexact_one_and_not_the_reverse(store: Store) -> None:
    first = store.save(result(), "what could be read")
    store.save(result(), SOURCE)
    store.save(result(), "what could be read")
    stored = store.get(first)
    assert stored is not None and stored.source == SOURCE and stored.source_exact


def test_a_problem_text_that_comes_later_is_kept(store: Store) -> None:
    first = store.save(result(), SOURCE, None)
    store.save(result(), SOURCE, PROBLEM_SOURCE)
    store.save(result(), SOURCE, None)
    stored = store.get(first)
    assert stored is not None and stored.problem_source == PROBLEM_SOURCE


def test_names_that_are_not_utf8_are_stored_escaped_and_found_again(store: Store) -> None:
    name = os.fsdecode(b"sub/\xe4.py")
    saved = result(submission=name, message="bad \ud800 text", evidence=full_evidence("\udcff"))
    stored = store.get(store.save(saved, "x = '\udce4'"))
    assert stored is not None
    assert stored.result.submission == "sub/\\udce4.py"
    assert stored.result.evidence.stdout == "printed\\udcff"
    assert stored.source == "x = '\\udce4'"
    assert judged(store, EvaluationKey.of(saved))


def test_nul_and_control_characters_come_back(store: Store) -> None:
    saved = result(Category.SYNTAX_ERROR, "a\0b", message="m\0n\x1b[31m", submission="s\0t")
    stored = store.get(store.save(saved, "a\0b"))
    assert stored is not None and stored.result == saved and stored.source == "a\0b" and stored.source_exact


def test_judged_needs_every_part_of_the_key(store: Store) -> None:
    saved = result(block=2)
    store.save(saved, SOURCE)
    key = EvaluationKey.of(saved)
    assert judged(store, key)
    others: dict[str, Any] = {
        "submission": "b.py",
        "block": None,
        "source_sha256": sha256("other"),
        "problem_sha256": None,
        "case": "small",
        "device_name": "NVIDIA A100",
        "precision": "bfloat16",
        "evaluator_version": "0.0.1",
        "protocol": "graph",
    }
    assert set(others) == set(EvaluationKey.fields())
    for name, value in others.items():
        assert not judged(store, dataclasses.replace(key, **{name: value})), name


def test_judged_among_many_are_those_that_were(store: Store) -> None:
    count = LOOKUP + 20
    saved = [result(submission=f"{number}.py") for number in range(count)]
    store.save_all([Entry(each, SOURCE) for each in saved])
    keys = [EvaluationKey.of(each) for each in saved]
    changed = [dataclasses.replace(key, source_sha256=sha256("other")) for key in keys[:5]]
    absent = [dataclasses.replace(key, submission=f"no {key.submission}") for key in keys[:5]]
    assert store.judged_among(iter([*keys[7:], *changed, *absent])).keys() == set(keys[7:])
    assert store.judged_among([]) == {}
    store.save(result(Category.SYNTAX_ERROR, "changed", submission="9.py"), "changed")
    assert store.judged_among(keys[8:10]).keys() == {keys[8]}


def test_several_are_saved_together_or_not_at_all(store: Store) -> None:
    good = [Entry(result(submission=f"{number}.py"), SOURCE, PROBLEM_SOURCE) for number in range(3)]
    assert store.save_all(good) == [1, 2, 3]
    assert store.save_all([]) == []
    impossible = result(submission="4.py").model_copy(update={"duration_s": -1.0})
    with pytest.raises(StoreError):
        store.save_all([Entry(result(submission="3.py"), SOURCE), Entry(impossible, SOURCE)])
    assert store.get(4) is None
    stored = store.get(2)
    assert stored is not None and stored.result == good[1].result and stored.problem_source == PROBLEM_SOURCE


def test_of_several_saved_together_a_later_one_makes_what_was_not_evaluated_history(store: Store) -> None:
    waiting, done = result(Category.INTERRUPTED), result()
    first, second = store.save_all([Entry(waiting, SOURCE), Entry(done, SOURCE)])
    assert current(store) == [second]
    stored = store.get(first)
    assert stored is not None and stored.result == waiting


def test_a_rejected_submission_is_judged(store: Store) -> None:
    saved = result(Category.SYNTAX_ERROR)
    store.save(saved, SOURCE)
    assert judged(store, EvaluationKey("submissions/softmax/a.py", None, sha256(SOURCE), None, None, ""))


def test_not_evaluated_is_not_judged(store: Store) -> None:
    saved = result(Category.NO_TOOLCHAIN)
    store.save(saved, SOURCE)
    assert not judged(store, EvaluationKey.of(saved))


def test_a_file_that_was_changed_back_is_judged_again(store: Store) -> None:
    first, second = result(source="first"), result(source="second")
    store.save(first, "first")
    store.save(second, "second")
    assert not judged(store, EvaluationKey.of(first))
    assert judged(store, EvaluationKey.of(second))


def test_not_evaluated_does_not_hide_what_was_judged(store: Store) -> None:
    saved = result()
    store.save(saved, SOURCE)
    store.save(result(Category.INTERRUPTED), SOURCE)
    assert judged(store, EvaluationKey.of(saved))


def current(store: Store) -> list[int]:
    """Ids of the evaluations that speak for their submissions."""
    with store.read() as connection:
        return list(connection.execute(select(EvaluationRow.id).where(EvaluationRow.is_current).order_by(EvaluationRow.id)).scalars())


def test_not_evaluated_is_history_once_there_is_a_verdict_and_can_be_shown(store: Store, url: str) -> None:
    for later in (Category.OK, Category.TIMEOUT, Category.NO_DEVICE):
        before = current(store)
        store.save(result(Category.INFRASTRUCTURE_ERROR, submission=later), SOURCE)
        first = store.save(result(Category.NO_DEVICE, submission=later, environment=None, case=None, device=None), SOURCE)
        number = store.save(result(later, submission=later), SOURCE)
        assert current(store) == [*before, number]
        shown = store.get(first)
        assert shown is not None and shown.result.category is Category.NO_DEVICE
    assert store.count() == 9 and check(store) == []


def test_not_evaluated_of_something_else_stays_current(store: Store) -> None:
    others: list[dict[str, Any]] = [
        *({"submission": "b.py"}, {"block": 1}, {"problem": "gelu"}, {"case": "small"}),
        {"environment": environment("NVIDIA A100")},
    ]
    for number, changes in enumerate(others, 1):
        store.save(result(Category.INTERRUPTED, submission=f"{number}.py"), SOURCE)
        store.save(result(**{"submission": f"{number}.py"} | changes), SOURCE)
        assert len(current(store)) == 2 * number, changes


def test_judged_rows_are_history(store: Store, url: str) -> None:
    numbers = [store.save(result(category), SOURCE) for category in (Category.OK, Category.OK, Category.TIMEOUT, Category.OK)]
    assert ids(url) == numbers


def test_a_row_that_can_not_be_stored_leaves_nothing(store: Store, url: str) -> None:
    with pytest.raises(StoreError, match="times_finite"):
        store.save(result(runtime_ms=0.0), "never stored", PROBLEM_SOURCE)
    assert ids(url) == []
    assert query(url, "SELECT count(*) FROM sources") == [(0,)]
    assert store.save(result(), SOURCE) == ids(url)[0]


def test_a_damaged_row_is_named(store: Store, url: str) -> None:
    number = store.save(result(), SOURCE)
    change(url, "UPDATE evaluations SET evidence = " + ("x'00'" if "sqlite" in url else "'\\x00'"))
    with pytest.raises(StoreError, match=f"Evaluation {number} can't be read"):
        store.get(number)


def test_a_reader_can_not_write(store: Store, url: str) -> None:
    number = store.save(result(), SOURCE)
    with Store.open(url, read_only=True) as reader:
        assert reader.get(number) is not None
        with pytest.raises(StoreError, match="reading only"):
            reader.save(result(), SOURCE)


def test_a_write_waits_for_another_and_a_reader_does_not(sqlite_store: Store, sqlite_url: str) -> None:
    number = sqlite_store.save(result(), SOURCE)
    path = str(sqlite_store.path)
    code = f"import sqlite3, time; c = sqlite3.connect({path!r}); c.execute('BEGIN IMMEDIATE'); print(flush=True); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert sqlite_store.get(number) is not None
        assert holder.poll() is None
        sqlite_store.save(result(), SOURCE)
        assert holder.wait() == 0
    assert len(ids(sqlite_url)) == 2


def test_the_connections_are_durable_and_strict(sqlite_store: Store) -> None:
    with sqlite_store.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


SAVER = """
    import sys
    from db.store import Store
    from tests.db.samples import full_evidence, result
    url, who, count = sys.argv[1:]
    with Store.open(url) as store:
        for number in range(int(count)):
            text = f"{who}.{number}"
            print(store.save(result(source=text, submission=text, evidence=full_evidence()), text, "shared problem"), flush=True)
"""


def saver(url: str, who: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SAVER), url, who, str(count)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_create_and_save_at_once_lose_nothing(url: str) -> None:
    reported: list[int] = []
    for process in [saver(url, who, 50) for who in "abcd"]:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        reported += map(int, output.split())
    assert len(set(reported)) == 200
    assert ids(url) == sorted(reported)
    with Store.open(url) as store:
        assert check(store) == []


def test_a_run_is_stored_with_its_evaluations_and_its_end(store: Store, url: str) -> None:
    before = store.save(result(submission="before"), SOURCE)
    store.start_run(["pipeline.py", "a b", "--db=postgresql+psycopg://me:secret@host/name"])
    number = store.save(result(), SOURCE)
    store.close()
    with Store.open(url) as reader:
        old, stored = reader.get(before), reader.get(number)
    assert old is not None and old.command is None
    assert stored is not None and stored.command is not None
    assert stored.command.words == ("pipeline.py", "a b", "--db=postgresql+psycopg://me:***@host/name")
    assert stored.command.finished_at is not None and stored.command.finished_at >= stored.command.started_at


@pytest.mark.parametrize(
    "changes",
    [
        {"max_error": float("nan"), "rms_error": float("-inf")},
        {"elements": 2**70, "first_index": None},
        {"first_value": float("nan"), "first_expected": float("inf")},
    ],
)
def test_figures_that_no_column_takes_come_back(store: Store, changes: dict[str, Any]) -> None:
    evidence = full_evidence()
    figures = evidence.rounds[0].outputs[0].model_copy(update=changes)
    rounds = (evidence.rounds[0].model_copy(update={"outputs": (figures,), "seed": 2**64 + 1}),)
    stored = store.get(store.save(result(evidence=evidence.model_copy(update={"rounds": rounds})), SOURCE))
    assert stored is not None
    # NaN differs from itself, its text does not.
    assert repr(stored.result.evidence.rounds) == repr(rounds)


def test_evidence_can_be_asked_for_in_sql(store: Store, url: str) -> None:
    number = store.save(result(Category.WRONG_VALUES, evidence=full_evidence()), SOURCE)
    assert query(url, "SELECT kernel, block_x, count FROM launches WHERE own = 1") == [("softmax_kernel(float const*)", 4096, 5)]
    assert query(url, "SELECT file, line, severity FROM diagnostics") == [("cuda.cu", 7, "error")]
    assert query(url, "SELECT tool, count, line, source_line FROM findings WHERE own = 1") == [("racecheck", 3, 7, 31)]
    assert query(url, "SELECT side, registers, limited_by FROM profiles WHERE own = 1") == [("submission", 168, "registers")]
    assert query(url, "SELECT position, duration_ms FROM profiles WHERE side = 'reference' ORDER BY position") == [(1, 0.25), (2, None)]
    assert query(url, "SELECT round, elements, wrong, tolerance FROM errors") == [(0, 1024, 3, 1e-5)]
    assert query(url, "SELECT side, median_ms FROM timings ORDER BY side") == [
        ("alone", 0.5),
        ("baseline", 1.25),
        ("baseline compile", 1.25),
        ("candidate", 1.25),
    ]
    assert query(url, "SELECT name FROM logs ORDER BY name") == [("build 0",), ("detail",), ("stderr",), ("stdout",)]
    states = query(url, "SELECT sm_clock_mhz, throttled, at_s FROM device_states ORDER BY position")
    assert states == [(1980.0, "sw_power_cap", 0.125), (1755.0, "", 0.25), (None, None, None)]
    samples = query(url, f"SELECT data FROM samples WHERE side = 'candidate' AND kind = 'samples_ms' AND evaluation_id = {number}")
    assert struct.unpack("<3d", samples[0][0]) == (1.125, 1.25, 1.375)


def test_shares_of_light_can_be_asked_for_in_sql_and_follow_from_the_evidence(store: Store, url: str) -> None:
    number = store.save(result(evidence=full_evidence()), SOURCE)
    store.save(result(submission="without.py"), SOURCE)
    assert query(url, "SELECT evaluation_id, light_ms, bound, share, baseline_share FROM speeds_of_light") == [
        (number, 0.5, "memory", 0.25, 0.125)
    ]
    stored = store.get(number)
    assert stored is not None and stored.result.shares_of_light() == {"speed_of_light": 0.25, "baseline_speed_of_light": 0.125}


def test_threads_share_a_store(store: Store) -> None:
    def save(number: int) -> int:
        return store.save(result(submission=f"s{number}", author=f"a{number % 3}", source=str(number)), str(number), PROBLEM_SOURCE)

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(save, range(40)))
    assert len(set(numbers)) == 40 and check(store) == []
