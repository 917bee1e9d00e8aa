"""Bearer tokens: made once, shown once, stored as a hash, and looked up by a part that is no secret."""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import insert, select, update

from db.schema.queue_models import TokenRow
from db.store import Store

REMEMBERED_S = 5.0
"""How long a token is known without the database being asked: as long may one that is revoked go on."""
MAX_REMEMBERED = 10_000
_FORM = re.compile(r"assay_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""What is compared with where there is no such token, so that this takes as long."""
_T: Any = TokenRow.__table__


class Scope(StrEnum):
    """What a token permits; none includes another."""

    READ = "read"
    """One's own evaluations, the leaderboard, the problems."""
    SUBMIT = "submit"
    """Handing in, and cancelling what is one's own."""
    REFERENCE = "reference"
    """Handing in problems, which run as trusted code in the judge's own process."""
    PROFILE = "profile"
    """Having one's submissions profiled, which takes the device for longer."""
    METRICS = "metrics"
    OPERATE = "operate"
    """Having a process take no more submissions, and having it take them again."""
    ADMIN = "admin"
    """Everybody's evaluations."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What the bearer of a token may do."""

    public_id: str
    author: str
    scopes: frozenset[str]
    per_day: int | None
    per_minute: int | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A token as its operator sees it."""

    public_id: str
    author: str
    scopes: str
    per_day: int | None
    per_minute: int | None
    created_at: datetime
    revoked_at: datetime | None


def make(store: Store, author: str, scopes: Sequence[Scope], per_day: int | None = None, per_minute: int | None = None) -> str:
    """A new token, which can't be read from the database again. Raises StoreError."""
    public_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    values = {"public_id": public_id, "secret_sha256": _sha256(secret), "author": author, "scopes": ",".join(dict.fromkeys(scopes))}
    with store.change(beside=True) as connection:
        connection.execute(insert(_T).values(values | {"per_day": per_day, "per_minute": per_minute, "created_at": datetime.now(UTC)}))
    return f"assay_{public_id}_{secret}"


def every(store: Store) -> list[Listed]:
    """All tokens, revoked ones too, in the order in which they were made. Raises StoreError."""
    columns = (_T.c.public_id, _T.c.author, _T.c.scopes, _T.c.per_day, _T.c.per_minute, _T.c.created_at, _T.c.revoked_at)
    with store.read() as connection:
        return [Listed(*row) for row in connection.execute(select(*columns).order_by(_T.c.id))]


def revoke(store: Store, public_id: str) -> bool:
    """Whether there was such a token that was not revoked. Raises StoreError."""
    valid = (_T.c.public_id == public_id, _T.c.revoked_at.is_(None))
    with store.change(beside=True) as connection:
        return bool(connection.execute(update(_T).where(*valid).values(revoked_at=datetime.now(UTC))).rowcount)


class Tokens:
    """Looks tokens up. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str, Grant]] = {}

    def remembered(self, authorization: str) -> Grant | None:
        """As `grant`, without the database: None where that has to be asked."""
        match = _read(authorization)
        with self._lock:
            found = self._known.get(match[1]) if match else None
        if not match or found is None or time.monotonic() - found[0] > REMEMBERED_S:
            return None
        return found[2] if hmac.compare_digest(_sha256(match[2]), found[1]) else None

    def grant(self, authorization: str) -> Grant | None:
        """What the value of an Authorization header permits; None where that is nothing. Raises StoreError."""
        match = _read(authorization)
        if match is None:
            return None
        columns = (_T.c.secret_sha256, _T.c.author, _T.c.scopes, _T.c.per_day, _T.c.per_minute)
        with self._store.read() as connection:
            row = connection.execute(select(*columns).where(_T.c.public_id == match[1], _T.c.revoked_at.is_(None))).one_or_none()
        if not hmac.compare_digest(_sha256(match[2]), row.secret_sha256 if row else _NOBODY) or row is None:
            return None
        grant = Grant(match[1], row.author, frozenset(row.scopes.split(",")), row.per_day, row.per_minute)
        with self._lock:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[match[1]] = (time.monotonic(), row.secret_sha256, grant)
        return grant


def _read(authorization: str) -> re.Match[str] | None:
    scheme, _, token = authorization.partition(" ")
    return _FORM.fullmatch(token.strip()) if scheme.lower() == "bearer" else None


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
