"""The warm parents, started before it is known whether they will be needed."""

import contextlib
import os
from pathlib import Path

import psutil
import pytest

from evaluator.engine.fork_server import CONTEXT
from evaluator.engine.local import LocalEngine
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import (
    WARM_ENVIRONMENT,
    WARM_UP_MODULE,
    EarlyStart,
    launch_zygote,
    recorder_for,
    start_judges_parent,
)
from evaluator.sandbox import Level, Zygote
from tests.judge.conftest import own_cpu


def zygotes() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # an earlier test's has ended meanwhile
            if "evaluator.sandbox.zygote" in " ".join(child.cmdline()):
                found.append(child)
    return found


def test_what_is_started_early_and_not_needed_ends_with_its_block() -> None:
    before = zygotes()
    with EarlyStart("cpu", Level.NONE):
        pass
    assert set(zygotes()) <= set(before)


@pytest.mark.slow(10)
def test_what_was_taken_outlives_the_block_and_is_given_once() -> None:
    with EarlyStart("cpu", Level.NONE) as early:
        zygote = early.take()
        assert early.take() is None
    assert zygote is not None
    with zygote:
        zygote.await_ready()
        assert zygote.alive and zygote.threads == 1 and zygote.level is Level.NONE


def test_a_device_that_is_not_there_is_left_to_whoever_asks_for_it() -> None:
    with EarlyStart("cuda:99", None) as early:
        assert early.take() is None


@pytest.mark.slow(10)
@pytest.mark.parametrize("level", [None, Level.NONE])
def test_an_engine_uses_what_was_started_early(tmp_path: Path, level: Level | None) -> None:
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=tmp_path, level=level)
    before = zygotes()  # other tests' too
    with EarlyStart("cpu", level) as early, LocalEngine(options, early) as engine:
        engine.start()
        (early_one,) = (zygote for zygote in zygotes() if zygote not in before)
        assert engine.pool.zygote is not None and engine.pool.zygote.pid == early_one.pid
        early_one.kill()  # the next one is the engine's own
        early_one.wait(300)
        assert engine.sandbox_level == (level or engine.sandbox_level)
        assert engine.pool.zygote.pid != early_one.pid


def test_the_judges_parent_has_variables_that_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    start_judges_parent()
    assert os.environ["OMP_NUM_THREADS"] == "7" and "GOMP_SPINCOUNT" not in os.environ
    assert WARM_ENVIRONMENT["OMP_NUM_THREADS"] == "1"


@pytest.mark.slow(10)
def test_launches_are_recorded_on_a_gpu_only(tmp_path: Path) -> None:
    assert recorder_for("cpu", tmp_path) is None
    recorder = recorder_for("cuda", tmp_path)
    assert recorder is not None and Path(recorder).is_relative_to(tmp_path)


def test_vector_functions_are_chosen_before_a_worker_or_a_judge_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(Zygote, "launch", lambda modules, *_: imported.extend(modules))
    launch_zygote(Level.NONE, None)
    assert WARM_UP_MODULE in imported
    start_judges_parent()
    with CONTEXT.Pool(1) as pool:
        assert pool.apply(eval, (f"{WARM_UP_MODULE!r} in __import__('sys').modules",))
