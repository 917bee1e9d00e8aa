"""The service's queue: requests that wait in the database to be judged, and are claimed by one service process after another.

A claim holds until its lease runs out, so that what a killed process had is taken up by another. It is fenced by its owner and by how
often the request has been claimed: whoever has lost it can't end it. A request ends in the transaction that stores its result.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from db.error import StoreError
from db.queue.acceptance import VIEW, OfferGroup, Outcome, QueuedRequest, accept
from db.schema.queue_models import ReferenceRow, RequestRow
from db.store import LOOKUP, Store

TRIES = 3
"""How often a transaction is tried that another process's came before."""
_R: Any = RequestRow.__table__
CLAIMED = (
    *(_R.c.id, _R.c.public_id, _R.c.author, _R.c.problem, _R.c.reference_sha256, _R.c.sample_id, _R.c.body, _R.c.attempts),
    _R.c.name,
)
"""Columns of a Claim, in its order."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request that is this process's to judge."""

    id: int
    public_id: str
    author: str
    problem: str
    reference_sha256: str | None
    sample_id: int | None
    body: str
    attempts: int
    """This one included."""
    name: str | None
    """What its author calls it."""


class LostClaimsError(Exception):
    """Requests that are no longer the caller's: cancelled, or another's since the lease ran out."""

    def __init__(self, ids: frozenset[int]) -> None:
        super().__init__(f"{len(ids)} claims have been lost")
        self.ids = ids


class Requests:
    """The queue of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accept(self, groups: Sequence[OfferGroup], limit: int) -> list[list[Outcome]]:
        """What becomes of each offer, all in one transaction; when this returns, what is accepted is on disk.

        limit: requests that may wait; a group that would go beyond it is refused. Raises StoreError.
        """
        for left in reversed(range(TRIES)):
            try:
                with self._store.change(beside=True) as connection:
                    return accept(connection, groups, limit)
            except StoreError as error:
                # Another process has just accepted the same key: it is found the next time.
                if not left or not isinstance(error.__cause__, IntegrityError):
                    raise
        raise AssertionError("a last try either returns or raises")

    def claim(self, owner: str, most: int, lease_s: float, under_way: Collection[str] = ()) -> list[Claim]:
        """Up to so many requests, oldest first, which are this owner's until the lease runs out. Raises StoreError.

        under_way: public ids of what the owner still judges, whose leases may have run out all the same: they are not claimed again.
        """
        now = datetime.now(UTC)
        with self._store.change(beside=True) as connection:
            found: list[int] = []
            for state in ("claimed", "queued"):  # those that a lost process had are older
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
        """Have claims of the owner hold for another lease: those that `stages` has, by public id, with the stages that they are in.
        Raises StoreError."""
        due_at = datetime.now(UTC) + timedelta(seconds=lease_s)
        with self._store.change(beside=True) as connection:
            # Those that are locked are just being ended.
            held = select(_R.c.id, _R.c.public_id, _R.c.stage).where(_R.c.state == "claimed", _R.c.owner == owner).order_by(_R.c.id)
            rows = [row for row in connection.execute(held.with_for_update(skip_locked=True)) if row.public_id in stages]
            if rows:
                connection.execute(update(_R).where(_R.c.id.in_([row.id for row in rows])).values(due_at=due_at))
            for row in rows:
                stage = stages[row.public_id]
                if stage is not None and stage != row.stage:
                    connection.execute(update(_R).where(_R.c.id == row.id).values(stage=stage))

    def give_back(self, owner: str, claims: Sequence[Claim] | None = None, *, begun: bool = False, pause_s: float = 0.0) -> int:
        """Have others claim what the owner has, or of that some; returns how many requests that are. Raises StoreError.

        begun: it counts as an attempt. pause_s: how long nobody may claim them.
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
        """Ends the requests of claims with the evaluations of these numbers, as a part of the transaction that stores them.

        It raises LostClaimsError, so that nothing is stored, where a request is no longer this claim's.
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

        return end

    def cancel(self, public_id: str) -> bool:
        """Whether it is cancelled now, or was before; not where it is done. Raises StoreError."""
        with self._store.change(beside=True) as connection:
            open_one = (_R.c.public_id == public_id, _R.c.state.in_(("queued", "claimed")))
            if connection.execute(update(_R).where(*open_one).values(_ended("cancelled", datetime.now(UTC)))).rowcount:
                return True
            return connection.execute(select(_R.c.state).where(_R.c.public_id == public_id)).scalar() == "cancelled"

    def find(self, public_ids: Sequence[str]) -> dict[str, QueuedRequest]:
        """Requests by public id; those that are nobody's are left out. Raises StoreError."""
        found: dict[str, QueuedRequest] = {}
        with self._store.read() as connection:
            for start in range(0, len(public_ids), LOOKUP):
                query = select(*VIEW).where(_R.c.public_id.in_(public_ids[start : start + LOOKUP]))
                for public_id, *view in connection.execute(query):
                    found[public_id] = QueuedRequest(public_id, *view)
        return found

    def newest(self, author: str | None, most: int, before: str | None = None, **equal: str) -> list[QueuedRequest]:
        """Up to so many requests of an author, or of everybody, the newest first.

        before: a public id; only older ones are listed, and none where nobody has it. equal: values of `state` or `problem`.
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
        """How many requests are queued and claimed. Raises StoreError."""
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
