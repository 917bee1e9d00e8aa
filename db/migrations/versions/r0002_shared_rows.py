"""What evaluations share in rows of its own, and what follows from them kept: boards, submissions, runs, standings, tallies.

The verdicts of revision 0001 are carried over; their evidence stays whole in its column.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

from db.migrations.tables_0002 import create_tables
from db.storage.interval import speedup_interval

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OLD = ("evaluations", "environments", "problems", "sources", "categories")


def upgrade() -> None:
    connection = op.get_bind()
    carried = connection.dialect.name == "sqlite"
    if carried:
        last = connection.execute(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'evaluations'")).scalar()
        for table in OLD:
            op.execute(f"CREATE TABLE old_{table} AS SELECT * FROM {table}")
        for table in OLD:
            op.drop_table(table)
    create_tables()
    if carried:
        _carry_over(connection)
        for table in OLD:
            op.drop_table(f"old_{table}")
        connection.execute(sa.text("UPDATE sqlite_sequence SET seq = max(seq, :last) WHERE name = 'evaluations'"), {"last": last or 0})


def _carry_over(connection: sa.Connection) -> None:
    for statement in (
        "INSERT INTO categories SELECT * FROM old_categories",
        "INSERT INTO sources (id, sha256, exact, text) SELECT rowid, sha256, exact, text FROM old_sources",
        "INSERT INTO environments (id, sha256, device_name, json) SELECT rowid, sha256, device_name, json FROM old_environments",
        "INSERT INTO problems SELECT * FROM old_problems",
        'INSERT INTO cases SELECT DISTINCT problem, problem_sha256, "case" FROM old_evaluations'
        ' WHERE problem IS NOT NULL AND problem_sha256 IS NOT NULL AND "case" IS NOT NULL',
    ):
        op.execute(statement)
    for (name,) in connection.execute(sa.text("SELECT DISTINCT author FROM old_evaluations")).all():
        connection.execute(sa.text("INSERT INTO authors (sha256, name) VALUES (:sha256, :name)"), {"sha256": _sha256(name), "name": name})
    board = 'SELECT DISTINCT problem, problem_sha256, "case", device_name FROM old_evaluations'
    for problem, problem_sha256, case, device_name in connection.execute(sa.text(board)).all():
        values = {"problem": problem, "problem_sha256": problem_sha256, "case": case, "device_name": device_name}
        statement = (
            'INSERT INTO boards (sha256, problem, problem_sha256, "case", device_name)'
            " VALUES (:sha256, :problem, :problem_sha256, :case, :device_name)"
        )
        key = _sha256([problem, problem_sha256, case, device_name, None])
        connection.execute(sa.text(statement), values | {"sha256": key})
    op.execute(
        "INSERT INTO submissions (name, block, author_id, sample_id)"
        " SELECT DISTINCT o.submission, o.block, a.id, o.sample_id FROM old_evaluations o JOIN authors a ON a.name IS o.author"
    )
    columns = ", ".join(EVALUATION_COLUMNS)
    insertion = sa.text(f"INSERT INTO evaluations ({columns}) VALUES ({', '.join(':' + name for name in EVALUATION_COLUMNS)})")
    for values in _carried(connection):
        connection.execute(insertion, values)


KEPT = (
    *("id", "device", "status", "category", "runtime_ms", "baseline_ms", "speedup", "started_at", "duration_s", "evaluator_version"),
    *("sandbox", "message", "hint", "evidence"),
)
FOUND = ("submission_id", "author_id", "board_id", "source_id", "environment_id")
DERIVED = ("speedup_low", "speedup_high", "digest", "is_current", "is_ranked")
EVALUATION_COLUMNS = (*KEPT, *FOUND, *DERIVED)
IDENTITY = (
    *("submission", "block", "author", "sample_id", "problem", "problem_sha256", "case", "device", "source_sha256"),
    *("status", "category", "runtime_ms", "baseline_ms", "duration_s", "evaluator_version", "device_name"),
)


def _carried(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    query = """
        SELECT o.*, s.id AS submission_id, s.author_id, b.id AS board_id, t.id AS source_id, e.id AS environment_id
        FROM old_evaluations o
        JOIN authors a ON a.name IS o.author
        JOIN submissions s ON s.name = o.submission AND s.block IS o.block AND s.author_id = a.id AND s.sample_id IS o.sample_id
        JOIN boards b ON b.problem IS o.problem AND b.problem_sha256 IS o.problem_sha256 AND b."case" IS o."case"
            AND b.device_name = o.device_name
        JOIN sources t ON t.sha256 = o.source_sha256
        LEFT JOIN environments e ON e.sha256 = o.environment_sha256
        ORDER BY o.id"""
    for row in connection.execute(sa.text(query)).mappings():
        low, high = _interval(row["speedup"], row["evidence"])
        identity = [row[name] for name in IDENTITY] + [datetime.fromisoformat(row["started_at"]).timestamp()]
        digest = hashlib.sha256(json.dumps(identity, ensure_ascii=False).encode()).digest()[:16]
        derived = {"speedup_low": low, "speedup_high": high, "digest": digest, "is_current": 0, "is_ranked": 0}
        yield {name: row[name] for name in (*KEPT, *FOUND)} | derived


def _interval(speedup: float | None, evidence: bytes) -> tuple[float | None, float | None]:
    """From the samples, where the evidence of that time has them."""
    if speedup is None:
        return None, None
    try:
        timing = json.loads(zlib.decompress(evidence))["timing"]
        return speedup_interval(timing["candidate"]["samples_ms"], timing["baseline"]["samples_ms"], speedup)
    except (zlib.error, ValueError, KeyError, TypeError):
        return speedup, speedup


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()
