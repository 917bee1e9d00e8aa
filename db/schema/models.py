"""The tables as SQLAlchemy models: submissions, boards, and verdicts. The evidence is in `db.schema.evidence_models`.

Data shared by many evaluations is stored once: sources, problems, cases, environments, authors, submissions, boards. The constraints
repeat the rules of `evaluator.results.result.Result`, so that no program can write an impossible result.

Some values are derived from the evaluations and stored with them, in the same transaction, so that no query has to read them all:
`is_current` and `is_ranked` of an evaluation, `has_copies` of a board, `standings`, `tallies` and `totals`. `db.storage.standing` updates
them, and `assay check` compares them.

A change here needs a revision in `db/migrations/versions`.
"""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.schema.column_types import AnyText, UtcText
from evaluator.results.category import Status

MAX_SOURCE_BYTES = 1 << 20
"""Maximum stored bytes of a submission's source, in UTF-8."""
MAX_FIGURE = "1e300"
"""Upper limit of times and speedups: larger ones are infinite."""

_STATUSES = ", ".join(f"'{status}'" for status in Status)
_TIMES = ("baseline_ms", "speedup", "speedup_low", "speedup_high")


def words_of(column: str) -> str:
    """The words of a column of texts, for PostgreSQL: what is between characters other than letters and digits, near the text's begin."""
    return f"to_tsvector('simple', regexp_replace(\"left\"({column}, 250000), '[^A-Za-z0-9]+', ' ', 'g'))"


class Base(DeclarativeBase):
    """Names every constraint, because a migration can only change named ones."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )


class SourceRow(Base):
    """One source text, under its hash in results."""

    __tablename__ = "sources"
    __table_args__ = (
        UniqueConstraint("sha256"),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        CheckConstraint(f"length(CAST(text AS BLOB)) <= {MAX_SOURCE_BYTES}", name="size").ddl_if(dialect="sqlite"),
        CheckConstraint(f"octet_length(text) <= 4 * {MAX_SOURCE_BYTES}", name="size").ddl_if(dialect="postgresql"),
        CheckConstraint("exact IN (0, 1)", name="exact"),
        Index("ix_sources_words", text(words_of("text")), postgresql_using="gin").ddl_if(dialect="postgresql"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    exact: Mapped[int]
    """1 if the text hashes to sha256; 0 if it was cut at MAX_SOURCE_BYTES or is not UTF-8."""
    text: Mapped[str] = mapped_column(AnyText)


class ProblemRow(Base):
    """One version of one problem."""

    __tablename__ = "problems"
    __table_args__ = (CheckConstraint("length(sha256) = 64", name="sha256"),)

    name: Mapped[str] = mapped_column(AnyText, primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    source: Mapped[str | None] = mapped_column(AnyText)
    """None if the evaluation came without the problem's text."""


class CaseRow(Base):
    """One set of shapes of one version of a problem."""

    __tablename__ = "cases"
    __table_args__ = (ForeignKeyConstraint(["problem", "problem_sha256"], ["problems.name", "problems.sha256"]),)

    problem: Mapped[str] = mapped_column(AnyText, primary_key=True)
    problem_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(AnyText, primary_key=True)


class BoardRow(Base):
    """A board, on which evaluations are compared: a problem's version, case, device model, precision and protocol, as far as known."""

    __tablename__ = "boards"
    __table_args__ = (
        UniqueConstraint("sha256"),
        ForeignKeyConstraint(["problem", "problem_sha256"], ["problems.name", "problems.sha256"]),
        ForeignKeyConstraint(["problem", "problem_sha256", "case"], ["cases.problem", "cases.problem_sha256", "cases.name"]),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        CheckConstraint("problem_sha256 IS NULL OR problem IS NOT NULL", name="problem_named"),
        Index("ix_boards_problem", "problem", postgresql_using="hash"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the columns below, which makes it unique."""
    problem: Mapped[str | None] = mapped_column(AnyText)
    problem_sha256: Mapped[str | None] = mapped_column(String(64))
    case: Mapped[str | None] = mapped_column(AnyText)
    device_name: Mapped[str] = mapped_column(AnyText)
    """The environment's device name; empty if there is none."""
    precision: Mapped[str | None] = mapped_column(AnyText)
    protocol: Mapped[str | None] = mapped_column(AnyText)
    """None for the device's default."""
    has_copies: Mapped[bool] = mapped_column(Boolean, server_default=false())
    """Whether ranked evaluations of several authors have had the same source."""


class EnvironmentRow(Base):
    """One machine with its software."""

    __tablename__ = "environments"
    __table_args__ = (
        UniqueConstraint("sha256"),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    device_name: Mapped[str] = mapped_column(AnyText)
    json: Mapped[str] = mapped_column(AnyText)
    """The `evaluator.results.result.Environment`, keys sorted; sha256 is this text's."""


class AuthorRow(Base):
    """An author of submissions; one row is for submissions without an author."""

    __tablename__ = "authors"
    __table_args__ = (
        UniqueConstraint("sha256"),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the name, which makes it unique."""
    name: Mapped[str | None] = mapped_column(AnyText)


class SubmissionRow(Base):
    """A submission: its name, its author, and its number among the author's samples."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("id", "author_id"),
        CheckConstraint("block IS NULL OR block >= 1", name="block"),
        Index("ix_submissions_name", "name", postgresql_using="hash"),
        Index("ix_submissions_author", "author_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(AnyText)
    block: Mapped[int | None]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    sample_id: Mapped[int | None] = mapped_column(BigInteger)


class RunRow(Base):
    """One command that stored evaluations."""

    __tablename__ = "runs"
    __table_args__ = (CheckConstraint("finished_at IS NULL OR finished_at >= started_at", name="order"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    command: Mapped[str] = mapped_column(AnyText)
    """The words of the command as a JSON array."""
    evaluator_version: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(UtcText)
    finished_at: Mapped[datetime | None] = mapped_column(UtcText)
    """None while it runs, and always if it was killed."""
    expected: Mapped[int | None] = mapped_column(BigInteger, CheckConstraint("expected >= 0", name="expected"))
    """Number of the run's submissions; None if it can't tell."""
    skipped: Mapped[int] = mapped_column(BigInteger, CheckConstraint("skipped >= 0", name="skipped"), server_default=text("0"))
    """Number of its already judged submissions."""


class SkipRow(Base):
    """A submission that a run did not judge, because it already had this evaluation."""

    __tablename__ = "skips"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)


class CategoryRow(Base):
    """The categories of this database, from `evaluator.results.category.CATEGORIES`."""

    __tablename__ = "categories"
    __table_args__ = (
        UniqueConstraint("name", "status"),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
    )

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[str] = mapped_column(String(32))


class EvaluationRow(Base):
    """One evaluation. Ids are in the order of storing; an id is never used twice."""

    __tablename__ = "evaluations"
    __table_args__ = (
        ForeignKeyConstraint(["category", "status"], ["categories.name", "categories.status"]),
        ForeignKeyConstraint(["submission_id", "author_id"], ["submissions.id", "submissions.author_id"]),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        CheckConstraint(" AND ".join(f"(runtime_ms IS NULL) = ({name} IS NULL)" for name in _TIMES), name="times_together"),
        CheckConstraint("runtime_ms IS NULL OR status = 'correct'", name="times_only_when_correct"),
        CheckConstraint("runtime_ms IS NOT NULL OR category <> 'ok'", name="ok_has_times"),
        CheckConstraint(
            f"runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < {MAX_FIGURE} AND baseline_ms > 0 AND baseline_ms < {MAX_FIGURE}"
            f" AND speedup > 0 AND speedup < {MAX_FIGURE})",
            name="times_finite",
        ),
        CheckConstraint(
            f"speedup IS NULL OR (speedup_low > 0 AND speedup_low <= speedup AND speedup <= speedup_high AND speedup_high < {MAX_FIGURE})",
            name="interval",
        ),
        CheckConstraint("duration_s >= 0", name="duration"),
        CheckConstraint("length(digest) = 16", name="digest"),
        CheckConstraint("is_current IN (0, 1)", name="is_current").ddl_if(dialect="sqlite"),
        CheckConstraint("is_ranked IN (0, 1)", name="is_ranked").ddl_if(dialect="sqlite"),
        CheckConstraint("NOT is_ranked OR (is_current AND category = 'ok')", name="ranked"),
        Index("ix_evaluations_submission", "submission_id", "id"),
        Index("ix_evaluations_board", "board_id", "id"),
        Index(
            "ix_evaluations_ranked",
            "board_id",
            "author_id",
            "speedup",
            sqlite_where=text("is_ranked = 1"),
            postgresql_where=text("is_ranked"),
        ),
        Index("ix_evaluations_source", "source_id", "board_id", "author_id"),
        Index("ix_evaluations_environment", "environment_id"),
        Index("ix_evaluations_run", "run_id"),
        Index("ix_evaluations_digest", "digest"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int]
    author_id: Mapped[int]
    """The submission's author, copied here for an index."""
    board_id: Mapped[int] = mapped_column(ForeignKey("boards.id"))
    source_id: Mapped[int] = mapped_column(ForeignKey("sources.id"))
    environment_id: Mapped[int | None] = mapped_column(ForeignKey("environments.id"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    is_current: Mapped[bool] = mapped_column(Boolean)
    """Whether it is its submission's current evaluation (`db.storage.current`)."""
    is_ranked: Mapped[bool] = mapped_column(Boolean)
    """Whether it is `ok`, current, and its author's latest with this source on its board."""
    status: Mapped[str] = mapped_column(String(32))
    category: Mapped[str] = mapped_column(String(64))
    runtime_ms: Mapped[float | None] = mapped_column(Double)
    baseline_ms: Mapped[float | None] = mapped_column(Double)
    speedup: Mapped[float | None] = mapped_column(Double)
    speedup_low: Mapped[float | None] = mapped_column(Double)
    """Lower end of the speedup's 95 % confidence interval (`db.storage.interval`)."""
    speedup_high: Mapped[float | None] = mapped_column(Double)
    device: Mapped[str | None] = mapped_column(AnyText)
    started_at: Mapped[datetime] = mapped_column(UtcText)
    duration_s: Mapped[float] = mapped_column(Double)
    evaluator_version: Mapped[str] = mapped_column(Text)
    sandbox: Mapped[str | None] = mapped_column(Text)
    message: Mapped[str] = mapped_column(AnyText)
    hint: Mapped[str] = mapped_column(AnyText)
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    """First half of the SHA-256 of the whole result; the same for equal evaluations."""
    evidence: Mapped[bytes] = mapped_column(LargeBinary)
    """The parts of `evaluator.results.evidence.Evidence` without a table: JSON, compressed with zlib. Last, so that scans skip it."""


class StandingRow(Base):
    """The best ranked evaluation of an author on a board."""

    __tablename__ = "standings"
    __table_args__ = (Index("ix_standings_author", "author_id"), Index("ix_standings_evaluation", "evaluation_id"))

    board_id: Mapped[int] = mapped_column(ForeignKey("boards.id"), primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"), primary_key=True)
    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id"))
    speedup: Mapped[float] = mapped_column(Double)
    speedup_low: Mapped[float] = mapped_column(Double)
    speedup_high: Mapped[float] = mapped_column(Double)


class TotalRow(Base):
    """Number of current evaluations on a board by category: `tallies` without the author, so that it stays small."""

    __tablename__ = "totals"
    __table_args__ = (CheckConstraint("count >= 0", name="count"),)

    board_id: Mapped[int] = mapped_column(ForeignKey("boards.id"), primary_key=True)
    category: Mapped[str] = mapped_column(ForeignKey("categories.name"), primary_key=True)
    count: Mapped[int]


class TallyRow(Base):
    """Number of an author's current evaluations on a board by category."""

    __tablename__ = "tallies"
    __table_args__ = (
        CheckConstraint("count >= 0", name="count"),
        Index("ix_tallies_author", "author_id", "category", "board_id", "count"),
    )

    board_id: Mapped[int] = mapped_column(ForeignKey("boards.id"), primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"), primary_key=True)
    category: Mapped[str] = mapped_column(ForeignKey("categories.name"), primary_key=True)
    count: Mapped[int]


class ForeignRow(Base):
    """Another harness's verdict on a submission (`db.foreign`)."""

    __tablename__ = "foreign_verdicts"
    __table_args__ = (
        UniqueConstraint("digest"),
        CheckConstraint("compiled IN (0, 1)", name="compiled"),
        CheckConstraint("correct IN (0, 1) AND correct <= compiled", name="correct"),
        CheckConstraint(f"runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < {MAX_FIGURE})", name="runtime"),
        Index("ix_foreign_verdicts_submission", "submission", postgresql_using="hash"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    harness: Mapped[str] = mapped_column(String(32))
    submission: Mapped[str] = mapped_column(AnyText)
    """Its name as a submission here."""
    author: Mapped[str | None] = mapped_column(AnyText)
    level: Mapped[int]
    problem_number: Mapped[int]
    sample_id: Mapped[int] = mapped_column(BigInteger)
    compiled: Mapped[int]
    correct: Mapped[int]
    runtime_ms: Mapped[float | None] = mapped_column(Double)
    source_sha256: Mapped[str | None] = mapped_column(String(64))
    """SHA-256 of the submission's file at the time of import; None if it was missing."""
    details: Mapped[str] = mapped_column(AnyText)
    """The rest of its verdict, as JSON."""
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    """First half of the SHA-256 of all columns above."""
    imported_at: Mapped[datetime] = mapped_column(UtcText)


class CalibrationRow(Base):
    """Measured peaks of one device with one driver and one PyTorch (`evaluator.results.calibration`)."""

    __tablename__ = "calibrations"
    __table_args__ = (
        CheckConstraint("repetitions >= 1", name="repetitions"),
        Index("ix_calibrations_device", "device_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    device_id: Mapped[str] = mapped_column(String(64))
    """A GPU's UUID, or `cpu`."""
    device_name: Mapped[str] = mapped_column(AnyText)
    driver: Mapped[str | None] = mapped_column(AnyText)
    torch: Mapped[str] = mapped_column(Text)
    measured_at: Mapped[datetime] = mapped_column(UtcText)
    repetitions: Mapped[int]


class CeilingRow(Base):
    """One ceiling of a calibration: bytes per second (`copy`), or operations per second in one number format."""

    __tablename__ = "ceilings"
    __table_args__ = (
        CheckConstraint(f"per_s > 0 AND per_s < {MAX_FIGURE}", name="rate"),
        CheckConstraint("uncertainty >= 0 AND uncertainty < 1", name="uncertainty"),
    )

    calibration_id: Mapped[int] = mapped_column(ForeignKey("calibrations.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    per_s: Mapped[float] = mapped_column(Double)
    uncertainty: Mapped[float] = mapped_column(Double)
    """1 − worst/best repetition."""
