"""The clients' operations as flows: submit, wait, retry, query."""

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay_client.errors import (
    BusyError,
    InvalidRequestError,
    NotFinishedError,
    NotFoundError,
    RefusedError,
    UnexpectedAnswerError,
    refusal,
)
from assay_client.flow import Call, Flow, Patience, Pause, exchange
from assay_client.models import Evaluation, Problem, Submission

log = logging.getLogger(__name__)

MAX_ITEMS = 1000
"""The service's limit for a batch and for a poll."""
MAX_LISTED = 100
"""The service's limit for a list."""
MAX_BATCH_BYTES = 24 << 20
POLL_S = 30.0
GATHER_S, IDLE_S = 0.2, 1.0
"""Pauses between two polls: after one with news, and after one that may have returned early without any."""
MAX_SUFFIX = 200
HOPELESS = ("no_device", "no_toolchain", "problem_error")
"""Not retried: what the machine or the problem lacks now, it also lacks a moment later."""


@dataclass(frozen=True)
class Settings:
    """The clients' settings."""

    patience: Patience = field(default_factory=Patience)
    again: int = 2
    """How often to submit again, with another key, a submission without a verdict."""
    within_s: float | None = None
    """Maximum seconds to wait for verdicts; None waits without limit."""
    namespace: str = ""
    """Part of every derived key: submissions judged under another namespace are judged again."""


@dataclass(frozen=True)
class _Accepted:
    evaluation: Evaluation
    stale: bool
    """Whether it had ended before it was submitted here."""
    refusal: RefusedError | None = None
    """The error for an item that the service refused."""


@dataclass
class _Turn:
    """The next key of a submission."""

    suffix: int = 0
    fresh: int = 0
    """Number of evaluations made for this call."""

    def key(self, base: str) -> str:
        return f"{base}.again{self.suffix}" if self.suffix else base


def settle(submissions: Sequence[Submission], settings: Settings) -> Flow[list[Evaluation]]:
    """Submit all, and wait for their evaluations; in the given order. Equal submissions are submitted once for each origin. Evaluations
    without a verdict are retried as `settings` says, and returned if they still have none. Raises NotFinishedError; ServiceError, also if
    the service refuses all."""
    firsts: dict[str, Submission] = {}
    items: dict[tuple[str, str], Submission] = {}
    given = [(submission.key_in(settings.namespace), json.dumps(submission.origin, sort_keys=True)) for submission in submissions]
    for (key, origin), submission in zip(given, submissions, strict=True):
        first = firsts.setdefault(key, submission)
        if first is not submission and first.content != submission.content:
            raise ValueError(f"two different submissions have the key {key!r}")
        items.setdefault((key, origin), submission)
    deadline = None if settings.within_s is None else time.monotonic() + settings.within_s
    ended: dict[tuple[str, str], Evaluation] = {}
    turns = {item: _Turn() for item in items}
    rounds = 0
    while due := [item for item in items if item not in ended]:
        accepted = yield from _hand_in([(turns[item].key(item[0]), items[item]) for item in due], settings)
        found = yield from _wait([each.evaluation for each in accepted if not each.evaluation.ended], settings, deadline)
        for item, each in zip(due, accepted, strict=True):
            evaluation = found.get(each.evaluation.id, each.evaluation)
            if _is_final(evaluation, each.stale, turns[item], settings):
                ended[item] = evaluation
        if len(ended) < len(items) and not all(each.stale for each in accepted):
            yield Pause(settings.patience.pause_s(None, rounds))
            rounds += 1
    return [ended[item] for item in given]


def _is_final(evaluation: Evaluation, stale: bool, turn: _Turn, settings: Settings) -> bool:
    """Whether the evaluation is final; if not, `turn` has moved on. An earlier failure with the same key is not counted:
    the machine may have been fixed since."""
    turn.fresh += not stale
    if evaluation.judged or turn.suffix >= MAX_SUFFIX:
        return True
    hopeless = evaluation.result is None or evaluation.result.category in HOPELESS
    if not stale and (hopeless or turn.fresh > settings.again):
        return True
    if not stale and evaluation.result is not None:
        log.warning("evaluation %s has no verdict (%s); submitting it again", evaluation.id, evaluation.result.message)
    turn.suffix += 1
    return False


def _hand_in(items: Sequence[tuple[str, Submission]], settings: Settings) -> Flow[list[_Accepted]]:
    """Submit by one call each, or in as few batches as possible. A refused one has ended. Raises ServiceError, also if all are refused."""
    if len(items) == 1:
        key, submission = items[0]
        told = yield from exchange(
            Call("POST", "/v1/evaluations", submission.to_json(), headers={"Idempotency-Key": key}), settings.patience
        )
        return [_accepted(told)]
    bodies = [submission.to_json() | {"idempotency_key": key} for key, submission in items]
    accepted: list[_Accepted] = []
    most, narrowed = MAX_ITEMS, 0
    while len(accepted) < len(bodies):
        part = _fitting(bodies[len(accepted) :], most)
        at_once = ("queue_full", "too_large") if len(part) > 1 else ()
        try:
            told = yield from exchange(Call("POST", "/v1/evaluations:batch", {"items": part}), settings.patience, at_once)
        except (BusyError, InvalidRequestError) as error:
            if error.code not in at_once:
                raise
            # A queue or body limit may be too small for so many: with fewer, some are accepted.
            most, narrowed = len(part) // 2, narrowed + 1
            if isinstance(error, BusyError):
                yield Pause(settings.patience.pause_s(None, narrowed))
            continue
        if len(told.get("items", ())) != len(part):
            raise UnexpectedAnswerError(f"a batch of {len(part)} has a reply with another number of items")
        first = len(accepted)
        accepted += [_taken(item, number, items[number][1]) for number, item in enumerate(told["items"], first)]
        most = min(MAX_ITEMS, 2 * most)
    if accepted[0].refusal is not None and all(each.refusal is not None for each in accepted):
        raise accepted[0].refusal
    return accepted


def _fitting(bodies: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """The first ones that fit into one batch, at least one."""
    part: list[Mapping[str, Any]] = []
    size = 0
    for body in bodies[:most]:
        size += len(json.dumps(body))
        if part and size > MAX_BATCH_BYTES:
            break
        part.append(body)
    return part


def _taken(item: Mapping[str, Any], number: int, submission: Submission) -> _Accepted:
    """The evaluation of an item, which has ended if the item is refused."""
    error = item.get("error")
    if not error:
        return _accepted(item.get("evaluation") or {})
    refused = refusal(item["status"], error["code"], error["message"], error.get("details", ()), place=f"submission {number}")
    named = (submission.problem or "", submission.sample_id)
    evaluation = Evaluation("", "refused", *named, attempts=0, stage=None, result=None, name=submission.name, refusal=str(refused))
    return _Accepted(evaluation, False, refused)


def _accepted(told: Mapping[str, Any]) -> _Accepted:
    evaluation = _evaluation(told)
    return _Accepted(evaluation, evaluation.ended)


def _evaluation(told: Mapping[str, Any]) -> Evaluation:
    try:
        return Evaluation.of(told)
    except (KeyError, TypeError) as error:
        raise UnexpectedAnswerError(f"an evaluation lacks a field: {error!r}") from error


def _wait(accepted: Iterable[Evaluation], settings: Settings, deadline: float | None) -> Flow[dict[str, Evaluation]]:
    """Wait until all have ended; by id. Raises ServiceError, NotFinishedError."""
    found = {evaluation.id: evaluation for evaluation in accepted}
    while open_ids := [each.id for each in found.values() if not each.ended]:
        left_s = POLL_S if deadline is None else deadline - time.monotonic()
        if left_s <= 0:
            raise NotFinishedError(open_ids, settings.within_s or 0.0)
        wait_s = min(POLL_S, left_s)
        body = {"ids": open_ids[:MAX_ITEMS], "wait": wait_s}
        told = yield from exchange(Call("POST", "/v1/evaluations:poll", body, wait_s=wait_s), settings.patience)
        ended = [_evaluation(each) for each in told.get("ended", ())]
        found |= {evaluation.id: evaluation for evaluation in ended}
        if told.get("unknown"):
            raise NotFoundError(404, "not_found", f"The service no longer knows evaluation {told['unknown'][0]}.")
        if len(ended) < len(open_ids):
            pause_s = GATHER_S if ended else IDLE_S
            yield Pause(pause_s if deadline is None else max(0.0, min(pause_s, deadline - time.monotonic())))
    return found


def submit(submission: Submission, settings: Settings) -> Flow[Evaluation]:
    """Submit one, without waiting. Raises ServiceError."""
    accepted = yield from _hand_in([(submission.key_in(settings.namespace), submission)], settings)
    return accepted[0].evaluation


def get(public_id: str, wait_s: float, settings: Settings) -> Flow[Evaluation]:
    """Get one; wait up to wait_s (60 at most) for its end. Raises ServiceError."""
    call = Call("GET", f"/v1/evaluations/{public_id}", query={"wait": f"{wait_s:g}"}, wait_s=wait_s)
    return _evaluation((yield from exchange(call, settings.patience)))


def cancel(public_id: str, settings: Settings) -> Flow[Evaluation]:
    """Cancel one. Raises ServiceError; ConflictError if it is done."""
    return _evaluation((yield from exchange(Call("DELETE", f"/v1/evaluations/{public_id}"), settings.patience)))


def evaluations(state: str | None, problem: str | None, limit: int, settings: Settings) -> Flow[list[Evaluation]]:
    """At most `limit` of your evaluations, newest first. Raises ServiceError."""
    query = {name: value for name, value in (("state", state), ("problem", problem)) if value is not None}
    found: list[Evaluation] = []
    while len(found) < limit:
        query["limit"] = str(min(MAX_LISTED, limit - len(found)))
        told = yield from exchange(Call("GET", "/v1/evaluations", query=query), settings.patience)
        found += [_evaluation(each) for each in told.get("evaluations", ())]
        if told.get("next") is None:
            break
        query = query | {"before": told["next"]}
    return found


def problems(settings: Settings) -> Flow[list[Problem]]:
    """Raises ServiceError."""
    told = yield from exchange(Call("GET", "/v1/problems"), settings.patience)
    return [Problem.of(each) for each in told.get("problems", ())]


def leaderboard(filters: Mapping[str, str], settings: Settings) -> Flow[list[Mapping[str, Any]]]:
    """The leaderboard's rows that pass the filters. Raises ServiceError."""
    told = yield from exchange(Call("GET", "/v1/leaderboard", query=filters), settings.patience)
    return list(told.get("rows", ()))
