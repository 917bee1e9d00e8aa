"""Whatever a worker sends, the judge gives a verdict on that worker only, and keeps working."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings

from evaluator.judge.context import JudgeContext
from evaluator.judge.workers import client
from evaluator.results.category import Category, Status
from evaluator.worker import protocol
from tests.fuzz.conversation import SUBMISSION, Conversations, Health, LightZygote, following_plans, plans, short_deadlines
from tests.fuzz.plan import REQUESTS, Mutation, Plan

pytestmark = pytest.mark.slow(35)

FRAMES = int(os.environ.get("ASSAY_FUZZ_FRAMES", "240"))
"""Hostile frames that light workers send nightly."""
COUNTS = (60, pytest.param(FRAMES, marks=pytest.mark.nightly))
CONFINED_COUNTS = (20, pytest.param(max(60, FRAMES // 25), marks=pytest.mark.nightly))
BATCH = 500
"""Conversations drawn at once: hypothesis stores its draws, which would look like a leak of the judge."""
PATIENT_S = 20.0
GROWTH_BYTES = 128 << 20
"""What the allocators may keep of a frame of 8 MiB, parsed, and of the rest."""
AFTER_LOADING = tuple(kind for kind in REQUESTS if kind != "ping")
DRAWN = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))


def hold_many(conversations: Conversations, kinds: tuple[str, ...], count: int) -> None:
    """Have drawn conversations until so many hostile frames are sent. The judge has to come through each."""
    frames, size = 0, min(count, BATCH)
    while frames < count:
        before = frames

        @settings(DRAWN, max_examples=size)
        @given(plans(kinds))
        def each(plan: Plan) -> None:
            nonlocal frames
            outcome = conversations.hold(plan)
            frames += len(outcome.applied)
            assert outcome.fault == "", (outcome.fault, outcome.plan.to_json())

        each()
        assert frames - before >= size // 2  # a late one shows nothing


def check_health(before: Health, after: Health) -> None:
    assert after.descriptors <= before.descriptors
    assert after.threads <= before.threads
    assert after.resident_bytes - before.resident_bytes < GROWTH_BYTES


@pytest.mark.parametrize("count", COUNTS)
def test_the_judge_comes_through_every_conversation_with_light_workers(context: JudgeContext, tmp_path: Path, count: int) -> None:
    with LightZygote() as light:
        conversations = Conversations(context, tmp_path, light)
        assert conversations.judge(SUBMISSION).status is Status.CORRECT
        before = Health.now()
        with short_deadlines():
            hold_many(conversations, REQUESTS, count)
        check_health(before, Health.now())
        assert conversations.judge(SUBMISSION).status is Status.CORRECT
    honest = Conversations(context, tmp_path).judge(SUBMISSION)
    assert honest.status is Status.CORRECT, honest.message


@pytest.mark.parametrize("count", CONFINED_COUNTS)
def test_the_judge_comes_through_every_conversation_with_confined_workers(context: JudgeContext, tmp_path: Path, count: int) -> None:
    conversations = Conversations(context, tmp_path)
    assert conversations.judge(SUBMISSION).status is Status.CORRECT
    before = Health.now()
    with short_deadlines(), following_plans():
        hold_many(conversations, AFTER_LOADING, count)
    check_health(before, Health.now())
    assert conversations.judge(SUBMISSION).status is Status.CORRECT


@pytest.fixture
def light(context: JudgeContext, tmp_path: Path) -> Iterator[Conversations]:
    with LightZygote() as zygote, short_deadlines(PATIENT_S):
        yield Conversations(context, tmp_path, zygote)


@pytest.mark.parametrize(
    ("mutation", "category", "words"),
    [
        (Mutation("oversized", 3), Category.FORGED_RESULT, "8388609 bytes"),
        (Mutation("oversized", 2), Category.NO_CUSTOM_KERNEL, ""),
        (Mutation("build"), Category.NO_CUSTOM_KERNEL, ""),
    ],
)
def test_a_frame_as_long_as_it_may_be_or_longer_and_a_build_and_their_verdicts(
    light: Conversations, mutation: Mutation, category: Category, words: str
) -> None:
    outcome = light.hold(Plan("call", 1, (mutation,)), PATIENT_S)
    assert outcome.result is not None
    assert (outcome.result.category, words in outcome.result.message, outcome.fault) == (category, True, ""), outcome.result.message
    assert [each.kind for each in outcome.applied] == ["call"]


def test_a_judge_that_takes_any_number_for_an_answer_would_be_found_out(light: Conversations) -> None:
    with mock.patch.object(client.WorkerClient, "_accept", lambda *asked: asked[-1]):
        outcome = light.hold(Plan("inputs", 0, (Mutation("wrong_seq", 0),)), PATIENT_S)
    assert outcome.fault.startswith("lies were judged correct")


def test_a_judge_that_stumbles_over_a_frame_would_be_found_out(light: Conversations) -> None:
    with mock.patch.object(protocol, "decode", json.loads):
        outcome = light.hold(Plan("inputs", 0, (Mutation("empty"),)), PATIENT_S)
    assert "infrastructure_error" in outcome.fault
