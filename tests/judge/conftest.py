"""A judge's context on the CPU, with a sandbox's fork server that also knows the tests' own workers."""

import hashlib
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.job import Job
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.machine.devices import Device, choose, cpu
from evaluator.problem.catalogue import SHIPPED
from evaluator.results.result import Result
from evaluator.sandbox import Zygote, best_level

Judge = Callable[..., Result]
"""(code, problem, context, timeout_s) → the result, after it went through JSON as it does on its way to the engine."""


def own_cpu() -> Device:
    """The CPU, with this process's own lock: these tests don't wait for other judges on the machine."""
    return replace(cpu(), unique_id=f"cpu-of-{os.getpid()}")


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=tmp_path_factory.mktemp("cache"))
    with Zygote.start(modules=(WORKER_MODULE, "tests.judge.hostile", "tests.judge.scripted_worker"), level=best_level()) as zygote:
        yield make_context(options, zygote)
    for lock in Path(tempfile.gettempdir()).glob(f"assay-{options.device.unique_id}*.lock"):
        lock.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def gpu_context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    """The first GPU, at the best sandbox level, with a fork server that also knows the worker on device memory."""
    device, _ = choose("cuda")
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=tmp_path_factory.mktemp("cache"))
    recorder = launch_recorder(options)
    assert recorder is not None
    modules, env = (WORKER_MODULE, "tests.judge.device_worker"), {**WARM_ENVIRONMENT, "LD_PRELOAD": recorder}
    with Zygote.start(modules=modules, level=best_level(), env=env) as zygote:
        yield make_context(options, zygote)


@pytest.fixture(scope="session")
def judge(context: JudgeContext) -> Judge:
    default = context

    def judge(
        code: str,
        problem: str = "softmax",
        context: JudgeContext | None = None,
        timeout_s: float = 30.0,
        problem_path: Path | None = None,
        case: str | None = None,
        **more: Any,
    ) -> Result:
        job = replace(make_job(textwrap.dedent(code), problem, timeout_s, problem_path), case=case, **more)
        result = evaluate(context or default, job, lambda _: None)
        back = Result.model_validate_json(result.model_dump_json())
        assert back.model_dump_json() == result.model_dump_json()
        return back

    return judge


def make_job(code: str, problem: str = "softmax", timeout_s: float = 30.0, problem_path: Path | None = None, name: str = "test.py") -> Job:
    return Job(
        submission=name,
        block=None,
        author=None,
        sample_id=None,
        code=code,
        source_sha256=hashlib.sha256(code.encode()).hexdigest(),
        problem=problem,
        problem_path=problem_path or SHIPPED / f"{problem}.py",
        case=None,
        timeout_s=timeout_s,
        note="",
    )
