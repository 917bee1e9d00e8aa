"""Opening: creating, upgrading, refusing."""

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect

import db.schema.evidence_models
import db.schema.queue_models  # noqa: F401 - the tables of both belong to the metadata
from db.address import Address
from db.connection import make_engine
from db.queries.leaderboard import leaderboard
from db.queries.texts import matching
from db.schema.models import Base
from db.storage.rows import BoardKey, device_name
from db.store import Entry, Store, StoreError
from db.upgrade import HISTORY, History, ensure_current
from db.upkeep import check
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.evidence import TimingSide
from evaluator.results.result import Result
from tests.db import server
from tests.db.samples import full_evidence, result, sha256

pytestmark = pytest.mark.slow(20)

HEAD = HISTORY.head
NEXT = f"{int(HEAD) + 1:04}"
SECOND = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("remark", sa.Text))
"""
FIRST = History(HISTORY.folder, ("0001",))
FAILING = SECOND + '    op.execute("UPDATE nowhere SET x = 1")\n'


def schema(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'").fetchall()
    return {name: " ".join(sql.replace('"', "").split()) for name, sql in rows if name != "alembic_version"}


def old_database(url: str, saved: Sequence[Result]) -> None:
    """A database of revision 0001 with results as that version wrote them: whole rows, the evidence in one column."""
    ensure_current(make_engine(Address.parse(url)), Address.parse(url), FIRST)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.executemany(
            "INSERT INTO categories VALUES (?, ?)", [(name.value, info.status.value) for name, info in CATEGORIES.items()]
        )
        for result in saved:
            old = result.model_dump(exclude={"evidence", "environment", "precision", "protocol"}) | {"device_name": device_name(result)}
            evidence = result.evidence.model_dump_json(exclude={"device_states"})
            old |= {"started_at": result.started_at.isoformat(timespec="microseconds"), "sandbox": result.evidence.sandbox}
            old |= {"evidence": zlib.compress(evidence.encode()), "environment_sha256": None}
            connection.execute("INSERT OR IGNORE INTO sources VALUES (?, 1, ?)", (result.source_sha256, "class ModelNew: ...\n"))
            if result.problem_sha256 is not None:
                connection.execute("INSERT OR IGNORE INTO problems VALUES (?, ?, 'text')", (result.problem, result.problem_sha256))
            if result.environment is not None:
                old["environment_sha256"] = sha256(result.environment.model_dump_json())
                values = (old["environment_sha256"], result.environment.device_name, result.environment.model_dump_json())
                connection.execute("INSERT OR IGNORE INTO environments VALUES (?, ?, ?)", values)
            names = ", ".join(f'"{name}"' for name in old)
            connection.execute(f"INSERT INTO evaluations ({names}) VALUES ({', '.join('?' * len(old))})", list(old.values()))
        connection.execute("UPDATE sqlite_sequence SET seq = 70 WHERE name = 'evaluations'")
        connection.commit()


def parts(sql: str) -> list[str]:
    """Columns and constraints in an order of their own."""
    return sorted(part.strip() for part in sql[sql.index("(") + 1 : sql.rindex(")")].split(", "))


def with_second_revision(tmp_path: Path, text: str) -> History:
    folder = tmp_path / "migrations"
    shutil.copytree(HISTORY.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"r{NEXT}_remark.py").write_text(text)
    return History(folder, (*HISTORY.revisions, NEXT))


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


def test_the_migrations_make_what_the_models_say(store: Store, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
    Base.metadata.create_all(engine)
    engine.dispose()
    made, said = schema(store.path), schema(tmp_path / "models.db")
    assert {name for name in made if "_index" not in name} == set(said), "only SQLite's index of texts is no model"
    for name, sql in said.items():
        assert parts(made[name]) == parts(sql), name


def test_the_list_of_revisions_is_that_of_the_files() -> None:
    script = ScriptDirectory(str(HISTORY.folder))
    assert tuple(reversed([revision.revision for revision in script.walk_revisions()])) == HISTORY.revisions


def test_the_table_of_categories_is_that_of_the_code_and_a_new_one_is_added(store: Store, url: str) -> None:
    def rows() -> dict[str, str]:
        with closing(sqlite3.connect(store.path)) as connection:
            return dict(connection.execute("SELECT name, status FROM categories").fetchall())

    assert rows() == {category.value: info.status.value for category, info in CATEGORIES.items()}
    with store.change() as connection:
        connection.exec_driver_sql("DELETE FROM categories WHERE name = 'ok'")
    Store.open(url).close()
    assert rows()["ok"] == "correct"


def test_opening_an_existing_database_imports_no_migrations(store: Store, url: str) -> None:
    code = "import sys; from db.store import Store; Store.open(sys.argv[1]).close(); print('alembic' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code, url], cwd=HISTORY.folder.parents[1], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_an_older_database_is_copied_and_upgraded(store: Store, url: str, tmp_path: Path) -> None:
    number = store.save(result(), "class ModelNew: ...\n")
    before = schema(store.path)
    first = tmp_path / f"assay.db.bak-{HEAD}"
    first.write_text("mine")
    with pytest.raises(StoreError, match="nowhere"):
        Store.open(url, history=with_second_revision(tmp_path / "failing", FAILING))
    assert schema(store.path) == before, "an upgrade that fails changes nothing"
    with Store.open(url, history=with_second_revision(tmp_path, SECOND)) as upgraded:
        assert upgraded.get(number) is not None
        assert "remark" in schema(store.path)["evaluations"]
    assert first.read_text() == "mine", "a second backup does not replace the first"
    for path in tmp_path.glob(f"assay.db.bak-{HEAD}.*"):
        assert schema(path) == before
        with Store.open(f"sqlite:///{path}") as kept:
            assert kept.get(number) is not None


def test_results_of_the_first_tables_are_carried_over(sqlite_url: str, tmp_path: Path) -> None:
    side = full_evidence().timing
    assert side is not None
    samples = TimingSide(
        median_ms=2.0, lower_quartile_ms=1.9, upper_quartile_ms=2.1, samples_ms=tuple(1.5 + number / 10 for number in range(11))
    )
    timing = side.model_copy(update={"candidate": samples, "baseline": samples.model_copy(update={"samples_ms": samples.samples_ms[::-1]})})
    saved = [
        result(submission="a.py", speedup=2.0),
        result(submission="a.py", speedup=3.0, evidence=full_evidence().model_copy(update={"timing": timing})),
        result(Category.TIMEOUT, submission="b.py", author=None, block=2, sample_id=5, evidence=full_evidence("é")),
        result(Category.NO_CODE_BLOCK, submission="c.md", problem=None),
    ]
    old_database(sqlite_url, saved)
    with Store.open(sqlite_url) as store:
        for number, before in enumerate(saved, 1):
            stored = store.get(number)
            assert stored is not None
            unknown = {"precision": None, "evidence": before.evidence.model_copy(update={"device_states": ()})}
            assert stored.result == before.model_copy(update=unknown)
        assert check(store, deep=True) == []
        assert [(row.evaluation_id, row.speedup) for row in leaderboard(store, every=True)] == [(2, 3.0)]
        (row,) = leaderboard(store)
        assert row.speedup_low < 3.0 < row.speedup_high
        assert store.add_missing([Entry(saved[2], "class ModelNew: ...\n")]) == 0
        assert store.save(result(submission="a.py", speedup=4.0), "class ModelNew: ...\n") == 71
        assert [row.speedup for row in leaderboard(store, every=True)] == [4.0]
        assert check(store, deep=True) == []
    assert "boards" not in schema(tmp_path / "assay.db.bak-0001")


def test_a_long_upgrade_tells_of_its_steps(sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.results.display.progress.PIPED_EVERY_S", 0.001)
    old_database(sqlite_url, [result(submission=f"{number}.py", evidence=full_evidence()) for number in range(60)])
    capsys.readouterr()
    Store.open(sqlite_url).close()
    told = rf"^Upgrading the database, \d s: (\d+) of {len(HISTORY.revisions)} done"
    steps = {int(done) for done in re.findall(told, capsys.readouterr().err, re.MULTILINE)}
    assert len(steps) > 2 and max(steps) == len(HISTORY.revisions) - 1


def test_boards_from_before_protocols_are_those_of_defaults(sqlite_url: str) -> None:
    """Evaluations by the default protocol go to the old board, others to a new one."""
    address = Address.parse(sqlite_url)
    before = History(HISTORY.folder, HISTORY.revisions[:6])
    ensure_current(make_engine(address), address, before)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        board = BoardKey.of(result())
        connection.execute("INSERT INTO problems (name, sha256) VALUES (?, ?)", (board.problem, board.problem_sha256))
        connection.execute("INSERT INTO cases VALUES (?, ?, ?)", (board.problem, board.problem_sha256, board.case))
        values = (7, board.sha256, board.problem, board.problem_sha256, board.case, board.device_name, board.precision)
        names = 'id, sha256, problem, problem_sha256, "case", device_name, precision'
        connection.execute(f"INSERT INTO boards ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.commit()
    with Store.open(sqlite_url) as store:
        for number, protocol in enumerate((None, "graph"), 1):
            saved = result(submission="a.py", protocol=protocol)
            assert store.save(saved, "class ModelNew: ...\n") == number
            found = store.get(number)
            assert found is not None and found.result == saved
        assert check(store, deep=True) == []
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("SELECT board_id FROM evaluations ORDER BY id").fetchall() == [(7,), (8,)]
        assert connection.execute("SELECT protocol FROM boards ORDER BY id").fetchall() == [(None,), ("graph",)]


def test_the_migrations_make_what_the_models_say_on_a_server(postgresql: str) -> None:
    url = server.create(postgresql, "migrated")
    Store.open(url).close()
    with create_engine(url).connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), Base.metadata)
        # Alembic compares neither check constraints nor partial indices: their names and texts have to agree too.
        made = connection.exec_driver_sql(CONSTRAINTS).all()
    assert found == []
    other = create_engine(server.create(postgresql, "said"))
    Base.metadata.create_all(other)
    with other.connect() as connection:
        said = connection.exec_driver_sql(CONSTRAINTS).all()
    other.dispose()
    assert [tuple(row) for row in made] == [tuple(row) for row in said] and len(said) > 100


CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid <> coalesce(to_regclass('alembic_version'), 0::oid)
    UNION SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'
    ORDER BY 1, 2, 3"""


def test_texts_of_the_previous_revision_can_be_searched(absent: str, tmp_path: Path) -> None:
    kernel = full_evidence().launches[0].model_copy(update={"kernel": "void ampere_sgemm_128x64_nn(float)"})
    evidence = full_evidence().model_copy(update={"launches": (kernel, kernel)})
    saved = result(Category.WRONG_VALUES, "def a_helper(): ...\n", message="3 elements", evidence=evidence)
    address = Address.parse(absent)
    ensure_current(make_engine(address), address, History(HISTORY.folder, HISTORY.revisions[: HISTORY.revisions.index("0016")]))
    with Store.open(f"sqlite:///{tmp_path / 'current.db'}") as store:
        number = store.save(saved, "def a_helper(): ...\n")
        texts = words_of_texts(store)
        copy_rows(store, make_engine(address))
    with Store.open(absent, read_only=True) as upgraded:
        assert words_of_texts(upgraded) == texts
        for words in ("a_helper", "elements", "sgemm_128x64"):
            assert matching(upgraded, words) == {number}, words


def copy_rows(store: Store, engine: Engine) -> None:
    """Copy all rows except texts for a search to a database of an older revision."""
    with store.read() as source, engine.execution_options(write=True).begin() as target:
        for table in Base.metadata.sorted_tables:
            if table.name != "search_texts" and (rows := source.execute(table.select()).mappings().all()):
                target.execute(table.insert(), [dict(row) for row in rows])


def words_of_texts(store: Store) -> dict[int, set[str]]:
    with store.read() as connection:
        return {number: set(text.split("\n")) for number, text in connection.exec_driver_sql("SELECT * FROM search_texts")}


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("postgresql+psycopg://nobody:hush@127.0.0.1:1/name", r"127\.0\.0\.1.*refused.*See that the server runs"),
        ("postgresql://assay@/missing?host={home}", r'database "missing" does not exist.*createdb'),
        ("postgresql://assay@/locked?host={home}", r'database "locked" does not exist.*createdb'),
        ("mysql://host/name", r"mysql databases are not supported\. Write a file's path, or postgresql"),
    ],
)
def test_a_server_that_does_not_answer_is_one_line_without_the_password(postgresql: str, url: str, cause: str) -> None:
    with pytest.raises(StoreError, match=cause) as told:
        Store.open(url.format(home=postgresql))
    assert "hush" not in str(told.value) and "\n" not in str(told.value)


@pytest.fixture(params=["sqlite", "postgresql"])
def absent(request: pytest.FixtureRequest) -> str:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    return server.create(request.getfixturevalue("postgresql"), f"absent_{time.monotonic_ns()}")


def test_a_newer_database_is_refused_with_both_versions(absent: str, tmp_path: Path) -> None:
    Store.open(absent, history=with_second_revision(tmp_path, SECOND)).close()
    assert not list(tmp_path.glob("*.bak-*")), "a new database leaves no backup"
    with pytest.raises(StoreError, match=rf"revision {NEXT}.*newest that it knows is {HEAD}.*newer Assay"):
        Store.open(absent)


def test_a_database_of_something_else_is_refused_and_left_alone(absent: str) -> None:
    engine = create_engine(absent)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE mine (x integer)")
    with pytest.raises(StoreError, match="another program's database"):
        Store.open(absent)
    assert inspect(engine).get_table_names() == ["mine"]
    engine.dispose()


def test_a_database_may_be_named_by_its_files_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("a b+c.db").close()
    for name in ("a b+c.db", "sqlite:///a b+c.db", f"{tmp_path}/a b+c.db"):
        with Store.open(name, read_only=True) as store:
            assert not store.get(1)
    assert [path.name for path in tmp_path.iterdir()] == ["a b+c.db"]


def test_no_password_is_told_whatever_the_driver() -> None:
    for driver in ("postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+pg8000"):
        with pytest.raises(StoreError) as told:
            Store.open(f"{driver}://me:hush@127.0.0.1:1/name")
        assert "hush" not in str(told.value)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "diary.db").write_text("A diary, not a database. " * 100)
    for place, told in (
        (f"{tmp_path}/diary.db", r"not a database.*--db"),
        (f"{tmp_path}/nowhere/assay.db", "nowhere of the database does not exist"),
        (str(tmp_path), "is a folder"),
    ):
        with pytest.raises(StoreError, match=told):
            Store.open(f"sqlite:///{place}")
    with pytest.raises(StoreError, match=r"no database.*assay judge"):
        Store.open(f"sqlite:///{tmp_path}/assay.db", read_only=True)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.db"]


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
        (folder / "assay.db").chmod(stat.S_IRUSR | stat.S_IWUSR)
        for log in folder.glob("assay.db-*"):
            log.unlink()
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        with pytest.raises(StoreError, match="can't be written"):
            Store.open(f"sqlite:///{folder}/new.db")
        with pytest.raises(StoreError, match="another file with --db"):
            Store.open(url, read_only=True)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:assay.db",
        "",
        ":memory:",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:a?mode=memory",
        "mysql://host/db",
        "postgresql+pg8000://me:hush@host/db",
    ],
)
def test_an_unsuitable_url_is_answered_with_a_suitable_one(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"[Ww]rite (its|a file's) path"):
        Store.open(url)
    assert list(tmp_path.iterdir()) == []
