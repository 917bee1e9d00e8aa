"""The service's queue: requests that wait in the database to be judged, and are claimed by one service process after another.

A claim holds until its lease runs out, so that what a killed process had is taken up by another. It is fenced by its owner and by how
often the request has been claimed: whoever has lost it can't end it. A request ends in the transaction that stores its result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from db.dimensions import upsert
from db.error import StoreError
from db.request_models import ReferenceRow, RequestRow, UsageRow
from db.store import LOOKUP, Store

TRIES = 3
"""How often a transaction is tried that another process's came before."""
_R: Any = RequestRow.__table__
_U: Any = UsageRow.__table__
_VIEW = (
    *(_R.c.public_id, _R.c.author, _R.c.state, _R.c.problem, _R.c.sample_id, _R.c.accepted_at, _R.c.finished_at, _R.c.attempts),
    *(_R.c.stage, _R.c.evaluation_id),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What there is to be told of a request."""

    public_id: str
    author: str
    state: str
    problem: str
    sample_id: int | None
    accepted_at: datetime
    finished_at: datetime | None
    attempts: int
    stage: str | None
    evaluation_id: int | None

    @property
    def ended(self) -> bool:
        return self.state in ("done", "cancelled")


@dataclass(frozen=True, slots=True)
class Offer:
    """A submission that wants to be accepted."""

    public_id: str
    idempotency_key: str | None
    fingerprint: str
    problem: str
    reference: tuple[str, str] | None
    """SHA-256 and source of a problem that came with it."""
    sample_id: int | None
    body: str


@dataclass(frozen=True, slots=True)
class Group:
    """Offers of one author that are accepted together or not at all."""

    author: str
    per_day: int | None
    offers: tuple[Offer, ...]


class Refusal(StrEnum):
    """Why an offer is not accepted."""

    CONFLICT = "idempotency_conflict"
    QUOTA = "quota_exceeded"
    FULL = "queue_full"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that there is now, or was before."""

    request: Request
    replayed: bool


Outcome = Accepted | Refusal


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


class LostClaimsError(Exception):
    """Requests that are no longer the caller's: cancelled, or another's since the lease ran out."""

    def __init__(self, ids: frozenset[int]) -> None:
        super().__init__(f"{len(ids)} claims have been lost")
        self.ids = ids


class Requests:
    """The queue of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accept(self, groups: Sequence[Group], limit: int) -> list[list[Outcome]]:
        """What becomes of each offer, all in one transaction; when this returns, what is accepted is on disk.

        limit: requests that may wait; a group that would go beyond it is refused. Raises StoreError.
        """
        for left in reversed(range(TRIES)):
            try:
                with self._store.change(beside=True) as connection:
                    return _accept(connection, groups, limit)
            except StoreError as error:
                # Another process has just accepted the same key: it is found the next time.
                if not left or not isinstance(error.__cause__, IntegrityError):
                    raise
        raise AssertionError("a last try either returns or raises")

    def claim(self, owner: str, most: int, lease_s: float) -> list[Claim]:
        """Up to so many requests, oldest first, which are this owner's until the lease runs out. Raises StoreError."""
        now = datetime.now(UTC)
        with self._store.change(beside=True) as connection:
            found: list[int] = []
            for state in ("claimed", "queued"):  # those that a lost process had are older
                query = select(_R.c.id).where(_R.c.state == state, _R.c.due_at <= now).order_by(_R.c.id).limit(most - len(found))
                if len(found) < most:
                    found += connection.execute(query.with_for_update(skip_locked=True)).scalars()
            if not found:
                return []
            values = {"state": "claimed", "owner": owner, "due_at": now + timedelta(seconds=lease_s), "attempts": _R.c.attempts + 1}
            change = update(_R).where(_R.c.id.in_(found)).values(values | {"stage": None})
            columns = (_R.c.id, _R.c.public_id, _R.c.author, _R.c.problem, _R.c.reference_sha256, _R.c.sample_id, _R.c.body, _R.c.attempts)
            return sorted((Claim(*row) for row in connection.execute(change.returning(*columns))), key=lambda claim: claim.id)

    def renew(self, owner: str, lease_s: float, stages: Mapping[str, str]) -> None:
        """Have all claims of the owner hold for another lease, and keep the stages, by public id, that they are in. Raises StoreError."""
        due_at = datetime.now(UTC) + timedelta(seconds=lease_s)
        with self._store.change(beside=True) as connection:
            # Those that are locked are just being ended.
            held = select(_R.c.id, _R.c.public_id, _R.c.stage).where(_R.c.state == "claimed", _R.c.owner == owner).order_by(_R.c.id)
            rows = connection.execute(held.with_for_update(skip_locked=True)).all()
            if rows:
                connection.execute(update(_R).where(_R.c.id.in_([row.id for row in rows])).values(due_at=due_at))
            for row in rows:
                stage = stages.get(row.public_id)
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

    def find(self, public_ids: Sequence[str]) -> dict[str, Request]:
        """Requests by public id; those that are nobody's are left out. Raises StoreError."""
        found: dict[str, Request] = {}
        with self._store.read() as connection:
            for start in range(0, len(public_ids), LOOKUP):
                query = select(*_VIEW).where(_R.c.public_id.in_(public_ids[start : start + LOOKUP]))
                for public_id, *view in connection.execute(query):
                    found[public_id] = Request(public_id, *view)
        return found

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


def _accept(connection: Connection, groups: Sequence[Group], limit: int) -> list[list[Outcome]]:
    waiting = connection.execute(select(func.count()).select_from(_R).where(_R.c.state == "queued")).scalar_one()
    outcomes: list[list[Outcome]] = [[] for _ in groups]
    # Always in the same order, so that two processes don't wait for each other's rows of `usage`.
    for number, group in sorted(enumerate(groups), key=lambda pair: pair[1].author):
        known = _known(connection, group)
        fresh = _fresh(group, known)
        refusal = None
        if fresh:
            if waiting + len(fresh) > limit:
                refusal = Refusal.FULL
            elif not _use(connection, group, len(fresh)):
                refusal = Refusal.QUOTA
            else:
                known |= _add(connection, group.author, fresh)
                waiting += len(fresh)
        outcomes[number] = [_outcome(offer, known, refusal) for offer in group.offers]
    return outcomes


def _known(connection: Connection, group: Group) -> dict[str, tuple[str, Request]]:
    """Fingerprint and request by key, of those keys of the group that its author has used."""
    keys = sorted({offer.idempotency_key for offer in group.offers if offer.idempotency_key is not None})
    found: dict[str, tuple[str, Request]] = {}
    for start in range(0, len(keys), LOOKUP):
        used = (_R.c.author == group.author, _R.c.idempotency_key.in_(keys[start : start + LOOKUP]))
        for key, fingerprint, *view in connection.execute(select(_R.c.idempotency_key, _R.c.fingerprint, *_VIEW).where(*used)):
            found[key] = (fingerprint, Request(*view))
    return found


def _fresh(group: Group, known: Mapping[str, object]) -> list[Offer]:
    """Those that are not known; of several with one key, the first."""
    fresh: dict[str, Offer] = {}
    for offer in group.offers:
        if _name(offer) not in known:
            fresh.setdefault(_name(offer), offer)
    return list(fresh.values())


def _name(offer: Offer) -> str:
    """What it is found by: its key, else the random id, which nobody has as a key."""
    return offer.idempotency_key or offer.public_id


def _use(connection: Connection, group: Group, count: int) -> bool:
    """Whether that much of the quota was left; if so, it is used now."""
    day = datetime.now(UTC).date().isoformat()
    if group.per_day is not None and count > group.per_day:
        return False
    within = None if group.per_day is None else _U.c.count + count <= group.per_day
    insertion = upsert(connection, UsageRow).values(author=group.author, day=day, count=count)
    change = insertion.on_conflict_do_update(index_elements=["author", "day"], set_={"count": _U.c.count + count}, where=within)
    return connection.execute(change.returning(_U.c.count)).one_or_none() is not None


def _add(connection: Connection, author: str, offers: Sequence[Offer]) -> dict[str, tuple[str, Request]]:
    """The new requests with their fingerprints, by name."""
    references = sorted({offer.reference for offer in offers if offer.reference is not None})
    if references:
        values = [{"sha256": sha256, "source": source} for sha256, source in references]
        connection.execute(upsert(connection, ReferenceRow).on_conflict_do_nothing(), values)
    now = datetime.now(UTC)
    rows = [
        {
            "public_id": offer.public_id,
            "author": author,
            "idempotency_key": offer.idempotency_key,
            "fingerprint": offer.fingerprint,
            "problem": offer.problem,
            "reference_sha256": offer.reference and offer.reference[0],
            "sample_id": offer.sample_id,
            "state": "queued",
            "body": offer.body,
            "due_at": now,
            "attempts": 0,
            "accepted_at": now,
        }
        for offer in offers
    ]
    connection.execute(insert(_R), rows)
    return {
        _name(offer): (
            offer.fingerprint,
            Request(offer.public_id, author, "queued", offer.problem, offer.sample_id, now, None, 0, None, None),
        )
        for offer in offers
    }


def _outcome(offer: Offer, known: Mapping[str, tuple[str, Request]], refusal: Refusal | None) -> Outcome:
    held = known.get(_name(offer))
    if held is None:
        assert refusal is not None
        return refusal
    fingerprint, request = held
    if fingerprint != offer.fingerprint:
        return Refusal.CONFLICT
    return Accepted(request, replayed=request.public_id != offer.public_id)
