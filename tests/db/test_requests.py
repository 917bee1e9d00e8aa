"""The queue: each request is accepted once, claimed by one process, and ends with one result, also if processes die."""

import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from db.error import StoreError
from db.queue.acceptance import Accepted, Offer, OfferGroup, Outcome, RefusalReason
from db.queue.requests import Claim, LostClaimsError, Requests
from db.schema.queue_models import RequestRow, UsageRow
from db.storage.origin import MAX_ORIGINS, Origin
from db.storage.record import Entry
from db.store import Store
from evaluator.results.category import Category
from tests.db.conftest import BOTH
from tests.db.samples import result

NO_LIMIT = 1_000_000


def offer(key: str | None = None, fingerprint: str = "f", reference: tuple[str, str] | None = None, origin: Origin | None = None) -> Offer:
    return Offer(uuid.uuid4().hex, key, fingerprint, "softmax", reference, None, None, '{"source": "x"}', origin or Origin())


def accept(requests: Requests, *offers: Offer, author: str = "ada", per_day: int | None = None, limit: int = NO_LIMIT) -> list[Outcome]:
    return requests.accept([OfferGroup(author, per_day, offers)], limit)[0]


def entry(claim: Claim, source: str = "x", category: Category = Category.WRONG_VALUES) -> Entry:
    return Entry.of(result(category, submission=f"service/{claim.public_id}", source=source), source, 1, None)


@pytest.fixture
def requests(store: Store) -> Requests:
    return Requests(store)


def lapse(store: Store) -> None:
    """All leases have run out."""
    with store.change(beside=True) as connection:
        past = datetime.now(UTC) - timedelta(seconds=1)
        connection.execute(update(RequestRow).where(RequestRow.state == "claimed").values(due_at=past))


@BOTH
def test_what_is_accepted_waits_in_order_and_is_claimed_once(requests: Requests) -> None:
    offers = [offer() for _ in range(5)]
    outcomes = accept(requests, *offers)
    assert [isinstance(each, Accepted) and each.request.state for each in outcomes] == ["queued"] * 5
    assert requests.depth() == {"queued": 5, "claimed": 0}
    first = requests.claim("one", 2, 30.0)
    second = requests.claim("two", 9, 30.0)
    assert [claim.public_id for claim in first + second] == [each.public_id for each in offers]
    assert [claim.attempts for claim in first + second] == [1] * 5
    assert requests.claim("three", 9, 30.0) == []
    assert requests.depth() == {"queued": 0, "claimed": 5}


@BOTH
def test_a_result_and_the_end_of_its_request_are_stored_together(store: Store, requests: Requests) -> None:
    wanted = offer()
    accept(requests, wanted)
    claims = requests.claim("one", 1, 30.0)
    numbers = store.save_all([entry(claims[0])], also=requests.settle("one", claims))
    found = requests.find([wanted.public_id])[wanted.public_id]
    assert (found.state, found.evaluation_id, found.ended) == ("done", numbers[0], True)
    assert found.finished_at is not None and found.finished_at >= found.accepted_at
    with store.read() as connection:
        assert connection.execute(select(RequestRow.body)).scalar_one() is None


@BOTH
def test_who_has_lost_a_claim_stores_nothing(store: Store, requests: Requests) -> None:
    accept(requests, offer(), offer())
    claims = requests.claim("one", 2, 30.0)
    lapse(store)
    (taken, _) = requests.claim("two", 2, 30.0)
    assert taken.attempts == 2
    with pytest.raises(LostClaimsError) as error:
        store.save_all([entry(claim) for claim in claims], also=requests.settle("one", claims))
    assert error.value.ids == {claim.id for claim in claims}
    assert store.count() == 0
    store.save_all([entry(taken)], also=requests.settle("two", [taken]))
    with pytest.raises(LostClaimsError):
        store.save_all([entry(taken)], also=requests.settle("two", [taken]))
    assert store.count() == 1
    old = claims[1]
    lapse(store)
    (new,) = requests.claim("one", 1, 30.0)
    with pytest.raises(LostClaimsError):
        store.save_all([entry(old)], also=requests.settle("one", [old]))
    assert len(store.save_all([entry(new)], also=requests.settle("one", [new]))) == 1, "the owner of the older claim is the same"


def test_one_lost_claim_takes_the_others_results_back_too_and_they_can_be_stored_again(store: Store, requests: Requests) -> None:
    accept(requests, offer(), offer())
    first, second = requests.claim("one", 2, 30.0)
    assert requests.cancel(first.public_id)
    with pytest.raises(LostClaimsError) as error:
        store.save_all([entry(first, "new source"), entry(second, "another")], also=requests.settle("one", [first, second]))
    assert error.value.ids == {first.id}
    assert store.count() == 0
    store.save_all([entry(second, "new source")], also=requests.settle("one", [second]))
    assert store.count() == 1 and requests.depth() == {"queued": 0, "claimed": 0}


def test_a_renewed_lease_holds_and_its_stage_is_known_to_others(store: Store, requests: Requests) -> None:
    accept(requests, offer(), offer(), offer())
    (mine, forgotten), (other,) = requests.claim("one", 2, 30.0), requests.claim("two", 1, 30.0)
    lapse(store)
    requests.renew("one", 30.0, {mine.public_id: "build", "f" * 32: "load"})
    assert [claim.id for claim in requests.claim("three", 5, 30.0)] == [forgotten.id, other.id], (
        "what its owner does not know is not renewed"
    )
    assert requests.find([mine.public_id])[mine.public_id].stage == "build"


def test_what_is_given_back_is_claimed_again_and_counts_only_if_it_was_begun(requests: Requests) -> None:
    accept(requests, offer(), offer())
    requests.claim("one", 2, 30.0)
    assert requests.give_back("one") == 2
    again = requests.claim("two", 2, 30.0)
    assert [claim.attempts for claim in again] == [1, 1]
    assert requests.give_back("two", again[:1], begun=True) == 1
    assert [claim.attempts for claim in requests.claim("three", 2, 30.0)] == [2]
    assert requests.give_back("two", again[:1]) == 0
    requests.give_back("two", again[1:], begun=True, pause_s=60.0)
    assert requests.claim("three", 2, 30.0) == [], "not before the pause is over"


def test_the_same_key_is_the_same_request(requests: Requests) -> None:
    (first,) = accept(requests, offer("k"))
    again, other, mistaken, elses = (
        accept(requests, offer("k"))[0],
        accept(requests, offer("l"))[0],
        accept(requests, offer("k", "another"))[0],
        accept(requests, offer("k"), author="bob")[0],
    )
    assert isinstance(first, Accepted) and isinstance(again, Accepted) and isinstance(other, Accepted) and isinstance(elses, Accepted)
    assert (first.replayed, again.replayed, other.replayed, elses.replayed) == (False, True, False, False)
    assert again.request.public_id == first.request.public_id
    assert len({each.request.public_id for each in (first, other, elses)}) == 3
    assert mistaken is RefusalReason.CONFLICT


@BOTH
def test_an_evaluation_keeps_the_origin_of_each_request_whenever_it_came(store: Store, requests: Requests) -> None:
    origins = [Origin(3, "p1"), Origin(3, "p2", {"run": "a", "b": 'é"\\'}), Origin(4, "p1"), Origin(5), Origin(2**63 - 1)]
    accept(requests, *(offer("k", origin=each) for each in origins[:2]), offer("l", "another"), offer("m", origin=Origin(9)))
    claims = requests.claim("one", 3, 30.0)
    accept(requests, offer("k", origin=origins[2]), offer("k", origin=origins[0]), offer("k"), offer("k", "wrong", origin=Origin(8)))
    numbers = store.save_all([entry(claim, claim.public_id) for claim in claims], also=requests.settle("one", claims))
    accept(requests, *(offer("k", origin=each) for each in origins))
    told = [stored.origins for number in numbers if (stored := store.get(number))]
    assert told == [tuple(origins), (), (Origin(9),)], "equal ones are stored once, and a refused one is not"


@BOTH
def test_a_request_keeps_a_limited_number_of_origins(store: Store, requests: Requests) -> None:
    for start in (0, 60, 120):
        accept(
            requests, *(offer("k", origin=Origin(step)) for step in range(start, start + 60)), offer("l", "another", origin=Origin(start))
        )
    claims = requests.claim("one", 2, 30.0)
    numbers = store.save_all([entry(claim, claim.public_id) for claim in claims], also=requests.settle("one", claims))
    counts = [len(stored.origins) for number in numbers if (stored := store.get(number))]
    assert sorted(counts) == [3, MAX_ORIGINS]


@pytest.mark.slow
def test_an_origin_waits_for_the_end_of_its_request(postgresql_url: str) -> None:
    """On a server, a request is repeated while another process stores its result."""
    with Store.open(postgresql_url) as store, Store.open(postgresql_url) as other, ThreadPoolExecutor(1) as pool:
        requests = Requests(store)
        accept(requests, offer("k", origin=Origin(1)))
        claims = requests.claim("one", 1, 30.0)

        def meanwhile(connection: Connection, numbers: list[int]) -> None:
            requests.settle("one", claims)(connection, numbers)
            waiting.append(pool.submit(accept, Requests(other), offer("k", origin=Origin(2))))
            with pytest.raises(TimeoutError):
                waiting[0].result(0.5)

        waiting: list[Future[list[Outcome]]] = []
        (number,) = store.save_all([entry(claims[0])], also=meanwhile)
        assert isinstance(waiting[0].result(30)[0], Accepted)
        stored = store.get(number)
        assert stored is not None and stored.origins == (Origin(1), Origin(2))


@BOTH
def test_the_same_key_within_a_batch_is_accepted_once(requests: Requests) -> None:
    one, two, three = accept(requests, offer("k"), offer("k"), offer("k", "another"))
    assert isinstance(one, Accepted) and isinstance(two, Accepted)
    assert one.request.public_id == two.request.public_id and two.replayed
    assert three is RefusalReason.CONFLICT
    assert requests.depth()["queued"] == 1


@BOTH
def test_the_same_key_from_many_threads_is_accepted_once(url: str, store: Store, requests: Requests) -> None:
    start = threading.Barrier(8)

    def one(number: int) -> Outcome:
        with Store.open(url) as own:
            start.wait(30)
            return accept(Requests(own), offer(f"k{number % 2}"))[0]

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(one, range(8)))
    assert all(isinstance(each, Accepted) for each in outcomes)
    assert len({each.request.public_id for each in outcomes if isinstance(each, Accepted)}) == 2
    assert requests.depth()["queued"] == 2


@BOTH
def test_a_quota_is_the_authors_and_a_batch_beyond_it_is_refused_whole(store: Store, requests: Requests) -> None:
    assert all(isinstance(each, Accepted) for each in accept(requests, offer(), offer(), per_day=3))
    assert accept(requests, offer(), offer(), per_day=3) == [RefusalReason.QUOTA] * 2
    (kept,) = accept(requests, offer("k"), per_day=3)
    assert isinstance(kept, Accepted)
    assert isinstance(accept(requests, offer("k"), per_day=3)[0], Accepted)  # it is not used up by what is known
    assert accept(requests, offer(), per_day=3) == [RefusalReason.QUOTA]
    assert accept(requests, offer(), per_day=0, author="none") == [RefusalReason.QUOTA]
    assert isinstance(accept(requests, offer(), per_day=3, author="bob")[0], Accepted)
    with store.read() as connection:
        used = connection.execute(select(UsageRow.author, UsageRow.count).order_by(UsageRow.author)).all()
    assert [tuple(row) for row in used] == [("ada", 3), ("bob", 1)]


def test_a_full_queue_takes_no_more_but_knows_what_it_has(requests: Requests) -> None:
    known = offer("k")
    accept(requests, known, offer(), limit=2)
    refused = accept(requests, offer("k"), offer(), limit=2)
    assert isinstance(refused[0], Accepted) and refused[1] is RefusalReason.FULL
    requests.claim("one", 1, 30.0)
    assert isinstance(accept(requests, offer(), limit=2)[0], Accepted)


def test_several_groups_are_accepted_apart(requests: Requests) -> None:
    groups = [OfferGroup("bob", 0, (offer(),)), OfferGroup("ada", None, (offer(), offer())), OfferGroup("bob", None, (offer(),))]
    found = requests.accept(groups, NO_LIMIT)
    assert found[0] == [RefusalReason.QUOTA]
    assert [[isinstance(each, Accepted) and each.request.author for each in outcomes] for outcomes in found[1:]] == [["ada"] * 2, ["bob"]]


def test_a_problem_that_comes_with_submissions_is_kept_once(requests: Requests) -> None:
    reference = ("a" * 64, "class Model: ...\0")
    accept(requests, offer(reference=reference), offer(reference=reference))
    assert {claim.reference_sha256 for claim in requests.claim("one", 2, 30.0)} == {"a" * 64}
    assert requests.reference("a" * 64) == reference[1]


@BOTH
def test_many_claimers_share_the_queue_without_claiming_twice(url: str, store: Store, requests: Requests) -> None:
    accept(requests, *(offer() for _ in range(60)))
    start = threading.Barrier(4)

    def drain(number: int) -> list[str]:
        found: list[str] = []
        with Store.open(url) as own:
            start.wait(30)
            while claims := Requests(own).claim(f"owner {number}", 3, 30.0):
                own.save_all([entry(claim) for claim in claims], also=Requests(own).settle(f"owner {number}", claims))
                found += [claim.public_id for claim in claims]
        return found

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(drain, range(4)))
    assert sum(map(len, shares)) == len({each for share in shares for each in share}) == 60
    assert store.count() == 60 and requests.depth() == {"queued": 0, "claimed": 0}


@pytest.mark.slow
def test_accepting_does_not_wait_for_who_stores_results(postgresql_url: str) -> None:
    # SQLite has one writer at a time.
    with Store.open(postgresql_url) as store, Store.open(postgresql_url) as other, other.change():
        assert isinstance(accept(Requests(store), offer())[0], Accepted)
        assert len(Requests(store).claim("one", 1, 30.0)) == 1


@BOTH
def test_rows_that_contradict_themselves_are_refused(store: Store, requests: Requests) -> None:
    accept(requests, offer())
    now = datetime.now(UTC)
    wrong: list[dict[str, object]] = [
        {"state": "wonderful"},
        {"state": "claimed"},
        {"owner": "somebody"},
        {"state": "done", "body": None, "due_at": None, "finished_at": now},
        {"body": None},
        {"due_at": None},
        {"finished_at": now},
        {"attempts": -1},
    ]
    for values in wrong:
        with pytest.raises(StoreError) as error, store.change() as connection:
            connection.execute(update(RequestRow).values(**values))
        assert isinstance(error.value.__cause__, IntegrityError), values


def test_two_requests_can_not_have_one_result(store: Store, requests: Requests) -> None:
    accept(requests, offer(), offer())
    one, two = requests.claim("one", 2, 30.0)
    number = store.save_all([entry(one)], also=requests.settle("one", [one]))[0]
    with pytest.raises(StoreError), store.change() as connection:
        requests.settle("one", [two])(connection, [number])
    with store.read() as connection:
        assert connection.execute(select(func.count()).where(RequestRow.state == "done")).scalar_one() == 1
