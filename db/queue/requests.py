"""The service's queue: requests wait in the database until a service process claims and judges them.

A claim holds until its lease runs out; then another process may claim a killed process's request. The owner and the number of claims
fence it: a process that lost the claim can't finish the request. A request ends in the transaction that stores its result.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from db.error import StoreError
from db.queue.acceptance import VIEW, OfferGroup, Outcome, QueuedRequest, accept
from db.schema.queue_models import OriginRow, ReferenceRow, RequestRow
from db.store import LOOKUP, Store

TRIES = 3
"""Attempts of a transaction that conflicts with another process."""
_R: Any = RequestRow.__table__
_O: Any = OriginRow.__table__
CLAIMED = (
    *(_R.c.id, _R.c.public_id, _R.c.author, _R.c.problem, _R.c.reference_sha256, _R.c.sample_id, _R.c.body, _R.c.attempts),
    _R.c.name,
)
"""Columns of a Claim, in its order."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request claimed by this process."""

    id: int
    public_id: str
    author: str
    problem: str
    reference_sha256: str | None
    sample_id: int | None
    body: str
    attempts: int
    """Number of claims, this one included."""
    name: str | None
    """Its author's name for it."""


class LostClaimsError(Exception):
    """The caller has lost requests: they were cancelled, or claimed by another process after the lease ran out."""

    def __init__(self, ids: frozenset[int]) -> None:
        super().__init__(f"{len(ids)} claims have been lost")
        self.ids = ids


class Requests:
    """The queue of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accept(self, groups: Sequence[OfferGroup], limit: int) -> list[list[Outcome]]:
        """The outcome of each offer, in one transaction; accepted requests are on disk when this returns.

        limit: maximum of waiting requests; a group that would exceed it is refused. Raises StoreError.
        """
        for left in reversed(range(TRIES)):
            try:
                with self._store.change(beside=True) as connection:
                    return accept(connection, groups, limit)
            except StoreError as error:
                # Another process has just accepted the same key: the next attempt finds it.
                if not left or not isinstance(error.__cause__, IntegrityError):
                    raise
        raise AssertionError("a last try either returns or raises")

    def claim(self, owner: str, most: int, lease_s: float, under_way: Collection[str] = ()) -> list[Claim]:
        """Claim up to so many requests, oldest first, for this owner until the lease runs out. Raises StoreError.

        under_way: public ids of requests that the owner still judges. They are not claimed again, even if their leases ran out.
        """
        now = datetime.now(UTC)
        with self._store.change(beside=True) as connection:
            found: list[int] = []
            for state in ("claimed", "queued"):  # the claims of a lost process are older
                due = (_R.c.state == state, _R.c.due_at <= now, _R.c.public_id.not_in(under_way))
                query = select(_R.c.id).where(*due).order_by(_R.c.id).limit(most - len(found))
                if len(found) < most:
                    found += connection.execute(query.with_for_update(skip_locked=True)).scalars()
            if not found:
                return []
            values = {"state": "claimed", "owner": owner, "due_at": now + timedelta(seconds=lease_s), "attempts": _R.c.attempts + 1}
            change = update(_R).where(_R.c.id.in_(found)).values(values | {"stage": None})
            return sorted((Claim(*row) for row in connection.execute(change.returning(*CLAIMED))), key=lambda claim: claim.id)

    def renew(self, owner: str, lease_s: float, stages: Mapping[str, str | None]) -> None:
        """Renew the leases of the owner's claims in `stages`, which maps public ids to stages. Raises StoreError."""
        due_at = datetime.now(UTC) + timedelta(seconds=lease_s)
        with self._store.change(beside=True) as connection:
            # Locked ones are just being finished.
            held = select(_R.c.id, _R.c.public_id, _R.c.stage).where(_R.c.state == "claimed", _R.c.owner == owner).order_by(_R.c.id)
            rows = [row for row in connection.execute(held.with_for_update(skip_locked=True)) if row.public_id in stages]
            if rows:
                connection.execute(update(_R).where(_R.c.id.in_([row.id for row in rows])).values(due_at=due_at))
            for row in rows:
                stage = stages[row.public_id]
                if stage is not None and stage != row.stage:
                    connection.execute(update(_R).where(_R.c.id == row.id).values(stage=stage))

    def give_back(self, owner: str, claims: Sequence[Claim] | None = None, *, begun: bool = False, pause_s: float = 0.0) -> int:
        """Release all claims of the owner, or some; returns the number of requests. Raises StoreError.

        begun: counts as an attempt. pause_s: seconds until they may be claimed.
        """
        values: dict[str, Any] = {"state": "queued", "owner": None, "stage": None, "due_at": datetime.now(UTC) + timedelta(seconds=pause_s)}
        if not begun:
            values["attempts"] = _R.c.attempts - 1
        change = update(_R).where(_R.c.state == "claimed", _R.c.owner == owner).values(values)
        with self._store.change(beside=True) as connection:
            if claims is None:
                return int(connection.execute(change).rowcount)
            return sum(
                connection.execute(change.where(_R.c.id == claim.id, _R.c.attempts == claim.attempts)).rowcount
                for claim in sorted(claims, key=lambda claim: claim.id)
            )

    def settle(self, owner: str, claims: Sequence[Claim]) -> Callable[[Connection, list[int]], None]:
        """Finish the requests of claims with the evaluations of these numbers, in the transaction that stores them.

        Raises LostClaimsError, so that nothing is stored, if a claim was lost.
        """

        def end(connection: Connection, numbers: list[int]) -> None:
            now, lost = datetime.now(UTC), []
            for claim, number in sorted(zip(claims, numbers, strict=True), key=lambda pair: pair[0].id):
                mine = (_R.c.id == claim.id, _R.c.state == "claimed", _R.c.owner == owner, _R.c.attempts == claim.attempts)
                values = _ended("done", now) | {"evaluation_id": number}
                if connection.execute(update(_R).where(*mine).values(values)).rowcount != 1:
                    lost.append(claim.id)
            if lost:
                raise LostClaimsError(frozenset(lost))
            done = select(_R.c.evaluation_id).where(_R.c.id == _O.c.request_id).scalar_subquery()
            asked = _O.c.request_id.in_([claim.id for claim in claims])
            connection.execute(update(_O).where(asked).values(evaluation_id=done))

        return end

    def cancel(self, public_id: str) -> bool:
        """Cancel a request. Returns whether it is cancelled, now or before; a finished one is not. Raises StoreError."""
        with self._store.change(beside=True) as connection:
            open_one = (_R.c.public_id == public_id, _R.c.state.in_(("queued", "claimed")))
            if connection.execute(update(_R).where(*open_one).values(_ended("cancelled", datetime.now(UTC)))).rowcount:
                return True
            return connection.execute(select(_R.c.state).where(_R.c.public_id == public_id)).scalar() == "cancelled"

    def find(self, public_ids: Sequence[str]) -> dict[str, QueuedRequest]:
        """Requests by public id, without unknown ids. Raises StoreError."""
        found: dict[str, QueuedRequest] = {}
        with self._store.read() as connection:
            for start in range(0, len(public_ids), LOOKUP):
                query = select(*VIEW).where(_R.c.public_id.in_(public_ids[start : start + LOOKUP]))
                for public_id, *view in connection.execute(query):
                    found[public_id] = QueuedRequest(public_id, *view)
        return found

    def newest(self, author: str | None, most: int, before: str | None = None, **equal: str) -> list[QueuedRequest]:
        """Up to so many requests of an author, or of all, newest first.

        before: a public id; only older ones are listed, and none for an unknown id. equal: values of `state` or `problem`.
        Raises StoreError.
        """
        query = select(*VIEW).order_by(_R.c.id.desc()).limit(most)
        if author is not None:
            query = query.where(_R.c.author == author)
        if before is not None:
            query = query.where(_R.c.id < select(_R.c.id).where(_R.c.public_id == before).scalar_subquery())
        query = query.where(*(_R.c[name] == value for name, value in equal.items()))
        with self._store.read() as connection:
            return [QueuedRequest(*row) for row in connection.execute(query)]

    def depth(self) -> dict[str, int]:
        """Numbers of queued and of claimed requests. Raises StoreError."""
        query = select(_R.c.state, func.count()).where(_R.c.state.in_(("queued", "claimed"))).group_by(_R.c.state)
        with self._store.read() as connection:
            return {"queued": 0, "claimed": 0} | {state: int(count) for state, count in connection.execute(query)}

    def reference(self, sha256: str) -> str:
        """The source of a problem that came with a submission. Raises StoreError."""
        with self._store.read() as connection:
            source: str = connection.execute(select(ReferenceRow.source).where(ReferenceRow.sha256 == sha256)).scalar_one()
        return source


def _ended(state: str, now: datetime) -> dict[str, Any]:
    return {"state": state, "finished_at": now, "body": None, "due_at": None, "owner": None, "stage": None}
