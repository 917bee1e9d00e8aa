"""The tables, as SQLAlchemy models.

An evaluation holds every scalar of its result as a column, so that anything can be asked in SQL. Sources, problems and environments, which
many evaluations share, are stored once and referred to by the hash of their content. The constraints repeat the rules of
`evaluator.result.Result`: a row that could not be a result can't be written, by whichever program.

A change here needs a revision in `db/migrations/versions`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from evaluator.category import Status

MAX_SOURCE_BYTES = 1 << 20
"""Longest text kept of a submission's source, in bytes of UTF-8."""

_STATUSES = ", ".join(f"'{status}'" for status in Status)


class UtcText(TypeDecorator[datetime]):
    """A moment as ISO 8601 text in UTC with six decimals, which sorts as text; a moment without a zone is taken as UTC."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        if value is None:
            return None
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        return None if value is None else datetime.fromisoformat(value)


class Base(DeclarativeBase):
    """Names every constraint, because a migration can only change what has a name."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )


class SourceRow(Base):
    """One source text, under the hash that results name it by."""

    __tablename__ = "sources"
    __table_args__ = (
        CheckConstraint("length(sha256) = 64", name="sha256"),
        CheckConstraint(f"length(CAST(text AS BLOB)) <= {MAX_SOURCE_BYTES}", name="size"),
        CheckConstraint("exact IN (0, 1)", name="exact"),
    )

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    exact: Mapped[int]
    """1 where the text hashes to sha256; 0 where it was cut at MAX_SOURCE_BYTES or is not UTF-8."""
    text: Mapped[str] = mapped_column(Text)


class ProblemRow(Base):
    """One version of one problem."""

    __tablename__ = "problems"
    __table_args__ = (CheckConstraint("length(sha256) = 64", name="sha256"),)

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    source: Mapped[str | None] = mapped_column(Text)
    """None where the evaluation came without the problem's text."""


class EnvironmentRow(Base):
    """One machine with its software."""

    __tablename__ = "environments"
    __table_args__ = (CheckConstraint("length(sha256) = 64", name="sha256"),)

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    device_name: Mapped[str] = mapped_column(Text)
    json: Mapped[str] = mapped_column(Text)
    """The `evaluator.result.Environment`, keys sorted; sha256 is this text's."""


class CategoryRow(Base):
    """The categories that this database knows; `evaluator.category.CATEGORIES` is where they come from."""

    __tablename__ = "categories"
    __table_args__ = (
        UniqueConstraint("name", "status"),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
    )

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[str] = mapped_column(String(32))


class EvaluationRow(Base):
    """One evaluation. The order of ids is the order in which evaluations were stored; an id is never used twice."""

    __tablename__ = "evaluations"
    __table_args__ = (
        ForeignKeyConstraint(["category", "status"], ["categories.name", "categories.status"]),
        ForeignKeyConstraint(["problem", "problem_sha256"], ["problems.name", "problems.sha256"]),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        CheckConstraint("problem_sha256 IS NULL OR problem IS NOT NULL", name="problem_named"),
        CheckConstraint("(runtime_ms IS NULL) = (baseline_ms IS NULL) AND (runtime_ms IS NULL) = (speedup IS NULL)", name="times_together"),
        CheckConstraint("runtime_ms IS NULL OR status = 'correct'", name="times_only_when_correct"),
        CheckConstraint("runtime_ms IS NOT NULL OR category <> 'ok'", name="ok_has_times"),
        CheckConstraint(
            "runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < 9e999 AND baseline_ms > 0 AND baseline_ms < 9e999"
            " AND speedup > 0 AND speedup < 9e999)",
            name="times_finite",
        ),
        CheckConstraint("duration_s >= 0", name="duration"),
        CheckConstraint("block IS NULL OR block >= 1", name="block"),
        Index("ix_evaluations_submission", "submission", "id"),
        Index("ix_evaluations_problem", "problem", "problem_sha256", "id"),
        Index("ix_evaluations_board", "problem", "case", "device_name"),
        Index("ix_evaluations_category", "status", "category"),
        Index("ix_evaluations_source", "source_sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    submission: Mapped[str] = mapped_column(Text)
    block: Mapped[int | None]
    author: Mapped[str | None] = mapped_column(Text)
    sample_id: Mapped[int | None]
    problem: Mapped[str | None] = mapped_column(Text)
    problem_sha256: Mapped[str | None] = mapped_column(String(64))
    case: Mapped[str | None] = mapped_column(Text)
    device: Mapped[str | None] = mapped_column(Text)
    device_name: Mapped[str] = mapped_column(Text)
    """Of the environment; empty where there is none."""
    status: Mapped[str] = mapped_column(String(32))
    category: Mapped[str] = mapped_column(String(64))
    runtime_ms: Mapped[float | None] = mapped_column(Double)
    baseline_ms: Mapped[float | None] = mapped_column(Double)
    speedup: Mapped[float | None] = mapped_column(Double)
    source_sha256: Mapped[str] = mapped_column(ForeignKey("sources.sha256"))
    started_at: Mapped[datetime] = mapped_column(UtcText)
    duration_s: Mapped[float] = mapped_column(Double)
    evaluator_version: Mapped[str] = mapped_column(String(32))
    environment_sha256: Mapped[str | None] = mapped_column(ForeignKey("environments.sha256"))
    sandbox: Mapped[str | None] = mapped_column(Text)
    message: Mapped[str] = mapped_column(Text)
    hint: Mapped[str] = mapped_column(Text)
    evidence: Mapped[bytes] = mapped_column(LargeBinary)
    """The `evaluator.result.Evidence` as JSON, compressed with zlib. Last, so that scans of the other columns need not step over it."""
