"""First tables: categories, sources, problems, environments and evaluations.

That version knew SQLite alone; elsewhere a database begins with the next revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STATUSES = "'correct', 'incorrect', 'build_failed', 'run_failed', 'rejected', 'disqualified', 'not_evaluated'"


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    op.create_table(
        "categories",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_categories")),
        sa.UniqueConstraint("name", "status", name=op.f("uq_categories_name_status")),
        sa.CheckConstraint(f"status IN ({STATUSES})", name=op.f("ck_categories_status")),
    )
    op.create_table(
        "sources",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("exact", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sources")),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_sources_sha256")),
        sa.CheckConstraint("length(CAST(text AS BLOB)) <= 1048576", name=op.f("ck_sources_size")),
        sa.CheckConstraint("exact IN (0, 1)", name=op.f("ck_sources_exact")),
    )
    op.create_table(
        "problems",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("source", sa.Text),
        sa.PrimaryKeyConstraint("name", "sha256", name=op.f("pk_problems")),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_problems_sha256")),
    )
    op.create_table(
        "environments",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("device_name", sa.Text, nullable=False),
        sa.Column("json", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_environments")),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_environments_sha256")),
    )
    _create_evaluations()


def _create_evaluations() -> None:
    op.create_table(
        "evaluations",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("submission", sa.Text, nullable=False),
        sa.Column("block", sa.Integer),
        sa.Column("author", sa.Text),
        sa.Column("sample_id", sa.Integer),
        sa.Column("problem", sa.Text),
        sa.Column("problem_sha256", sa.String(64)),
        sa.Column("case", sa.Text),
        sa.Column("device", sa.Text),
        sa.Column("device_name", sa.Text, nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("category", sa.String(64), nullable=False),
        sa.Column("runtime_ms", sa.Double),
        sa.Column("baseline_ms", sa.Double),
        sa.Column("speedup", sa.Double),
        sa.Column("source_sha256", sa.String(64), nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("duration_s", sa.Double, nullable=False),
        sa.Column("evaluator_version", sa.String(32), nullable=False),
        sa.Column("environment_sha256", sa.String(64)),
        sa.Column("sandbox", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
        sa.Column("evidence", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
        sa.ForeignKeyConstraint(
            ["category", "status"], ["categories.name", "categories.status"], name=op.f("fk_evaluations_category_status")
        ),
        sa.ForeignKeyConstraint(
            ["problem", "problem_sha256"], ["problems.name", "problems.sha256"], name=op.f("fk_evaluations_problem_problem_sha256")
        ),
        sa.ForeignKeyConstraint(["source_sha256"], ["sources.sha256"], name=op.f("fk_evaluations_source_sha256")),
        sa.ForeignKeyConstraint(["environment_sha256"], ["environments.sha256"], name=op.f("fk_evaluations_environment_sha256")),
        sa.CheckConstraint(f"status IN ({STATUSES})", name=op.f("ck_evaluations_status")),
        sa.CheckConstraint("problem_sha256 IS NULL OR problem IS NOT NULL", name=op.f("ck_evaluations_problem_named")),
        sa.CheckConstraint(
            "(runtime_ms IS NULL) = (baseline_ms IS NULL) AND (runtime_ms IS NULL) = (speedup IS NULL)",
            name=op.f("ck_evaluations_times_together"),
        ),
        sa.CheckConstraint("runtime_ms IS NULL OR status = 'correct'", name=op.f("ck_evaluations_times_only_when_correct")),
        sa.CheckConstraint("runtime_ms IS NOT NULL OR category <> 'ok'", name=op.f("ck_evaluations_ok_has_times")),
        sa.CheckConstraint(
            "runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < 9e999 AND baseline_ms > 0 AND baseline_ms < 9e999"
            " AND speedup > 0 AND speedup < 9e999)",
            name=op.f("ck_evaluations_times_finite"),
        ),
        sa.CheckConstraint("duration_s >= 0", name=op.f("ck_evaluations_duration")),
        sa.CheckConstraint("block IS NULL OR block >= 1", name=op.f("ck_evaluations_block")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_evaluations_submission", "evaluations", ["submission", "id"])
    op.create_index("ix_evaluations_problem", "evaluations", ["problem", "problem_sha256", "id"])
    op.create_index("ix_evaluations_board", "evaluations", ["problem", "case", "device_name"])
    op.create_index("ix_evaluations_category", "evaluations", ["status", "category"])
    op.create_index("ix_evaluations_source", "evaluations", ["source_sha256"])
