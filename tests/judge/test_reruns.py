"""The loop of reruns, and which of two results counts: with scripted steps, without a worker or a device."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.judge import attempts
from evaluator.judge.again import Again, Reason
from evaluator.judge.attempts import (
    RERUNS,
    Attempts,
    First,
    Found,
    Step,
    lesser_timings_count,
    second_counts_if_right,
    second_timing_counts,
)
from evaluator.judge.session import Attempt
from evaluator.judge.workers.client import WorkerError
from evaluator.results.evidence import ConditionsEvidence, Evidence, TimingEvidence, TimingSide
from evaluator.worker.protocol import ProtocolError

LOAD, ROUNDS, TIMING, CHECKS = Step
SIDE = TimingSide(median_ms=1.0, lower_quartile_ms=1.0, upper_quartile_ms=1.0, samples_ms=(1.0,) * 30)


class Scripted:
    """The parts of a session that the loop uses. Its own workers and evidence are plain objects."""

    def __init__(self, *, disturbed: bool = False, accused: bool = False, broke_out: bool = False) -> None:
        self.attempt, self.is_disturbed, self.is_accused = Attempt(), disturbed, accused
        self.evidence_builder = SimpleNamespace(evidence=Evidence(), rounds=["first"], note=self._note)
        self.ended: list[str] = []
        newest = SimpleNamespace(broke_out=broke_out, protocol_error="", end=partial(self.ended.append, "newest"))
        self.worker_set: Any = SimpleNamespace(
            newest=newest,
            candidate="first",
            lock=SimpleNamespace(acquire_exclusive=lambda: None),
            end_all=partial(self.ended.append, "all"),
        )
        self.task = SimpleNamespace(times=SimpleNamespace(spending=lambda _: nullcontext()))

    def _note(self, **observed: Any) -> None:
        self.evidence_builder.evidence = self.evidence_builder.evidence.model_copy(update=observed)

    def use(self, attempt: Attempt) -> None:
        self.attempt = attempt


Script = dict[Step, list[Found]]
ERROR = ValueError("no")
AGAIN = {reason: Again(reason, reason.name.lower()) for reason in Reason}
OVERFLOW, UNEVEN, CROWDED, NOT_SLOW, OWN, UNFIT, KEPT = (
    AGAIN[reason]
    for reason in (
        *(Reason.OVERFLOW, Reason.UNEVEN, Reason.CROWDED, Reason.NOT_SLOW),
        *(Reason.OWN_PARAMETERS, Reason.UNFIT_PROTOCOL, Reason.KEPT_MODELS),
    )
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script, Scripted], tuple[str, Found]]:
    """Run the loop over steps whose results a script gives, each passed when it has no more; the steps that were taken, and the end."""
    monkeypatch.setattr(Attempts, "prepare", lambda *_: None)
    monkeypatch.setattr(attempts, "missed_beside_others", lambda *_: "")

    def run(script: Script, session: Scripted) -> tuple[str, Found]:
        taken, left = [], {step: iter(found) for step, found in script.items()}

        def take(step: Step) -> bool:
            taken.append(step.name[0])
            found = next(left.get(step, iter(())), True)
            if isinstance(found, Exception):
                raise found
            return found

        try:
            Attempts(session, {step: partial(take, step) for step in Step}).run()  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - the end is compared
            return "".join(taken), error
        return "".join(taken), True

    return run


@pytest.mark.parametrize(
    ("script", "taken", "end", "attempt"),
    [
        ({}, "LRTC", True, Attempt()),
        ({LOAD: [ERROR]}, "L", ERROR, Attempt()),
        ({ROUNDS: [False]}, "LR", True, Attempt()),
        ({TIMING: [False]}, "LRT", True, Attempt()),
        ({TIMING: [ERROR]}, "LRT", ERROR, Attempt()),
        ({CHECKS: [ERROR]}, "LRTC", ERROR, Attempt()),
        ({TIMING: [OVERFLOW]}, "LRTTC", True, Attempt(outliers=False, is_second=True)),
        ({TIMING: [OVERFLOW, False]}, "LRTT", True, Attempt(outliers=False, is_second=True)),
        ({TIMING: [OVERFLOW, ERROR]}, "LRTT", ERROR, Attempt(outliers=False, is_second=True)),
        ({TIMING: [OVERFLOW, OVERFLOW]}, "LRTT", OVERFLOW, Attempt(outliers=False, is_second=True)),
        ({TIMING: [OVERFLOW, UNEVEN]}, "LRTTTC", True, Attempt(outliers=False, launch_lead=False, is_second=True)),
        ({TIMING: [KEPT, OVERFLOW, KEPT]}, "LRTTT", KEPT, Attempt(outliers=False, keeps_models=False, is_second=True)),
        ({TIMING: [UNFIT]}, "LRTTC", True, Attempt(fallback="unfit_protocol", is_second=True)),
        ({TIMING: [NOT_SLOW]}, "LRTRTC", True, Attempt(hurries=False)),
        ({TIMING: [NOT_SLOW, UNEVEN]}, "LRTRTTC", True, Attempt(hurries=False, launch_lead=False, is_second=True)),
        ({TIMING: [NOT_SLOW], ROUNDS: [True, False]}, "LRTR", True, Attempt(hurries=False)),
        ({ROUNDS: [OWN]}, "LRRTC", True, Attempt(source="drawn")),
        ({ROUNDS: [OWN, False]}, "LRR", True, Attempt()),
        ({LOAD: [CROWDED]}, "LLRTC", True, Attempt(alone=True)),
        ({TIMING: [CROWDED]}, "LRTLRTC", True, Attempt(alone=True)),
        ({TIMING: [CROWDED, CROWDED]}, "LRTLRT", CROWDED, Attempt(alone=True)),
        # Alone, it is judged anew: what was changed before is not, and may be asked for again.
        ({TIMING: [OVERFLOW, CROWDED]}, "LRTTLRTC", True, Attempt(alone=True)),
        ({TIMING: [OVERFLOW, CROWDED, OVERFLOW]}, "LRTTLRTTC", True, Attempt(alone=True, outliers=False, is_second=True)),
        ({ROUNDS: [OWN, CROWDED]}, "LRRLRTC", True, Attempt(alone=True)),
    ],
)
def test_a_rerun_goes_back_to_its_step_once(
    run: Callable[[Script, Scripted], tuple[str, Found]], script: Script, taken: str, end: Found, attempt: Attempt
) -> None:
    session = Scripted()
    assert run(script, session) == (taken, end)
    assert session.attempt == attempt


def test_what_ran_out_beside_others_is_a_reason(
    run: Callable[[Script, Scripted], tuple[str, Found]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "missed_beside_others", lambda _, error: "out of memory" if error is ERROR else "")
    assert run({ROUNDS: [ERROR]}, Scripted()) == ("LRLRTC", True)
    assert run({ROUNDS: [ERROR, ERROR]}, Scripted()) == ("LRLR", ERROR)


def test_every_reason_has_a_rerun_that_changes_what_it_says() -> None:
    assert set(RERUNS) == set(Reason)
    fields = set(Attempt.__dataclass_fields__)
    assert all(set(rerun.change) <= fields and rerun.change for rerun in RERUNS.values())


@pytest.mark.parametrize(
    ("found", "broke_out", "counts"),
    [
        (True, False, "second"),
        (False, False, "first"),
        (WorkerError("it died"), False, "first"),
        (ProtocolError("nonsense"), False, "first"),
        (WorkerError("it traced another process"), True, "second"),
        (ERROR, False, "second"),
    ],
)
def test_its_own_parameters_count_if_the_answers_are_right_with_them(
    monkeypatch: pytest.MonkeyPatch, found: Found, broke_out: bool, counts: str
) -> None:
    monkeypatch.setattr(attempts, "missed_beside_others", lambda *_: "")
    session = Scripted(broke_out=broke_out)
    first = First(Attempt(), Evidence(), ["first"], "first")  # type: ignore[arg-type, list-item]
    session.attempt, session.evidence_builder.rounds, session.worker_set.candidate = Attempt(source="drawn"), ["second"], "second"
    assert second_counts_if_right(session, first, found) is (found if counts == "second" else False)  # type: ignore[arg-type]
    assert (session.worker_set.candidate, session.evidence_builder.rounds) == (counts, [counts])
    assert session.attempt.source == ("drawn" if counts == "second" else "copied")
    assert session.ended == ([] if counts == "second" else ["newest"])


def test_what_ran_out_beside_others_with_its_own_parameters_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "missed_beside_others", lambda *_: "timeout")
    session, error = Scripted(), WorkerError("it was late")
    assert second_counts_if_right(session, First(Attempt(), Evidence(), [], None), error) is error  # type: ignore[arg-type]
    assert session.ended == []


def timing(runtime_ms: float, late_ms: float) -> TimingEvidence:
    side = SIDE.model_copy(update={"median_ms": runtime_ms})
    return TimingEvidence(clock="cuda_event", calls=30, gated=True, candidate=side, baseline=SIDE, protocol="cold", unclaimed_ms=late_ms)


CALM, HOT = ConditionsEvidence(), ConditionsEvidence(throttled="hw_thermal_slowdown")


def settled(rule: Any, found: Found, first_ms: float, second_ms: float, session: Scripted) -> bool:
    """Let the rule decide between two timings, which add so much to the claims."""
    evidence = Evidence(timing=timing(1.0, first_ms), conditions=HOT)
    session.evidence_builder.evidence = evidence.model_copy(update={"timing": timing(2.0, second_ms), "conditions": CALM})
    passed: bool = rule(session, First(Attempt(), evidence, [], None), found)
    return passed


@pytest.mark.parametrize(("second_ms", "counts"), [(0.0, 2.0), (40.0, 2.0), (50.0, 1.0), (70.0, 1.0)])
def test_of_two_contested_timings_the_one_with_less_against_it_counts(second_ms: float, counts: float) -> None:
    first, second = timing(1.0, 50.0), timing(2.0, second_ms)
    counted, other = second.or_lesser(first), first if counts == 2.0 else second
    assert counted.candidate.median_ms == counts
    assert counted.contested is not None and counted.contested.late_ms == other.late_ms
    assert second.or_lesser(None) is second


@pytest.mark.parametrize("disturbed", [False, True])
def test_after_a_disturbed_timing_the_second_counts_disturbed_or_not(disturbed: bool) -> None:
    session = Scripted(disturbed=disturbed)
    assert settled(second_timing_counts, True, 0.0, 50.0, session)
    evidence = session.evidence_builder.evidence
    assert evidence.timing.candidate.median_ms == 2.0
    assert (evidence.conditions.repeated, evidence.conditions.first_runtime_ms) == (True, timing(1.0, 0.0).runtime_ms)


@pytest.mark.parametrize("rule", [second_timing_counts, lesser_timings_count])
@pytest.mark.parametrize(
    ("found", "broke_out", "passed", "runtime_ms"),
    [
        (False, False, False, None),  # wrong in the second timing is as wrong
        (RuntimeError("CUDA error"), False, True, 1.0),
        (WorkerError("it died"), False, True, 1.0),
        (ProtocolError("nonsense"), True, False, None),
        (WorkerError("it traced another process"), True, False, None),
    ],
)
def test_a_second_timing_that_fails_leaves_the_first_unless_it_is_wrong_or_breaks_out(
    rule: Any, found: Found, broke_out: bool, passed: bool, runtime_ms: float | None
) -> None:
    session = Scripted(broke_out=broke_out)
    assert settled(rule, found, 50.0, 0.0, session) is passed
    evidence, worker_set = session.evidence_builder.evidence, session.worker_set
    assert (evidence.timing and evidence.timing.candidate.median_ms) == runtime_ms
    assert not passed or evidence.conditions == HOT
    assert worker_set.candidate is (worker_set.newest if broke_out else "first")
    assert worker_set.newest.protocol_error == ("nonsense" if isinstance(found, ProtocolError) else "")
    assert session.ended == ["all"]


@pytest.mark.parametrize(("told", "runtime_ms"), [({}, 2.0), ({"accused": True}, 1.0), ({"disturbed": True}, 1.0)])
def test_a_second_timing_that_disqualifies_or_is_disturbed_leaves_the_first(told: dict[str, bool], runtime_ms: float) -> None:
    session = Scripted(**told)
    assert settled(lesser_timings_count, True, 50.0, 0.0, session)
    evidence = session.evidence_builder.evidence
    conditions = HOT if told else CALM
    assert (evidence.timing.candidate.median_ms, evidence.conditions, session.ended) == (runtime_ms, conditions, ["all"])
