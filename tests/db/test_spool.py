"""Results that the database does not take: kept in a file, told in one line, and imported by the next run."""

import json
import logging
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db.address import Address
from db.queries.runs import runs
from db.storage import spool
from db.storage.record import Entry
from db.storage.spool import Spool
from db.store import Store, StoreError
from db.upkeep import check
from evaluator.results.category import Category
from tests.db import server
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, SOURCE, full_evidence, result
from tests.db.test_upgrade import as_nobody

pytestmark = pytest.mark.slow(30)


def left(url: str) -> list[Path]:
    return list(spool.left_behind(Address.parse(url)))


def spooled(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().rstrip("\0").splitlines()]


@pytest.fixture(autouse=True)
def _made(request: pytest.FixtureRequest, ready_file: Path) -> None:
    """Spare each test the migrations."""
    if "url" in request.fixturenames and (url := request.getfixturevalue("url")).startswith("sqlite"):
        shutil.copy(ready_file, url.removeprefix("sqlite:///"))


@pytest.fixture
def gone(url: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with a short timeout, whose file another connection has locked."""
    monkeypatch.setattr("db.connection.BUSY_TIMEOUT_S", 0.2)
    return Store.open(url)


def test_a_locked_database_keeps_the_result_for_the_next_run(gone: Store, url: str) -> None:
    saved = result(block=2, evidence=full_evidence("\0é\udcff"))
    with closing(sqlite3.connect(gone.path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked.*1 result\(s\) are kept in .*assay\.db\.spool-.*next run imports") as told:
            gone.save(saved, SOURCE, PROBLEM_SOURCE)
        assert "\n" not in str(told.value)
        gone.close()
    (path,) = left(url)
    assert path.parent == gone.path.parent and spooled(path)[0]["block"] == 2
    with Store.open(url) as store:
        assert store.recovered == 1
        stored = store.get(1)
        assert stored is not None and stored.source == SOURCE and stored.problem_source == PROBLEM_SOURCE
        assert stored.result.evidence.stdout == "printed\0é\\udcff"
    assert left(url) == []


def test_nothing_is_left_of_a_run_that_stored_everything_but_a_row_at_fault(url: str, tmp_path: Path) -> None:
    with Store.open(url) as store:
        (reserve,) = left(url)
        assert reserve.stat().st_size == spool.RESERVE_BYTES
        store.save(result(), SOURCE)
        with pytest.raises(StoreError, match="times_finite") as told:
            store.save(result(runtime_ms=0.0), SOURCE)
    assert "kept" not in str(told.value) and left(url) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"assay.db", "state"}


def test_the_spool_of_a_run_under_way_is_left_alone_and_a_reader_imports_none(url: str) -> None:
    with Store.open(url) as first:
        first._spool.add(Entry(result(), SOURCE))
        with Store.open(url) as second:
            assert second.recovered == 0 and second.count() == 0
        assert len(left(url)) == 1
    with Store.open(url, read_only=True) as reader:
        assert reader.count() == 0
    assert len(left(url)) == 1
    with Store.open(url) as third:
        assert third.recovered == 1


def test_what_is_stored_already_is_not_stored_twice_and_a_line_cut_short_is_ignored(url: str) -> None:
    saved = result()
    with Store.open(url) as store:
        store.save(saved, SOURCE)
        for each in (saved, result(Category.TIMEOUT), result(submission="b.py")):
            store._spool.add(Entry(each, SOURCE))
    (path,) = left(url)
    path.write_bytes(path.read_bytes() + path.read_bytes()[:100])
    with Store.open(url) as store:
        assert (store.recovered, store.count()) == (2, 3)


def test_a_spool_that_can_not_be_read_is_put_aside_and_told_of(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with Store.open(url) as store:
        store._spool.add(Entry(result(), SOURCE))
    (path,) = left(url)
    path.write_text('{"of": "something else"}\n')
    with caplog.at_level(logging.WARNING), Store.open(url) as store:
        assert store.recovered == 0
    assert left(url) == [] and path.with_suffix(".refused").exists()
    assert str(path.with_suffix(".refused")) in caplog.text


def test_a_folder_that_can_not_be_written_sends_results_to_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_nobody() as folder:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        home = folder / "home"
        home.mkdir()
        url = f"sqlite:///{home}/assay.db"
        store = Store.open(url)
        store._spool.close()
        store._engine.dispose()
        (home / "assay.db").chmod(0o400)
        home.chmod(0o500)
        with pytest.raises(StoreError, match=r"1 result\(s\) are kept in .*state/assay/"):
            store.save(result(), SOURCE)
        store.close()
        home.chmod(0o700)
        (home / "assay.db").chmod(0o600)
        with Store.open(url) as store:
            assert store.recovered == 1


def test_a_server_that_goes_away_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = server.create(postgresql, "goes_away")
    store = Store.open(url)
    store.save(result(), SOURCE)
    server.drop(postgresql, "goes_away")
    with pytest.raises(StoreError, match=r"1 result\(s\) are kept in .*state/assay/"):
        store.save(result(Category.TIMEOUT, submission="late.py"), SOURCE)
    store.close()
    (path,) = left(url)
    assert [record["submission"] for record in spooled(path)] == ["late.py"]


def test_the_end_of_a_run_that_can_not_be_stored_is_no_error(gone: Store, url: str, caplog: pytest.LogCaptureFixture) -> None:
    gone.start_run(["pipeline.py"], 3)
    with closing(sqlite3.connect(gone.path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        gone.expect(2)
        assert "how much the run has to do could not be stored" in caplog.text
        with pytest.raises(StoreError, match="kept in"):
            gone.save(result(), SOURCE)
        caplog.clear()
        gone.close()
    # What became of the results has been told, so that nothing more is.
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    with Store.open(url) as store:
        (found,) = runs(store, 1)
        assert store.recovered == 1 and found.expected == 3 and found.finished_at is None


def test_where_nothing_can_be_kept_the_message_says_so(gone: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_self: Spool, _item: Entry) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "add", no_space)
    with closing(sqlite3.connect(gone.path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked.*could not be kept in a file either: No space left"):
            gone.save(result(), SOURCE)
        gone.close()


def save_until_killed(url: str, reports: int, attempt: int) -> None:
    """Runs in a fork: reports each id as soon as it is stored."""
    try:
        with Store.open(url) as store:
            for number in range(1_000_000):
                text = f"{attempt}.{number}"
                stored = store.save(result(source=text, submission=text, evidence=full_evidence()), text, PROBLEM_SOURCE)
                os.write(reports, f"{stored}\n".encode())
    finally:
        os._exit(1)


@BOTH
@pytest.mark.parametrize(("kills", "on_a_server"), [(30, 5), pytest.param(300, 300, marks=pytest.mark.nightly)])
def test_kills_while_saving_leave_all_that_was_reported(url: str, kills: int, on_a_server: int) -> None:
    kills = kills if url.startswith("sqlite") else on_a_server
    reported: set[int] = set()
    for attempt in range(kills):
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            save_until_killed(url, sender, attempt)
        os.close(sender)
        with os.fdopen(receiver, "rb") as reports:
            # Every other one is killed on its way to the first result, while it opens the database or before.
            first = reports.readline() if attempt % 2 else b""
            time.sleep(0.03 * ((attempt * 37) % 100) / 100)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            reported |= {int(line) for line in (first + reports.read()).split(b"\n")[:-1]}
    with Store.open(url) as store:
        assert check(store, deep=True) == []
        assert reported <= {stored.id for stored in store.each()}
        assert store.count() >= len(reported) >= kills // 2
    assert left(url) == []
