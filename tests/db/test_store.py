"""Saving and reading evaluations; the database refuses rows that could not be results."""

import dataclasses
import os
import random
import sqlite3
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from db.queries.leaderboard import leaderboard
from db.schema.evidence_models import (
    BaselineRow,
    BuildAttemptRow,
    BuildRow,
    DeviceStateRow,
    DiagnosticRow,
    ErrorRow,
    LaunchRow,
    LogRow,
    RoundRow,
    SampleRow,
    TimingRow,
)
from db.schema.models import MAX_SOURCE_BYTES, EvaluationRow
from db.store import LOOKUP, Entry, EvaluationKey, Store, StoreError
from db.upkeep import check
from evaluator.results.category import CATEGORIES, Category
from tests.command_line import PROJECT
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, SOURCE, environment, full_evidence, in_workloads, result, sha256


def ids(store: Store) -> list[int]:
    return [row[0] for row in query(store, "SELECT id FROM evaluations ORDER BY id")]


def query(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """The database's content as any program would see it."""
    with store.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def change(store: Store, statement: str) -> None:
    with store.change() as connection:
        connection.exec_driver_sql(statement)


def judged(store: Store, key: EvaluationKey) -> bool:
    return store.judged_among([key]).keys() == {key}


@BOTH
def test_what_is_saved_comes_back_equal(store: Store) -> None:
    evidence = full_evidence()
    figures, each = evidence.rounds[0].outputs[0], evidence.rounds[0]
    odd: list[dict[str, Any]] = [  # what no column takes
        {"max_error": float("nan"), "rms_error": float("-inf")},
        {"elements": 2**70, "first_index": None},
        {"first_value": float("nan"), "first_expected": float("inf")},
    ]
    rounds = [(each.model_copy(update={"outputs": (figures.model_copy(update=changes),), "seed": 2**64 + 1}),) for changes in odd]
    for saved in (
        result(block=3, sample_id=0, hint="do this", evidence=evidence),
        result(Category.SYNTAX_ERROR, "a\0b", message="m\0n\x1b[31m", submission="s\0t"),
        in_workloads("ada", small=2.0, large=None),
        *(result(submission=f"{number}.py", evidence=evidence.model_copy(update={"rounds": one})) for number, one in enumerate(rounds)),
    ):
        source = {"s\0t": "a\0b", "ada.py": "of ada"}.get(saved.submission, SOURCE)
        stored = store.get(store.save(saved, source, PROBLEM_SOURCE))
        # NaN differs from itself, its text does not.
        assert stored is not None and stored.result.speedup_interval == saved.speedup_interval
        assert stored.result == saved or (
            saved.submission[0].isdigit() and repr(stored.result.evidence.rounds) == repr(saved.evidence.rounds)
        )
        assert stored.source == source and stored.source_exact
        assert stored.problem_source == (None if saved.problem_sha256 is None else PROBLEM_SOURCE)


@BOTH
def test_every_category_can_be_stored_and_ids_are_never_used_twice(store: Store) -> None:
    saved = [result(category, submission=category.value) for category in CATEGORIES]
    numbers = store.save_all([Entry(each, SOURCE) for each in saved])
    assert [stored.result for stored in store.each()] == saved
    change(store, f"DELETE FROM evaluations WHERE id = {numbers[-1]}")
    assert store.save(result(), SOURCE) == numbers[-1] + 1


def test_shared_texts_are_stored_once(store: Store, url: str) -> None:
    for name in "abc":
        store.save(result(submission=name), SOURCE, PROBLEM_SOURCE)
    tables = ("sources", "problems", "cases", "environments", "authors", "boards")
    assert [query(store, f"SELECT count(*) FROM {table}")[0][0] for table in tables] == [1] * len(tables)


def test_a_long_source_is_cut_and_says_so(store: Store) -> None:
    source = "é" * MAX_SOURCE_BYTES
    stored = store.get(store.save(result(Category.TOO_LARGE, source), source))
    assert stored is not None
    assert stored.source == "é" * (MAX_SOURCE_BYTES // 2)
    assert not stored.source_exact


def test_an_exact_source_replaces_an_inexact_one_and_a_problems_text_is_kept(store: Store) -> None:
    first = store.save(result(), "what could be read", None)
    store.save(result(), SOURCE, PROBLEM_SOURCE)
    store.save(result(), "what could be read", None)
    stored = store.get(first)
    assert stored is not None and stored.source == SOURCE and stored.source_exact and stored.problem_source == PROBLEM_SOURCE


@BOTH
def test_names_that_are_not_utf8_are_stored_escaped_and_found_again(store: Store) -> None:
    name = os.fsdecode(b"sub/\xe4.py")
    saved = result(submission=name, message="bad \ud800 text", evidence=full_evidence("\udcff"))
    stored = store.get(store.save(saved, "x = '\udce4'"))
    assert stored is not None
    assert stored.result.submission == "sub/\\udce4.py"
    assert stored.result.evidence.stdout == "printed\\udcff"
    assert stored.source == "x = '\\udce4'"
    assert judged(store, EvaluationKey.of(saved))


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


@BOTH
def test_a_timed_evaluation_answers_for_an_untimed_one_and_not_the_reverse(store: Store) -> None:
    quick, full = result(Category.UNTIMED), result()
    store.save(quick, SOURCE)
    assert (judged(store, EvaluationKey.of(quick)), judged(store, EvaluationKey.of(full))) == (True, False)
    store.save(full, SOURCE)
    store.save(quick, SOURCE)
    assert judged(store, EvaluationKey.of(full)) and [row.speedup for row in leaderboard(store)] == [full.speedup]
    alone = result(submission="b.py")
    store.save(alone, SOURCE)
    assert judged(store, EvaluationKey.of(alone).untimed)
    other = dataclasses.replace(EvaluationKey.of(alone).untimed, case="small")
    assert not judged(store, other)


@pytest.mark.slow
@BOTH
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


@BOTH
def test_several_are_saved_together_or_not_at_all(store: Store) -> None:
    good = [Entry(result(submission=f"{number}.py"), SOURCE, PROBLEM_SOURCE) for number in range(3)]
    assert store.save_all(good) == [1, 2, 3]
    assert store.save_all([]) == []
    wrong = {"duration": result().model_copy(update={"duration_s": -1.0}), "times_finite": result(runtime_ms=0.0)}
    for told, impossible in wrong.items():
        with pytest.raises(StoreError, match=told):
            store.save_all([Entry(result(submission="3.py"), SOURCE), Entry(impossible, "never stored")])
    assert ids(store) == [1, 2, 3] and query(store, "SELECT text FROM sources") == [(SOURCE,)]
    stored = store.get(2)
    assert stored is not None and stored.result == good[1].result and stored.problem_source == PROBLEM_SOURCE


def test_a_verdict_is_judged_until_the_source_changes_and_what_was_not_evaluated_is_not(store: Store) -> None:
    saved, rejected, unlucky = result(), result(Category.SYNTAX_ERROR, submission="b.py"), result(Category.NO_TOOLCHAIN, submission="c.py")
    for each in (saved, result(Category.INTERRUPTED), rejected, unlucky):
        store.save(each, SOURCE)
    assert judged(store, EvaluationKey.of(saved)), "what was not evaluated later does not hide it"
    assert judged(store, EvaluationKey("b.py", None, sha256(SOURCE), None, None, ""))
    assert not judged(store, EvaluationKey.of(unlucky))
    second = result(source="second")
    store.save(second, "second")
    assert judged(store, EvaluationKey.of(second)) and not judged(store, EvaluationKey.of(saved)), "a file that was changed back"


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


@BOTH
def test_a_damaged_row_is_named(store: Store, url: str) -> None:
    number = store.save(result(), SOURCE)
    change(store, "UPDATE evaluations SET evidence = " + ("x'00'" if "sqlite" in url else "'\\x00'"))
    with pytest.raises(StoreError, match=f"Evaluation {number} can't be read"):
        store.get(number)


@BOTH
def test_a_reader_can_not_write(store: Store, url: str) -> None:
    number = store.save(result(), SOURCE)
    with Store.open(url, read_only=True) as reader:
        assert reader.get(number) is not None
        with pytest.raises(StoreError, match="reading only"):
            reader.save(result(), SOURCE)


def test_a_write_waits_for_another_and_a_reader_does_not(store: Store) -> None:
    number = store.save(result(), SOURCE)
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(store.save, result(), SOURCE)
        assert store.get(number) is not None
        assert not waiting.done()
        holder.execute("COMMIT")
        assert waiting.result() == number + 1
    assert ids(store) == [number, number + 1]


def test_the_connections_are_durable_and_strict(store: Store) -> None:
    with store.read() as connection:
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
    words = [sys.executable, "-c", textwrap.dedent(SAVER), url, who, str(count)]
    return subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow(15)
@BOTH
def test_processes_that_create_and_save_at_once_lose_nothing(url: str) -> None:
    reported: list[int] = []
    for process in [saver(url, who, 20) for who in "abcd"]:
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        reported += map(int, output.split())
    with Store.open(url) as store:
        assert len(set(reported)) == 80 and ids(store) == sorted(reported) and check(store) == []


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


@BOTH
def test_evidence_can_be_asked_for_in_sql(store: Store, url: str) -> None:
    number = store.save(result(evidence=full_evidence()), SOURCE)
    assert query(store, "SELECT kernel, block_x, count FROM launches WHERE own = 1") == [("softmax_kernel(float const*)", 4096, 5)]
    assert query(store, "SELECT file, line, severity FROM diagnostics") == [("cuda.cu", 7, "error")]
    assert query(store, "SELECT tool, count, line, source_line FROM findings WHERE own = 1") == [("racecheck", 3, 7, 31)]
    assert query(store, "SELECT side, registers, limited_by FROM profiles WHERE own = 1") == [("submission", 168, "registers")]
    assert query(store, "SELECT position, duration_ms FROM profiles WHERE side = 'reference' ORDER BY position") == [(1, 0.25), (2, None)]
    assert query(store, "SELECT round, elements, wrong, tolerance FROM errors") == [(0, 1024, 3, 1e-5)]
    assert query(store, "SELECT side, median_ms FROM timings ORDER BY side") == [
        ("alone", 0.5),
        ("baseline", 1.25),
        ("baseline compile", 1.25),
        ("candidate", 1.25),
    ]
    assert query(store, "SELECT name FROM logs ORDER BY name") == [("build 0",), ("detail",), ("stderr",), ("stdout",)]
    shares = query(store, "SELECT evaluation_id, light_ms, bound, share, baseline_share FROM speeds_of_light")
    assert shares == [(number, 0.5, "memory", 0.25, 0.125)]
    states = query(store, "SELECT sm_clock_mhz, throttled, at_s FROM device_states ORDER BY position")
    assert states == [(1980.0, "sw_power_cap", 0.125), (1755.0, "", 0.25), (None, None, None)]
    samples = query(store, f"SELECT data FROM samples WHERE side = 'candidate' AND kind = 'samples_ms' AND evaluation_id = {number}")
    assert struct.unpack("<3d", samples[0][0]) == (1.125, 1.25, 1.375)


@BOTH
def test_threads_share_a_store(store: Store) -> None:
    def save(number: int) -> int:
        return store.save(result(submission=f"s{number}", author=f"a{number % 3}", source=str(number)), str(number), PROBLEM_SOURCE)

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(save, range(40)))
    assert len(set(numbers)) == 40 and check(store) == []


PARTS = (
    *(RoundRow, ErrorRow, TimingRow, SampleRow, BaselineRow, BuildRow, BuildAttemptRow, DiagnosticRow, LaunchRow, LogRow, DeviceStateRow),
)


@pytest.fixture
def connection(store: Store) -> Iterator[Connection]:
    """A connection in a transaction that is taken back, with an ok evaluation 1 and a failed evaluation 2."""
    store.start_run(["pipeline.py"])
    store.save(result(evidence=full_evidence()), "class ModelNew: ...\n", "problem")
    store.save(result(Category.TIMEOUT, submission="b.py"), "class ModelNew: ...\n", "problem")
    with store._writer.connect() as opened:
        yield opened
        opened.rollback()


IMPOSSIBLE = [
    "runtime_ms = NULL WHERE id = 1",
    "runtime_ms = NULL, baseline_ms = NULL, speedup = NULL, speedup_low = NULL, speedup_high = NULL WHERE id = 1",
    "runtime_ms = -1 WHERE id = 1",
    "baseline_ms = 0 WHERE id = 1",
    "speedup_high = 1e301 WHERE id = 1",
    "runtime_ms = 1, baseline_ms = 1, speedup = 1, speedup_low = 1, speedup_high = 1 WHERE id = 2",
    "speedup = 1 WHERE id = 2",
    "speedup_low = speedup_high + 1 WHERE id = 1",
    "speedup_low = 0 WHERE id = 1",
    "speedup_high = speedup / 2 WHERE id = 1",
    "status = 'correct' WHERE id = 2",
    "status = 'wonderful' WHERE id = 2",
    "category = 'wonderful' WHERE id = 2",
    "category = NULL WHERE id = 2",
    "status = NULL WHERE id = 2",
    "is_ranked = true WHERE id = 2",
    "is_current = false WHERE id = 1",
    "is_current = NULL WHERE id = 1",
    "source_id = 99 WHERE id = 1",
    "environment_id = 99 WHERE id = 1",
    "board_id = 99 WHERE id = 1",
    "submission_id = 99 WHERE id = 1",
    "author_id = 99 WHERE id = 1",
    "run_id = 99 WHERE id = 1",
    "duration_s = -1 WHERE id = 1",
    "submission_id = NULL WHERE id = 1",
    "evidence = NULL WHERE id = 1",
    "digest = evidence WHERE id = 1",
]

CONTRADICTIONS = [
    "UPDATE submissions SET block = 0",
    "UPDATE submissions SET name = NULL",
    "UPDATE boards SET problem = 'another'",
    "UPDATE boards SET problem = NULL",
    "UPDATE boards SET \"case\" = 'another'",
    "UPDATE runs SET finished_at = '1999'",
    "UPDATE problems SET sha256 = 'short'",
    "UPDATE tallies SET count = -1",
    "UPDATE standings SET evaluation_id = 99",
    "UPDATE rounds SET passed = 2",
    "UPDATE rounds SET evaluation_id = 99",
    "UPDATE errors SET wrong = elements + 1",
    "UPDATE errors SET round = 7",
    "UPDATE builds SET ok = 1",
    "UPDATE diagnostics SET build = 7",
    "UPDATE logs SET characters = 0",
    "UPDATE baselines SET runtime_ms = 0",
]

NEEDED = ["sources", "problems", "cases", "environments", "categories", "authors", "submissions", "boards"]

SOURCES = [
    "('short', 1, 'text')",
    f"('{'a' * 64}', 2, 'text')",
    f"('{'a' * 64}', 0, '{'x' * ((4 << 20) + 1)}')",
    f"('{'a' * 64}', 0, NULL)",
]


@BOTH
@pytest.mark.parametrize(
    "statements",
    [
        [f"UPDATE evaluations SET {change}" for change in IMPOSSIBLE],
        CONTRADICTIONS,
        [f"DELETE FROM {table}" for table in NEEDED],
        [f"INSERT INTO sources (sha256, exact, text) VALUES {values}" for values in SOURCES],
    ],
    ids=["evaluations that can't be", "rows that contradict themselves", "what evaluations refer to", "sources that can't be"],
)
def test_what_could_not_be_is_refused(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        with pytest.raises(DBAPIError) as refused, connection.begin_nested():
            connection.exec_driver_sql(statement)
        assert isinstance(refused.value, IntegrityError) or "INSERT INTO sources" in statement, statement[:200]


@BOTH
def test_an_evaluation_takes_its_evidence_along(connection: Connection) -> None:
    counts = {model.__tablename__: f"SELECT count(*) FROM {model.__tablename__} WHERE evaluation_id = 1" for model in PARTS}
    assert {name for name, count in counts.items() if not connection.exec_driver_sql(count).scalar()} == set()
    connection.exec_driver_sql("DELETE FROM standings")
    connection.exec_driver_sql("DELETE FROM evaluations WHERE id = 1")
    assert {name for name, count in counts.items() if connection.exec_driver_sql(count).scalar()} == set()


DRAWN = [
    *(Category.OK, Category.OK, Category.OK, Category.TIMEOUT, Category.SYNTAX_ERROR, Category.NO_CODE_BLOCK, Category.UNKNOWN_PROBLEM),
    *(Category.INTERRUPTED, Category.NO_DEVICE, Category.NO_CUSTOM_KERNEL),
]


def drawn(draw: random.Random) -> Entry:
    """A result of one of few submissions, with one of few sources, so that much of it meets again."""
    category = draw.choice(DRAWN)
    source = f"source {draw.randrange(3)}"
    changes: dict[str, object] = {
        "submission": f"s{draw.randrange(4)}",
        "block": draw.choice([None, 1, 2]),
        "author": draw.choice([None, "ada", "bob"]),
        "sample_id": draw.choice([None, 7]),
    }
    if category.status == "rejected":
        changes["problem"] = None if category is Category.UNKNOWN_PROBLEM else draw.choice([None, "softmax"])
    else:
        changes |= {"problem": draw.choice(["softmax", "gelu"]), "case": draw.choice(["full", "small"])}
        changes |= {"environment": environment(draw.choice(["A", "B"])), "precision": draw.choice([None, "own", "float16"])}
    if category is Category.NO_DEVICE:
        changes |= {"environment": None, "case": draw.choice([None, "full"])}
    if category is Category.OK:
        changes["speedup"] = draw.choice([0.5, 1.0, 2.0])
    return Entry(result(category, source, **changes), source, PROBLEM_SOURCE)  # type: ignore[arg-type]


@pytest.mark.slow(15)
@BOTH
def test_flags_standings_and_tallies_follow_from_the_evaluations(store: Store, url: str) -> None:
    draw = random.Random(len(url.partition(":")[0]))
    for step in range(40 if url.startswith("sqlite") else 12):
        items = [drawn(draw) for _ in range(draw.choice([1, 1, 2, 12]))]
        store.save_all(items)
        assert check(store) == [], step


@pytest.mark.slow(15)
def test_a_batch_comes_to_the_same_as_one_by_one(store: Store, tmp_path: Path) -> None:
    draw = random.Random(9)
    items = [drawn(draw) for _ in range(60)]
    with Store.open(f"sqlite:///{tmp_path}/other.db") as other:
        numbers = [other.save(item.result, item.source, item.problem_source) for item in items]
        assert store.save_all(items) == numbers
        assert [item.result for item in store.each()] == [item.result for item in other.each()]
        columns = ("id", "is_current", "is_ranked", "speedup")
        assert list(store.summaries(columns)) == list(other.summaries(columns))
