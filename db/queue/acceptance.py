"""Accepts submissions into the service's queue: known keys, quotas and the queue's limit are checked in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, func, insert, select

from db.schema.queue_models import OriginRow, ReferenceRow, RequestRow, UsageRow
from db.storage.dimensions import upsert
from db.storage.origin import MAX_ORIGINS, Origin, add_origins
from db.store import LOOKUP

_R: Any = RequestRow.__table__
_U: Any = UsageRow.__table__
_O: Any = OriginRow.__table__
VIEW = (
    *(_R.c.public_id, _R.c.author, _R.c.state, _R.c.problem, _R.c.sample_id, _R.c.accepted_at, _R.c.finished_at, _R.c.attempts),
    *(_R.c.stage, _R.c.evaluation_id, _R.c.name),
)
"""Columns of a Request, in its order."""


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request's public data."""

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
    name: str | None

    @property
    def ended(self) -> bool:
        return self.state in ("done", "cancelled")


@dataclass(frozen=True, slots=True)
class Offer:
    """A submission offered to the queue."""

    public_id: str
    idempotency_key: str | None
    fingerprint: str
    problem: str
    reference: tuple[str, str] | None
    """SHA-256 and source of the problem that came with it."""
    sample_id: int | None
    name: str | None
    body: str
    origin: Origin = field(default_factory=Origin)
    """Not part of the content: a known key gets another origin."""


@dataclass(frozen=True, slots=True)
class OfferGroup:
    """Offers of one author, accepted all together or not at all."""

    author: str
    per_day: int | None
    offers: tuple[Offer, ...]


class RefusalReason(StrEnum):
    """Reason for a refusal."""

    CONFLICT = "idempotency_conflict"
    QUOTA = "quota_exceeded"
    FULL = "queue_full"


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted request, new or known."""

    request: QueuedRequest
    replayed: bool


Outcome = Accepted | RefusalReason


def accept(connection: Connection, groups: Sequence[OfferGroup], limit: int) -> list[list[Outcome]]:
    """The outcome of each offer of each group. limit: maximum of waiting requests."""
    waiting = connection.execute(select(func.count()).select_from(_R).where(_R.c.state == "queued")).scalar_one()
    outcomes: list[list[Outcome]] = [[] for _ in groups]
    # In a fixed order, so that two processes don't deadlock on rows of `usage`.
    for number, group in sorted(enumerate(groups), key=lambda pair: pair[1].author):
        known = _known(connection, group)
        fresh = _fresh(group, known)
        refusal = None
        if fresh:
            if waiting + len(fresh) > limit:
                refusal = RefusalReason.FULL
            elif not _use(connection, group, len(fresh)):
                refusal = RefusalReason.QUOTA
            else:
                known |= _add(connection, group.author, fresh)
                waiting += len(fresh)
        outcomes[number] = [_outcome(offer, known, refusal) for offer in group.offers]
    offers = [offer for group in groups for offer in group.offers]
    found = zip(offers, (outcome for of_group in outcomes for outcome in of_group), strict=True)
    _add_origins(
        connection, [(each.request.public_id, offer.origin) for offer, each in found if isinstance(each, Accepted) and offer.origin]
    )
    return outcomes


def _add_origins(connection: Connection, origins: Sequence[tuple[str, Origin]]) -> None:
    """Store the origins of accepted requests. A known one may be done, or just being finished, which the lock waits for."""
    public_ids = sorted({public_id for public_id, _ in origins})
    numbers: dict[int, str] = {}
    for start in range(0, len(public_ids), LOOKUP):
        query = select(_R.c.id, _R.c.public_id).where(_R.c.public_id.in_(public_ids[start : start + LOOKUP]))
        numbers |= {row.id: row.public_id for row in connection.execute(query)}
    ordered = sorted(numbers)
    found: dict[str, tuple[int, int | None]] = {}
    # In the order of ids, as requests are finished.
    for start in range(0, len(ordered), LOOKUP):
        held = select(_R.c.id, _R.c.evaluation_id).where(_R.c.id.in_(ordered[start : start + LOOKUP])).order_by(_R.c.id)
        for number, evaluation in connection.execute(held.with_for_update()):
            found[numbers[number]] = (number, evaluation)
    room = dict.fromkeys(found, MAX_ORIGINS)
    for start in range(0, len(ordered), LOOKUP):
        counted = select(_O.c.request_id, func.count()).where(_O.c.request_id.in_(ordered[start : start + LOOKUP]))
        for number, count in connection.execute(counted.group_by(_O.c.request_id)):
            room[numbers[number]] -= count
    added: list[tuple[int | None, int | None, Origin]] = []
    for public_id, origin in origins:
        room[public_id] -= 1
        if room[public_id] >= 0:
            added.append((*found[public_id], origin))
    add_origins(connection, added)


def _known(connection: Connection, group: OfferGroup) -> dict[str, tuple[str, QueuedRequest]]:
    """Fingerprint and request by key, for the group's keys that its author has used."""
    keys = sorted({offer.idempotency_key for offer in group.offers if offer.idempotency_key is not None})
    found: dict[str, tuple[str, QueuedRequest]] = {}
    for start in range(0, len(keys), LOOKUP):
        used = (_R.c.author == group.author, _R.c.idempotency_key.in_(keys[start : start + LOOKUP]))
        for key, fingerprint, *view in connection.execute(select(_R.c.idempotency_key, _R.c.fingerprint, *VIEW).where(*used)):
            found[key] = (fingerprint, QueuedRequest(*view))
    return found


def _fresh(group: OfferGroup, known: Mapping[str, object]) -> list[Offer]:
    """The unknown offers; of several with one key, the first."""
    fresh: dict[str, Offer] = {}
    for offer in group.offers:
        if _handle(offer) not in known:
            fresh.setdefault(_handle(offer), offer)
    return list(fresh.values())


def _handle(offer: Offer) -> str:
    """Its key, else its random id, which is nobody's key."""
    return offer.idempotency_key or offer.public_id


def _use(connection: Connection, group: OfferGroup, count: int) -> bool:
    """Use that much of the quota, and return whether so much was left."""
    day = datetime.now(UTC).date().isoformat()
    if group.per_day is not None and count > group.per_day:
        return False
    within = None if group.per_day is None else _U.c.count + count <= group.per_day
    insertion = upsert(connection, UsageRow).values(author=group.author, day=day, count=count)
    change = insertion.on_conflict_do_update(index_elements=["author", "day"], set_={"count": _U.c.count + count}, where=within)
    return connection.execute(change.returning(_U.c.count)).one_or_none() is not None


def _add(connection: Connection, author: str, offers: Sequence[Offer]) -> dict[str, tuple[str, QueuedRequest]]:
    """The new requests with their fingerprints, by handle."""
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
            "name": offer.name,
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
        _handle(offer): (
            offer.fingerprint,
            QueuedRequest(offer.public_id, author, "queued", offer.problem, offer.sample_id, now, None, 0, None, None, offer.name),
        )
        for offer in offers
    }


def _outcome(offer: Offer, known: Mapping[str, tuple[str, QueuedRequest]], refusal: RefusalReason | None) -> Outcome:
    held = known.get(_handle(offer))
    if held is None:
        assert refusal is not None
        return refusal
    fingerprint, request = held
    if fingerprint != offer.fingerprint:
        return RefusalReason.CONFLICT
    return Accepted(request, replayed=request.public_id != offer.public_id)
