"""Opening: creating, upgrading, refusing."""

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from db.models import Base
from db.store import Store, StoreError
from db.upgrade import HISTORY, History
from evaluator.category import CATEGORIES
from tests.db.samples import result

SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("remark", sa.Text))
"""
FAILING = SECOND + '    op.execute("UPDATE nowhere SET x = 1")\n'


def schema(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'").fetchall()
    return {name: " ".join(sql.replace('"', "").split()) for name, sql in rows if name != "alembic_version"}


def parts(sql: str) -> list[str]:
    """Columns and constraints in an order of their own."""
    return sorted(part.strip() for part in sql[sql.index("(") + 1 : sql.rindex(")")].split(", "))


def with_second_revision(tmp_path: Path, text: str) -> History:
    folder = tmp_path / "migrations"
    shutil.copytree(HISTORY.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "r0004_remark.py").write_text(text)
    return History(folder, (*HISTORY.revisions, "0004"))


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder that belongs to the user who then runs the body: nobody where the tests run as root, whom permissions don't stop."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(stat.S_IRWXU)
        shutil.rmtree(folder)


def test_the_migrations_make_what_the_models_say(sqlite_store: Store, tmp_path: Path) -> None:
    store = sqlite_store
    engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
    Base.metadata.create_all(engine)
    engine.dispose()
    made, said = schema(store.path), schema(tmp_path / "models.db")
    assert set(made) == set(said)
    for name, sql in said.items():
        assert parts(made[name]) == parts(sql), name


def test_the_list_of_revisions_is_that_of_the_files() -> None:
    script = ScriptDirectory(str(HISTORY.folder))
    assert tuple(reversed([revision.revision for revision in script.walk_revisions()])) == HISTORY.revisions


def test_the_table_of_categories_is_that_of_the_code(sqlite_store: Store) -> None:
    store = sqlite_store
    with closing(sqlite3.connect(store.path)) as connection:
        rows = dict(connection.execute("SELECT name, status FROM categories").fetchall())
    assert rows == {category.value: info.status.value for category, info in CATEGORIES.items()}


def test_a_category_that_is_new_is_added(sqlite_url: str) -> None:
    url = sqlite_url
    with Store.open(url) as store:
        path = store.path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM categories WHERE name = 'ok'")
        connection.commit()
    with Store.open(url) as store:
        assert store.save(result(), "class ModelNew: ...\n") == 1


def test_opening_an_existing_database_is_quick(sqlite_url: str) -> None:
    url = sqlite_url
    Store.open(url).close()
    times_s = []
    for _ in range(3):
        started = time.perf_counter()
        Store.open(url).close()
        times_s.append(time.perf_counter() - started)
    assert min(times_s) < 0.15


def test_an_older_database_is_copied_and_upgraded(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    with Store.open(url) as store:
        number = store.save(result(), "class ModelNew: ...\n")
        before = schema(store.path)
    history = with_second_revision(tmp_path, SECOND)
    with Store.open(url, history=history) as store:
        assert store.get(number) is not None
        assert "remark" in schema(store.path)["evaluations"]
    backup = tmp_path / "assay.db.bak-0003"
    assert schema(backup) == before
    with Store.open(f"sqlite:///{backup}") as store:
        assert store.get(number) is not None


def test_a_second_backup_does_not_replace_the_first(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    Store.open(url).close()
    first = tmp_path / "assay.db.bak-0003"
    first.write_text("mine")
    Store.open(url, history=with_second_revision(tmp_path, SECOND)).close()
    assert first.read_text() == "mine"
    assert schema(tmp_path / "assay.db.bak-0003.2")


def test_an_upgrade_that_fails_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    with Store.open(url) as store:
        number = store.save(result(), "class ModelNew: ...\n")
        before = schema(store.path)
    with pytest.raises(StoreError, match="nowhere"):
        Store.open(url, history=with_second_revision(tmp_path, FAILING))
    assert schema(tmp_path / "assay.db") == before
    with Store.open(url) as store:
        assert store.get(number) is not None


def test_a_new_database_leaves_no_backup(sqlite_store: Store, tmp_path: Path) -> None:
    assert not list(tmp_path.glob("*.bak-*"))


def test_a_newer_database_is_refused_with_both_versions(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    Store.open(url, history=with_second_revision(tmp_path, SECOND)).close()
    with pytest.raises(StoreError, match=r"revision 0004.*newest that it knows is 0003.*newer Assay"):
        Store.open(url)


def test_a_database_of_something_else_is_refused_and_left_alone(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    path = tmp_path / "assay.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="something else"):
        Store.open(url)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    (tmp_path / "assay.db").write_text("A diary, not a database. " * 100)
    with pytest.raises(StoreError, match=r"not a database.*--db"):
        Store.open(url)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere of the database does not exist"):
        Store.open(f"sqlite:///{tmp_path}/nowhere/assay.db")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store.open(f"sqlite:///{tmp_path}")


def test_reading_creates_nothing(sqlite_url: str, tmp_path: Path) -> None:
    url = sqlite_url
    with pytest.raises(StoreError, match=r"no database.*pipeline.py"):
        Store.open(url, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_refused() -> None:
    with as_nobody() as folder:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        with pytest.raises(StoreError, match="can't be written"):
            Store.open(f"sqlite:///{folder}/assay.db")


def test_an_unwritable_file_is_refused_for_writing_and_good_for_reading() -> None:
    with as_nobody() as folder:
        url = f"sqlite:///{folder}/assay.db"
        with Store.open(url) as store:
            number = store.save(result(), "class ModelNew: ...\n")
        (folder / "assay.db").chmod(stat.S_IRUSR)
        with pytest.raises(StoreError, match="can't be written"):
            Store.open(url)
        with Store.open(url, read_only=True) as store:
            assert store.get(number) is not None


def test_a_reader_in_an_unwritable_folder_is_told_to_copy_the_file() -> None:
    with as_nobody() as folder:
        url = f"sqlite:///{folder}/assay.db"
        Store.open(url).close()
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        with pytest.raises(StoreError, match="copy the file elsewhere"):
            Store.open(url, read_only=True)


@pytest.mark.parametrize("url", ["assay.db", "sqlite://", "sqlite:///:memory:", "sqlite:///file:a?mode=memory", "postgresql://host/db"])
def test_an_unsuitable_url_is_answered_with_a_suitable_one(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = sqlite_url
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="sqlite:///"):
        Store.open(url)
    assert list(tmp_path.iterdir()) == []
