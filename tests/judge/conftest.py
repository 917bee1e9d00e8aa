"""A judge's context on the CPU, with a sandbox's fork server that also knows the tests' own workers."""

import hashlib
import itertools
import os
import stat
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.job import Job
from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.judge.session import Session
from evaluator.judge.timing import effort
from evaluator.judge.timing.cpu import judge_place
from evaluator.machine.devices import Device, choose, cpu
from evaluator.problem.catalogue import SHIPPED
from evaluator.results.result import Result
from evaluator.sandbox import Level, Zygote, best_level
from evaluator.sandbox.level_choice import try_level

Judge = Callable[..., Result]
"""(code, problem, context, timeout_s) → the result, after it went through JSON as it does on its way to the engine."""

BRIEF: list[tuple[Any, dict[str, Any]]] = [
    (effort.FULL, {"warm_up_s": 0.02, "enough_s": 0.02, "settling_s": 0.05, "alone": effort.Repeats(16, 2, 0.02)}),
    (effort.BRIEF, {"warm_up_s": 0.01, "enough_s": 0.01, "settling_s": 0.02, "alone": effort.Repeats(4, 2, 0.02)}),
    (limits, {"CPU_CHECKS_S": 0.02, "BLANKS_S": 0.02, "SLOW_BLANKS_S": 0.1}),
    (judge_place, {"kept_awake": lambda *_: nullcontext()}),
]
"""What differs in a brief timing, by object: it has the fewest samples that any timing has."""


@contextmanager
def brief_timing(*, repeats: bool) -> Iterator[None]:
    """Make brief timings in the body of `with`: a usual one takes most of an evaluation. `repeats`: load on this machine repeats them."""
    with ExitStack() as stack:
        for place, others in BRIEF:
            stack.enter_context(mock.patch.multiple(place, **others))
        if not repeats:
            stack.enter_context(mock.patch.object(Session, "is_disturbed", False))
        yield


def shared_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of this run of the tests, the same in all of its processes: what one has built, the others need not build."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


def own_cpu() -> Device:
    """The CPU, with this process's own lock: these tests don't wait for other judges on the machine."""
    return replace(cpu(), unique_id=f"cpu-of-{os.getpid()}")


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=shared_folder(tmp_path_factory, "cache"))
    with Zygote.start(modules=(WORKER_MODULE, "tests.judge.hostile", "tests.judge.scripted_worker"), level=best_level()) as zygote:
        yield make_context(options, zygote)
    for lock in Path(tempfile.gettempdir()).glob(f"assay-{options.device.unique_id}*.lock"):
        lock.unlink(missing_ok=True)


def is_open_to_all(program: str) -> bool:
    """Whether another user may run it: a Python below a closed home can't be started at level `landlock`, where paths are the machine's."""
    path = Path(program).resolve()
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


@pytest.fixture(scope="module", params=(Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK))
def level_context(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    level: Level = request.param
    if not try_level(level).available:
        pytest.skip(f"{level}: {try_level(level).reason}")
    if level is Level.LANDLOCK and os.getuid() == 0 and not is_open_to_all(sys.executable):
        pytest.skip("landlock: this Python lies where another user can't start it")
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=tmp_path_factory.mktemp("cache"), level=level)
    with Zygote.start(modules=(WORKER_MODULE,), level=level) as zygote:
        yield make_context(options, zygote)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where every user can run programs: paths are the machine's at level `landlock`, those above them too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def gpu_context_at(level: Level, cache: Path) -> Iterator[JudgeContext]:
    """The first GPU, at a sandbox level that this machine has; else the test is skipped."""
    if not try_level(level).available:
        pytest.skip(f"{level}: {try_level(level).reason}")
    device, _ = choose("cuda")
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=cache, level=level)
    recorder = launch_recorder(options)
    assert recorder is not None
    with Zygote.start(modules=(WORKER_MODULE,), level=level, env={**WARM_ENVIRONMENT, "LD_PRELOAD": recorder}) as zygote:
        yield make_context(options, zygote)


@pytest.fixture(scope="module")
def gpu_context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    """The first GPU, at the best sandbox level."""
    level = best_level()
    assert level is not None
    with gpu_context_at(level, tmp_path_factory.mktemp("cache")) as context:
        yield context


@pytest.fixture(scope="session")
def judge(context: JudgeContext, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    default, folder, numbers = context, tmp_path_factory.mktemp("problems"), itertools.count()

    def judge(
        code: str,
        problem: str = "softmax",
        context: JudgeContext | None = None,
        timeout_s: float = 30.0,
        problem_path: Path | None = None,
        problem_text: str | None = None,
        case: str | None = None,
        timing: Literal["brief", "repeated", "full"] = "brief",
        report: Callable[[str], None] = lambda _: None,
        settle: Callable[[Result], None] = lambda _: None,
        **more: Any,
    ) -> Result:
        """`problem_text` is a problem written out. On the CPU the timing is brief, and repeated only if it may be."""
        if problem_text is not None:
            problem_path = folder / f"{problem}_{next(numbers)}.py"
            problem_path.write_text(textwrap.dedent(problem_text), encoding="utf-8")
        job = replace(make_job(textwrap.dedent(code), problem, timeout_s, problem_path), case=case, **more)
        context = context or default
        is_brief = timing != "full" and context.device.kind == "cpu"
        with brief_timing(repeats=timing == "repeated") if is_brief else nullcontext():
            result = evaluate(context, job, report, settle)
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
