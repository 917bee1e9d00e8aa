"""A single call: what is tried again, how long, and what its failures say."""

import pytest
from assay_client import (
    BusyError,
    ForbiddenError,
    InvalidRequestError,
    Patience,
    QuotaExceededError,
    ServiceError,
    UnauthorizedError,
    UnexpectedAnswerError,
    UnknownProblemError,
    UnreachableError,
)
from assay_client.flow import Answer, Call, Lost, Pause, exchange

CALL = Call("GET", "/v1/problems")
FINE = Answer(200, {"problems": []})
PATIENCE = Patience(total_s=10.0, first_s=1.0, longest_s=4.0)


def refused(status: int, code: str, retry_after: str | None = None) -> Answer:
    return Answer(status, {"error": {"code": code, "message": "No.", "details": ["items.0: too long"]}}, retry_after)


def pauses(*replies: Answer | Lost, patience: Patience = PATIENCE) -> list[float]:
    """Pauses in seconds after each reply; the last reply ends the call."""
    flow = exchange(CALL, patience)
    found: list[float] = []
    assert next(flow) == CALL
    for reply in replies:
        try:
            step = flow.send(reply)
        except StopIteration as end:
            assert end.value == FINE.body
            return found
        assert isinstance(step, Pause)
        found.append(step.seconds)
        assert next(flow) == CALL
    raise AssertionError("it wants more")


def failing(*replies: Answer | Lost) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        pauses(*replies)
    return caught.value


def test_a_good_answer_is_what_it_was_for() -> None:
    assert pauses(FINE) == []


@pytest.mark.parametrize("trouble", [Lost("refused"), Answer(502, None), Answer(504, None), refused(500, "internal")])
def test_without_a_word_on_when_pauses_grow(trouble: Answer | Lost) -> None:
    first, second, third = pauses(trouble, trouble, trouble, FINE)
    assert 0.5 <= first <= 1 <= second <= 2 <= third <= 4


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (429, "queue_full"), (503, "unavailable"), (503, "shutting_down")])
def test_a_retry_after_is_kept(status: int, code: str) -> None:
    (waited,) = pauses(refused(status, code, "7"), FINE)
    assert 7 <= waited <= 7.5


def test_what_lasts_longer_than_the_patience_is_told_at_once() -> None:
    error = failing(refused(429, "quota_exceeded", "40000"))
    assert isinstance(error, QuotaExceededError) and error.retry_after_s == 40000
    assert "429 quota_exceeded: No." in str(error)


def test_patience_ends() -> None:
    assert isinstance(failing(*[Lost("refused")] * 9), UnreachableError)
    assert isinstance(failing(*[refused(503, "unavailable", "4")] * 3), BusyError)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(401, "unauthorized"), UnauthorizedError),
        (refused(403, "forbidden"), ForbiddenError),
        (refused(422, "unknown_problem"), UnknownProblemError),
        (refused(422, "bad_option"), InvalidRequestError),
        (Answer(404, None), ServiceError),
        (Answer(301, None), UnexpectedAnswerError),
        (Answer(200, None), UnexpectedAnswerError),
        (Answer(200, []), UnexpectedAnswerError),
    ],
)
def test_what_will_not_pass_is_not_tried_again(answer: Answer, kind: type[ServiceError]) -> None:
    error = failing(answer)
    assert isinstance(error, kind) and str(error).startswith("GET /v1/problems: ")


def test_details_are_told() -> None:
    assert str(failing(refused(422, "invalid"))).endswith("No.\n  items.0: too long")


def test_clients_that_wait_for_the_same_do_not_come_back_together() -> None:
    assert len({Patience().pause_s(5.0, 3) for _ in range(20)}) > 1


def test_a_connection_that_was_refused_for_good_is_not_tried_again() -> None:
    error = failing(Lost("refused", final=True))
    assert isinstance(error, UnreachableError) and not error.passing
