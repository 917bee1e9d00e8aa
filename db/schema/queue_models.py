"""The service's tables: tokens, accepted requests, their origins, references, and used quotas."""

from datetime import datetime

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from db.schema.column_types import AnyText, UtcText
from db.schema.models import Base

_OPEN = "state IN ('queued', 'claimed')"


class RequestRow(Base):
    """One accepted submission. Requests are judged in the order of ids."""

    __tablename__ = "requests"
    __table_args__ = (
        UniqueConstraint("public_id"),
        UniqueConstraint("author", "idempotency_key"),
        UniqueConstraint("evaluation_id"),
        CheckConstraint("state IN ('queued', 'claimed', 'done', 'cancelled')", name="state"),
        CheckConstraint("(state = 'claimed') = (owner IS NOT NULL)", name="owned"),
        CheckConstraint("(state = 'done') = (evaluation_id IS NOT NULL)", name="one_result"),
        CheckConstraint(f"({_OPEN}) = (body IS NOT NULL)", name="body"),
        CheckConstraint(f"({_OPEN}) = (due_at IS NOT NULL)", name="due"),
        CheckConstraint(f"({_OPEN}) = (finished_at IS NULL)", name="finished"),
        CheckConstraint("attempts >= 0", name="attempts"),
        Index("ix_requests_author", "author", "id"),
        Index("ix_requests_open", "state", "id", sqlite_where=text(_OPEN), postgresql_where=text(_OPEN)),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32))
    """Its public id: 128 random bits, in hexadecimal."""
    author: Mapped[str] = mapped_column(AnyText)
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the request's content: a different one with the same key is a mistake."""
    problem: Mapped[str] = mapped_column(AnyText)
    reference_sha256: Mapped[str | None] = mapped_column(ForeignKey("inline_references.sha256"))
    """Set if the problem came with the submission."""
    sample_id: Mapped[int | None] = mapped_column(BigInteger)
    name: Mapped[str | None] = mapped_column(AnyText)
    """Its author's name for it."""
    state: Mapped[str] = mapped_column(String(16))
    body: Mapped[str | None] = mapped_column(Text)
    """The submission, as ASCII JSON, until it is judged."""
    due_at: Mapped[datetime | None] = mapped_column(UtcText)
    """When it may be claimed: at once, after a pause, or when its present claim runs out."""
    owner: Mapped[str | None] = mapped_column(String(80))
    """The service process that claimed it."""
    stage: Mapped[str | None] = mapped_column(String(32))
    attempts: Mapped[int]
    """Number of claims that were not given back."""
    accepted_at: Mapped[datetime] = mapped_column(UtcText)
    finished_at: Mapped[datetime | None] = mapped_column(UtcText)
    evaluation_id: Mapped[int | None] = mapped_column(ForeignKey("evaluations.id"))


class OriginRow(Base):
    """What a training run says of a request (`db.storage.origin`)."""

    __tablename__ = "origins"
    __table_args__ = (
        UniqueConstraint("request_id", "sha256"),
        UniqueConstraint("evaluation_id", "sha256"),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        CheckConstraint("step >= 0", name="step"),
        CheckConstraint("request_id IS NOT NULL OR evaluation_id IS NOT NULL", name="of"),
        Index("ix_origins_step", "step"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    request_id: Mapped[int | None] = mapped_column(ForeignKey("requests.id"))
    """None if it was imported."""
    evaluation_id: Mapped[int | None] = mapped_column(ForeignKey("evaluations.id"))
    """None until the request is done."""
    sha256: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the columns below: a repeated request adds no row."""
    step: Mapped[int | None] = mapped_column(BigInteger)
    prompt: Mapped[str | None] = mapped_column(AnyText)
    tags: Mapped[dict[str, str]] = mapped_column(JSON)


class ReferenceRow(Base):
    """A problem that came with a submission."""

    __tablename__ = "inline_references"
    __table_args__ = (CheckConstraint("length(sha256) = 64", name="sha256"),)

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    source: Mapped[str] = mapped_column(AnyText)


class TokenRow(Base):
    """A token of the service, stored as a hash."""

    __tablename__ = "tokens"
    __table_args__ = (
        UniqueConstraint("public_id"),
        CheckConstraint("length(secret_sha256) = 64", name="secret"),
        CheckConstraint("per_day >= 0", name="quota"),
        CheckConstraint("per_minute >= 1", name="rate"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(16))
    """First half of the token, which identifies it; not secret."""
    secret_sha256: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the second half: 256 random bits, which need no slow hash."""
    author: Mapped[str] = mapped_column(AnyText)
    scopes: Mapped[str] = mapped_column(String(80))
    """Words separated by commas."""
    per_day: Mapped[int | None] = mapped_column(BigInteger)
    """Maximum submissions of its author per day (UTC); None for no limit."""
    per_minute: Mapped[int | None]
    """Maximum calls per minute; None for no limit."""
    created_at: Mapped[datetime] = mapped_column(UtcText)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcText)


class UsageRow(Base):
    """Number of an author's submissions on one day."""

    __tablename__ = "usage"
    __table_args__ = (CheckConstraint("count >= 0", name="count"),)

    author: Mapped[str] = mapped_column(AnyText, primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """In UTC, as in 2026-01-31."""
    count: Mapped[int] = mapped_column(BigInteger)
