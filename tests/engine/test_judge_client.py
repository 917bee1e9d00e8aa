"""The engine's end of a judge process, where that ends in the middle."""

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from evaluator.engine.judge_client import JudgeClient, JudgeLostError
from evaluator.engine.options import EngineOptions
from evaluator.job import Job, result_of
from evaluator.results.category import Category
from evaluator.results.result import Result
from evaluator.sandbox import Level, Zygote
from tests.judge.conftest import make_job, own_cpu


def settles_and_ends(pipe: Connection, _options: EngineOptions, _zygote: Zygote) -> None:
    """A judge that has its verdict, and is lost over the profile."""
    pipe.send(("ready", ""))
    job: Job = pipe.recv()
    pipe.send(("stage", "timing"))
    result = result_of(job, Category.OK, "right", device="cpu", runtime_ms=1.0, baseline_ms=1.0, speedup=1.0)
    pipe.send(("settled", result.model_dump_json()))
    pipe.send(("stage", "profile"))
    os._exit(1)


def settles_and_goes_on(pipe: Connection, _options: EngineOptions, _zygote: Zygote) -> None:
    """A judge that has its verdict, and whose profile takes long."""
    pipe.send(("ready", ""))
    job: Job = pipe.recv()
    result = result_of(job, Category.OK, "right", device="cpu", runtime_ms=1.0, baseline_ms=1.0, speedup=1.0)
    pipe.send(("settled", result.model_dump_json()))
    pipe.send(("stage", "profile"))
    time.sleep(600)


def ends(pipe: Connection, _options: EngineOptions, _zygote: Zygote) -> None:
    pipe.send(("ready", ""))
    pipe.recv()
    os._exit(1)


@pytest.fixture
def options(tmp_path: Path) -> EngineOptions:
    return EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=tmp_path)


def test_a_verdict_counts_though_its_profile_never_ends(options: EngineOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.engine.judge_client._serve", settles_and_ends)
    with Zygote.start(modules=(), level=Level.NONE) as zygote:
        client = JudgeClient(options, zygote)
        client.await_ready()
        stages: list[str] = []
        settled: list[Result] = []
        result = client.judge(make_job(""), lambda _, stage: stages.append(stage), None, settled.append)
        client.close()
    assert (result.category, result.message, stages) == (Category.OK, "right", ["timing", "profile"])
    assert settled == [result]


def test_a_judge_that_is_lost_before_its_verdict_has_none(options: EngineOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.engine.judge_client._serve", ends)
    with Zygote.start(modules=(), level=Level.NONE) as zygote:
        client = JudgeClient(options, zygote)
        client.await_ready()
        with pytest.raises(JudgeLostError, match="exit code 1"):
            client.judge(make_job(""), lambda _job, _stage: None, None)
        client.close()
