"""Tables of revision 0002, as they were then."""

import sqlalchemy as sa
from alembic import op


def create_tables() -> None:
    for create in (
        _authors,
        _categories,
        _environments,
        _problems,
        _runs,
        _sources,
        _cases,
        _submissions,
        _boards,
        _evaluations,
        _tallies,
        _totals,
        _standings,
    ):
        create()


def _authors() -> None:
    op.create_table(
        "authors",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("name", sa.Text),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_authors_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_authors")),
        sa.UniqueConstraint("sha256", name=op.f("uq_authors_sha256")),
        sqlite_autoincrement=True,
    )


def _categories() -> None:
    op.create_table(
        "categories",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.CheckConstraint(
            "status IN ('correct', 'incorrect', 'build_failed', 'run_failed', 'rejected', 'disqualified', 'not_evaluated')",
            name=op.f("ck_categories_status"),
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_categories")),
        sa.UniqueConstraint("name", "status", name=op.f("uq_categories_name_status")),
    )


def _environments() -> None:
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("device_name", sa.Text, nullable=False),
        sa.Column("json", sa.Text, nullable=False),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_environments_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environments")),
        sa.UniqueConstraint("sha256", name=op.f("uq_environments_sha256")),
        sqlite_autoincrement=True,
    )


def _problems() -> None:
    op.create_table(
        "problems",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("source", sa.Text),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_problems_sha256")),
        sa.PrimaryKeyConstraint("name", "sha256", name=op.f("pk_problems")),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("evaluator_version", sa.Text, nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32)),
        sa.CheckConstraint("finished_at IS NULL OR finished_at >= started_at", name=op.f("ck_runs_order")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )


def _sources() -> None:
    op.create_table(
        "sources",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("exact", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.CheckConstraint("exact IN (0, 1)", name=op.f("ck_sources_exact")),
        sa.CheckConstraint("length(CAST(text AS BLOB)) <= 1048576", name=op.f("ck_sources_size")).ddl_if(dialect="sqlite"),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_sources_sha256")),
        sa.CheckConstraint("octet_length(text) <= 4 * 1048576", name=op.f("ck_sources_size")).ddl_if(dialect="postgresql"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
        sa.UniqueConstraint("sha256", name=op.f("uq_sources_sha256")),
    )


def _cases() -> None:
    op.create_table(
        "cases",
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("problem_sha256", sa.String(64), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["problem", "problem_sha256"], ["problems.name", "problems.sha256"], name=op.f("fk_cases_problem_problem_sha256")
        ),
        sa.PrimaryKeyConstraint("problem", "problem_sha256", "name", name=op.f("pk_cases")),
    )


def _submissions() -> None:
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("block", sa.Integer),
        sa.Column("author_id", sa.Integer, nullable=False),
        sa.Column("sample_id", sa.BigInteger),
        sa.CheckConstraint("block IS NULL OR block >= 1", name=op.f("ck_submissions_block")),
        sa.ForeignKeyConstraint(["author_id"], ["authors.id"], name=op.f("fk_submissions_author_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
        sa.UniqueConstraint("id", "author_id", name=op.f("uq_submissions_id_author_id")),
    )
    op.create_index("ix_submissions_author", "submissions", ["author_id"])
    op.create_index("ix_submissions_name", "submissions", ["name"], postgresql_using="hash")


def _boards() -> None:
    op.create_table(
        "boards",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("problem", sa.Text),
        sa.Column("problem_sha256", sa.String(64)),
        sa.Column("case", sa.Text),
        sa.Column("device_name", sa.Text, nullable=False),
        sa.Column("precision", sa.Text),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_boards_sha256")),
        sa.CheckConstraint("problem_sha256 IS NULL OR problem IS NOT NULL", name=op.f("ck_boards_problem_named")),
        sa.ForeignKeyConstraint(
            ["problem", "problem_sha256", "case"],
            ["cases.problem", "cases.problem_sha256", "cases.name"],
            name=op.f("fk_boards_problem_problem_sha256_case"),
        ),
        sa.ForeignKeyConstraint(
            ["problem", "problem_sha256"], ["problems.name", "problems.sha256"], name=op.f("fk_boards_problem_problem_sha256")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_boards")),
        sa.UniqueConstraint("sha256", name=op.f("uq_boards_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_boards_problem", "boards", ["problem"], postgresql_using="hash")


def _evaluations() -> None:
    op.create_table(
        "evaluations",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("submission_id", sa.Integer, nullable=False),
        sa.Column("author_id", sa.Integer, nullable=False),
        sa.Column("board_id", sa.Integer, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("environment_id", sa.Integer),
        sa.Column("run_id", sa.Integer),
        sa.Column("is_current", sa.Boolean, nullable=False),
        sa.Column("is_ranked", sa.Boolean, nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("category", sa.String(64), nullable=False),
        sa.Column("runtime_ms", sa.Double),
        sa.Column("baseline_ms", sa.Double),
        sa.Column("speedup", sa.Double),
        sa.Column("speedup_low", sa.Double),
        sa.Column("speedup_high", sa.Double),
        sa.Column("device", sa.Text),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("duration_s", sa.Double, nullable=False),
        sa.Column("evaluator_version", sa.Text, nullable=False),
        sa.Column("sandbox", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("evidence", sa.LargeBinary, nullable=False),
        sa.CheckConstraint("NOT is_ranked OR (is_current AND category = 'ok')", name=op.f("ck_evaluations_ranked")),
        sa.CheckConstraint("runtime_ms IS NOT NULL OR category <> 'ok'", name=op.f("ck_evaluations_ok_has_times")),
        sa.CheckConstraint("runtime_ms IS NULL OR status = 'correct'", name=op.f("ck_evaluations_times_only_when_correct")),
        sa.CheckConstraint(
            "status IN ('correct', 'incorrect', 'build_failed', 'run_failed', 'rejected', 'disqualified', 'not_evaluated')",
            name=op.f("ck_evaluations_status"),
        ),
        sa.CheckConstraint(
            "(runtime_ms IS NULL) = (baseline_ms IS NULL) AND (runtime_ms IS NULL) = (speedup IS NULL)"
            " AND (runtime_ms IS NULL) = (speedup_low IS NULL) AND (runtime_ms IS NULL) = (speedup_high IS NULL)",
            name=op.f("ck_evaluations_times_together"),
        ),
        sa.CheckConstraint("duration_s >= 0", name=op.f("ck_evaluations_duration")),
        sa.CheckConstraint("is_current IN (0, 1)", name=op.f("ck_evaluations_is_current")).ddl_if(dialect="sqlite"),
        sa.CheckConstraint("is_ranked IN (0, 1)", name=op.f("ck_evaluations_is_ranked")).ddl_if(dialect="sqlite"),
        sa.CheckConstraint("length(digest) = 16", name=op.f("ck_evaluations_digest")),
        sa.CheckConstraint(
            "runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < 1e300 AND baseline_ms > 0 AND baseline_ms < 1e300"
            " AND speedup > 0 AND speedup < 1e300)",
            name=op.f("ck_evaluations_times_finite"),
        ),
        sa.CheckConstraint(
            "speedup IS NULL OR (speedup_low > 0 AND speedup_low <= speedup AND speedup <= speedup_high AND speedup_high < 1e300)",
            name=op.f("ck_evaluations_interval"),
        ),
        sa.ForeignKeyConstraint(["board_id"], ["boards.id"], name=op.f("fk_evaluations_board_id")),
        sa.ForeignKeyConstraint(
            ["category", "status"], ["categories.name", "categories.status"], name=op.f("fk_evaluations_category_status")
        ),
        sa.ForeignKeyConstraint(["environment_id"], ["environments.id"], name=op.f("fk_evaluations_environment_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_evaluations_run_id")),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=op.f("fk_evaluations_source_id")),
        sa.ForeignKeyConstraint(
            ["submission_id", "author_id"], ["submissions.id", "submissions.author_id"], name=op.f("fk_evaluations_submission_id_author_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_evaluations_board", "evaluations", ["board_id", "id"])
    op.create_index("ix_evaluations_digest", "evaluations", ["digest"])
    op.create_index("ix_evaluations_environment", "evaluations", ["environment_id"])
    op.create_index(
        "ix_evaluations_ranked",
        "evaluations",
        ["board_id", "author_id", "speedup"],
        sqlite_where=sa.text("is_ranked = 1"),
        postgresql_where=sa.text("is_ranked"),
    )
    op.create_index("ix_evaluations_run", "evaluations", ["run_id"])
    op.create_index("ix_evaluations_source", "evaluations", ["source_id", "board_id", "author_id"])
    op.create_index("ix_evaluations_submission", "evaluations", ["submission_id", "id"])


def _tallies() -> None:
    op.create_table(
        "tallies",
        sa.Column("board_id", sa.Integer, nullable=False),
        sa.Column("author_id", sa.Integer, nullable=False),
        sa.Column("category", sa.String(64), nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.CheckConstraint("count >= 0", name=op.f("ck_tallies_count")),
        sa.ForeignKeyConstraint(["author_id"], ["authors.id"], name=op.f("fk_tallies_author_id")),
        sa.ForeignKeyConstraint(["board_id"], ["boards.id"], name=op.f("fk_tallies_board_id")),
        sa.ForeignKeyConstraint(["category"], ["categories.name"], name=op.f("fk_tallies_category")),
        sa.PrimaryKeyConstraint("board_id", "author_id", "category", name=op.f("pk_tallies")),
    )
    op.create_index("ix_tallies_author", "tallies", ["author_id", "category", "board_id", "count"])


def _standings() -> None:
    op.create_table(
        "standings",
        sa.Column("board_id", sa.Integer, nullable=False),
        sa.Column("author_id", sa.Integer, nullable=False),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("speedup", sa.Double, nullable=False),
        sa.Column("speedup_low", sa.Double, nullable=False),
        sa.Column("speedup_high", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["authors.id"], name=op.f("fk_standings_author_id")),
        sa.ForeignKeyConstraint(["board_id"], ["boards.id"], name=op.f("fk_standings_board_id")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_standings_evaluation_id")),
        sa.PrimaryKeyConstraint("board_id", "author_id", name=op.f("pk_standings")),
    )
    op.create_index("ix_standings_author", "standings", ["author_id"])
    op.create_index("ix_standings_evaluation", "standings", ["evaluation_id"])


def _totals() -> None:
    op.create_table(
        "totals",
        sa.Column("board_id", sa.Integer, nullable=False),
        sa.Column("category", sa.String(64), nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.CheckConstraint("count >= 0", name=op.f("ck_totals_count")),
        sa.ForeignKeyConstraint(["board_id"], ["boards.id"], name=op.f("fk_totals_board_id")),
        sa.ForeignKeyConstraint(["category"], ["categories.name"], name=op.f("fk_totals_category")),
        sa.PrimaryKeyConstraint("board_id", "category", name=op.f("pk_totals")),
    )
