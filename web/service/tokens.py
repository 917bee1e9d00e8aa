"""Bearer tokens: shown once, stored as a hash, and looked up by their public part."""

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
"""Seconds that a token is cached: a revoked token may work for as long."""
MAX_REMEMBERED = 10_000
_FORM = re.compile(r"assay_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""Compared with if the token is unknown, so that this takes as long."""
_T: Any = TokenRow.__table__


class Scope(StrEnum):
    """Permission of a token; none includes another."""

    READ = "read"
    """Read the author's own evaluations, the leaderboard, the problems."""
    SUBMIT = "submit"
    """Submit, and cancel the author's own evaluations."""
    REFERENCE = "reference"
    """Submit problems, which run as trusted code in the judge's own process."""
    PROFILE = "profile"
    """Have submissions profiled, which holds the device longer."""
    METRICS = "metrics"
    OPERATE = "operate"
    """Drain a process, and let it serve again."""
    ADMIN = "admin"
    """Read all authors' evaluations."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The permissions and limits of a token."""

    public_id: str
    author: str
    scopes: frozenset[str]
    per_day: int | None
    per_minute: int | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A token as the operator sees it."""

    public_id: str
    author: str
    scopes: str
    per_day: int | None
    per_minute: int | None
    created_at: datetime
    revoked_at: datetime | None


def make(store: Store, author: str, scopes: Sequence[Scope], per_day: int | None = None, per_minute: int | None = None) -> str:
    """Make a token and return it; it can't be read from the database again. Raises StoreError."""
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
    """Revoke a token; whether it was valid until now. Raises StoreError."""
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
        """The cached grant; None if the database must be asked."""
        match = _read(authorization)
        with self._lock:
            found = self._known.get(match[1]) if match else None
        if not match or found is None or time.monotonic() - found[0] > REMEMBERED_S:
            return None
        return found[2] if hmac.compare_digest(_sha256(match[2]), found[1]) else None

    def grant(self, authorization: str) -> Grant | None:
        """The grant for the value of an Authorization header; None if it is not valid. Raises StoreError."""
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
