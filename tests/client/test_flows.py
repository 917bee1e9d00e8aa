"""The clients' calls: what is tried again, and how long; then against the service's application, where the tests take the judge's part."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from assay_client import (
    BusyError,
    Evaluation,
    ForbiddenError,
    InvalidRequestError,
    NotFinishedError,
    Options,
    Patience,
    QuotaExceededError,
    ServiceError,
    Settings,
    Submission,
    UnauthorizedError,
    UnexpectedAnswerError,
    UnknownProblemError,
    UnreachableError,
    flows,
)
from assay_client.errors import ConflictError
from assay_client.flow import Answer, Call, Flow, Lost, Pause, exchange

from db.storage.origin import Origin
from evaluator.results.category import Category
from tests.client.conftest import evaluation
from tests.web.service.conftest import GOOD, Desk
from web.service.http.state import Bounds
from web.service.tokens import Scope

pytestmark = pytest.mark.slow(5)

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


def test_pauses_grow_unless_it_is_told_when_to_come_back() -> None:
    assert pauses(FINE) == []
    for trouble in (Lost("refused"), Answer(502, None), Answer(504, None), refused(500, "internal")):
        first, second, third = pauses(trouble, trouble, trouble, FINE)
        assert 0.5 <= first <= 1 <= second <= 2 <= third <= 4
    for status, code in ((429, "rate_limited"), (429, "queue_full"), (503, "unavailable"), (503, "shutting_down")):
        (waited,) = pauses(refused(status, code, "7"), FINE)
        assert 7 <= waited <= 7.5
    assert len({Patience().pause_s(5.0, 3) for _ in range(20)}) > 1, "clients that wait for the same do not come back together"


def test_patience_ends() -> None:
    assert isinstance(failing(*[Lost("refused")] * 9), UnreachableError)
    assert isinstance(failing(*[refused(503, "unavailable", "4")] * 3), BusyError)
    error: ServiceError = failing(refused(429, "quota_exceeded", "40000"))
    assert isinstance(error, QuotaExceededError) and error.retry_after_s == 40000, "what lasts longer than it is told at once"
    assert "429 quota_exceeded: No." in str(error) and str(error).endswith("No.\n  items.0: too long")
    error = failing(Lost("refused", final=True))
    assert isinstance(error, UnreachableError) and not error.passing


def test_what_will_not_pass_is_not_tried_again() -> None:
    for answer, kind in (
        (refused(401, "unauthorized"), UnauthorizedError),
        (refused(403, "forbidden"), ForbiddenError),
        (refused(422, "unknown_problem"), UnknownProblemError),
        (refused(422, "bad_option"), InvalidRequestError),
        (Answer(404, None), ServiceError),
        (Answer(301, None), UnexpectedAnswerError),
        (Answer(200, None), UnexpectedAnswerError),
        (Answer(200, []), UnexpectedAnswerError),
    ):
        error = failing(answer)
        assert isinstance(error, kind) and str(error).startswith("GET /v1/problems: ")


T = TypeVar("T")

QUEUED = 8

SETTINGS = Settings(Patience(total_s=5.0))


@pytest.fixture
def bounds() -> Bounds:
    return Bounds(body_bytes=1 << 20, queued=QUEUED)


class Line:
    """Carries a flow's calls to the desk, and keeps them. Judges at each poll, as these categories in their order and then as `ok`."""

    def __init__(self, desk: Desk, *verdicts: Category, token: str | None = None) -> None:
        self.desk, self.verdicts, self.token = desk, list(verdicts), token
        self.calls: list[Call] = []
        self.paused_s = 0.0
        self.lose: Callable[[Call], bool] = lambda _call: False
        """Whether the answer to this call gets lost on its way."""

    def run(self, flow: Flow[T]) -> T:
        reply: Answer | Lost | None = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            reply = None
            if isinstance(step, Pause):
                self.paused_s += step.seconds
                self.judge()
            else:
                reply = self._send(step)

    def settle(self, *submissions: Submission, settings: Settings = SETTINGS) -> list[Evaluation]:
        return self.run(flows.settle(submissions, settings))

    def judge(self) -> None:
        """All that wait."""
        while self.desk.requests.depth()["queued"]:
            self.desk.judge(self.verdicts.pop(0) if self.verdicts else Category.OK)

    def paths(self) -> list[str]:
        return [call.path.removeprefix("/v1/evaluations") for call in self.calls]

    def _send(self, call: Call) -> Answer | Lost:
        self.calls.append(call)
        if call.path.endswith(":poll"):
            self.judge()
        headers = self.desk.headers(self.token) | dict(call.headers)
        response = self.desk.client.request(call.method, call.path, json=call.body, params=dict(call.query), headers=headers)
        if self.lose(call):
            return Lost("the line broke")
        return Answer(response.status_code, response.json(), response.headers.get("retry-after"))


def answers(count: int) -> list[Submission]:
    return [Submission(source=f"{GOOD}# {number}\n", problem="softmax", sample_id=number) for number in range(count)]


def categories(evaluations: list[Evaluation]) -> list[str]:
    return [each.result.category if each.result else each.state for each in evaluations]


def test_one_is_handed_in_and_waited_for(desk: Desk) -> None:
    line = Line(desk, Category.WRONG_VALUES)
    (found,) = line.settle(Submission(response=f"```python\n{GOOD}```", problem="softmax"))
    assert line.paths() == ["", ":poll"] and found.ended and found.judged
    assert found.result is not None and found.result.message == "as observed" and found.result.record["case"] == "full"


def test_many_go_in_one_batch_and_come_back_in_order(desk: Desk) -> None:
    line = Line(desk, Category.WRONG_VALUES, Category.LINK_ERROR)
    found = line.settle(*answers(5))
    assert line.paths() == [":batch", ":poll"]
    assert line.settle() == [] and len(line.calls) == 2, "none at all are no call"
    assert [each.sample_id for each in found] == [0, 1, 2, 3, 4]
    assert categories(found) == ["wrong_values", "link_error", "ok", "ok", "ok"]


def test_the_same_twice_is_judged_once(desk: Desk) -> None:
    one, other = answers(2)
    found = Line(desk).settle(one, other, one)
    assert found[0] == found[2] != found[1]
    again = Line(desk)
    assert again.settle(one, other, one) == found
    assert again.paths() == [":batch"], "what is known has its result at once"


def test_a_namespace_has_it_judged_anew(desk: Desk) -> None:
    (one,) = answers(1)
    ids = {Line(desk).settle(one, settings=Settings(namespace=name))[0].id for name in ("", "run 2", "run 2")}
    assert len(ids) == 2


def test_an_answer_that_gets_lost_costs_no_second_evaluation(desk: Desk) -> None:
    line = Line(desk)
    lost: list[Call] = []
    line.lose = lambda call: len(lost) < 3 and not lost.append(call)  # type: ignore[func-returns-value]
    found = line.settle(*answers(3))
    assert len(lost) == 3 and line.paths() == [":batch"] * 4 and categories(found) == ["ok"] * 3
    assert line.paused_s > 0
    with desk.store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM requests").scalar_one() == 3


def test_what_has_no_verdict_is_judged_again(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    line = Line(desk, Category.OK, Category.INFRASTRUCTURE_ERROR, Category.OK, Category.INTERRUPTED)
    with caplog.at_level(logging.WARNING):
        found = line.settle(*answers(3))
    assert categories(found) == ["ok"] * 3 and line.verdicts == []
    assert caplog.text.count("has no verdict") == 2
    assert len({each.id for each in found}) == 3


def test_equal_ones_of_two_steps_share_the_evaluation_that_has_a_verdict(desk: Desk) -> None:
    asked = [Submission(source=GOOD, problem="softmax", step=step, prompt="p\ud800") for step in (1, 2, 1)]
    line = Line(desk, Category.INFRASTRUCTURE_ERROR)
    found = line.settle(*asked)
    assert found[0] == found[1] == found[2] and line.paths() == [":batch", ":poll", ":batch", ":poll"]
    assert line.settle(asked[0], Submission(source=GOOD, problem="softmax"))[1] == found[0], "nor is one without a step another one"
    assert [stored.origins for stored in desk.store.each()] == [(Origin(1, "p?"), Origin(2, "p?"))] * 2


def test_it_is_given_up_in_the_end_and_is_begun_anew_another_time(desk: Desk) -> None:
    (one,) = answers(1)
    line = Line(desk, *[Category.INFRASTRUCTURE_ERROR] * 3)
    assert categories(line.settle(one)) == ["infrastructure_error"] and line.verdicts == []
    lacking = Line(desk, Category.NO_DEVICE)
    assert categories(lacking.settle(*answers(2)[1:])) == ["no_device"] and lacking.paths() == ["", ":poll"], "what the machine lacks"
    later = Line(desk, Category.INFRASTRUCTURE_ERROR)
    assert categories(later.settle(one)) == ["ok"]
    assert [call.headers["Idempotency-Key"][-7:] for call in later.calls if call.path == "/v1/evaluations"][-2:] == [".again3", ".again4"]


def test_what_somebody_cancels_has_no_result(desk: Desk) -> None:
    (one,) = answers(1)
    line = Line(desk)
    accepted = line.run(flows.submit(one, SETTINGS))
    assert line.run(flows.cancel(accepted.id, SETTINGS)).state == "cancelled"
    assert categories(line.settle(one)) == ["ok"], "what was cancelled some other day does not count"
    with pytest.raises(ConflictError, match="already_done"):
        line.run(flows.cancel(line.settle(one)[0].id, SETTINGS))


def test_more_than_the_queue_holds_get_in_by_and_by(desk: Desk) -> None:
    line = Line(desk)
    found = line.settle(*answers(12), settings=Settings(Patience(total_s=600.0)))
    assert [each.sample_id for each in found] == list(range(12)) and set(categories(found)) == {"ok"}
    sizes = [len(call.body["items"]) for call in line.calls if call.path.endswith(":batch") and call.body is not None]
    assert sizes[:3] == [12, 6, 6], sizes


def test_more_than_a_body_holds_go_in_several(desk: Desk) -> None:
    long = [Submission(response=f"{number}" + "x" * 300_000, problem="softmax") for number in range(6)]
    line = Line(desk)
    assert len(line.settle(*long)) == 6
    assert [len(call.body["items"]) for call in line.calls if call.path.endswith(":batch") and call.body is not None] == [6, 3, 3]
    (found,) = line.settle(Submission(response="\ud83d nothing", problem="softmax"))
    assert found.judged, "half a surrogate pair is sent as a question mark"


def test_a_quota_that_is_used_up_and_a_scope_that_is_missing_are_told_at_once(desk: Desk, tokens: Callable[..., str]) -> None:
    line = Line(desk, token=tokens("bob", Scope.READ, Scope.SUBMIT, per_day=2))
    with pytest.raises(QuotaExceededError, match="quota of 2 submissions a day"):
        line.settle(*answers(3))
    assert line.paused_s == 0
    with pytest.raises(ForbiddenError, match="scope submit"):
        Line(desk, token=tokens("eve", Scope.READ)).settle(*answers(2))


def test_a_refused_one_keeps_no_other_from_its_verdict(desk: Desk) -> None:
    refused = [Submission(source=GOOD, problem=name, sample_id=4) for name in ("sofmax", "sotfmax")]
    first, right, second = Line(desk).settle(refused[0], answers(1)[0], refused[1])
    assert categories([right]) == ["ok"]
    for one, number, name in ((first, 0, "sofmax"), (second, 2, "sotfmax")):
        assert (one.state, one.problem, one.sample_id, one.judged, one.ended) == ("refused", name, 4, False, True)
        assert one.why_not_judged.startswith(f"submission {number}: 422 unknown_problem: ") and name in one.why_not_judged


def test_if_all_are_refused_that_is_an_error(desk: Desk) -> None:
    with pytest.raises(UnknownProblemError, match=r"submission 0: 422 unknown_problem: .*sofmax"):
        Line(desk).settle(*(Submission(source=GOOD, problem=name) for name in ("sofmax", "sotfmax")))
    with pytest.raises(InvalidRequestError, match="timeout_s"):
        Line(desk).settle(Submission(source=GOOD, problem="softmax", options=Options(timeout_s=-1.0)))


def test_waiting_ends_when_its_time_is_over_and_is_taken_up_again(desk: Desk) -> None:
    (one,) = answers(1)
    with pytest.raises(NotFinishedError, match="1 evaluations have not ended within 0 s") as caught:
        Line(desk).settle(one, settings=Settings(within_s=0.0))
    assert Line(desk).settle(one)[0].id == caught.value.ids[0]


def test_different_submissions_can_not_share_a_key() -> None:
    one, other = (Submission(source=source, problem="softmax", key="k") for source in ("a", "b"))
    with pytest.raises(ValueError, match="'k'"):
        next(flows.settle([one, other], SETTINGS))


def test_half_a_submission_is_none() -> None:
    wrong: list[dict[str, str]] = [{}, {"source": "a"}, {"problem": "p"}, {"source": "a", "response": "b", "problem": "p"}]
    for each in wrong + [{"source": "a", "problem": "p", "key": key} for key in ("", "a b", "ä", "k" * 191)]:
        with pytest.raises(ValueError, match=r"give|key"):
            Submission(**each)  # type: ignore[arg-type]


def test_a_key_follows_from_the_content_alone() -> None:
    one = Submission(source="a", problem="p")
    assert one.key_in("") == Submission(source="a", problem="p").key_in("") != one.key_in("other")
    assert one.key_in("") == Submission(source="a", problem="p", step=3, prompt="x", tags={"run": "a"}).key_in("")
    others = [Submission(response="a", problem="p"), Submission(source="a", problem="q"), Submission(source="a", problem="p", sample_id=1)]
    others += [Submission(source="a", reference="p"), Submission(source="a", problem="p", options=Options(timeout_s=1.0))]
    assert len({each.key_in("") for each in [one, *others]}) == 6


def test_what_is_not_an_evaluation_is_told_to_be_none() -> None:
    wrong: list[list[dict[str, Any]]] = [[], [{"status": 202}, {"status": 202, "evaluation": {"id": "a"}}]]
    for items in wrong:
        flow = flows.settle(answers(2), SETTINGS)
        next(flow)
        with pytest.raises(UnexpectedAnswerError):
            flow.send(Answer(202, {"items": items}))


def test_a_verdict_says_what_holds_beyond_it_where_the_service_knows() -> None:
    for fields, expected in (({}, ("untested", "untested")), ({"generalises": "no", "robust": "yes"}, ("no", "yes"))):
        result = evaluation(**fields).result
        assert result is not None and (result.generalises, result.robust) == expected
