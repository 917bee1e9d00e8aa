"""The local engine: every job one result, whichever process of ours is lost on the way."""

import multiprocessing.resource_tracker
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from evaluator.engine import admission_limit
from evaluator.engine.admission_limit import AdmissionLimit
from evaluator.engine.fork_server import SERVER
from evaluator.engine.judge_client import JudgeLostError
from evaluator.engine.local import LocalEngine
from evaluator.engine.options import EngineOptions
from evaluator.job import Job
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.problem.catalogue import SHIPPED
from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from tests import warm
from tests.engine.contract import (  # noqa: F401 - tests of every engine
    QUICK,
    SLOW,
    in_a_thread,
    left_of,
    once_in,
    results_of,
    run,
    test_a_broken_problem_is_no_fault_of_the_submission,
    test_a_progress_that_raises_is_heard_of,
    test_a_run_that_is_broken_off_draws_no_more,
    test_a_submission_that_kills_its_worker_costs_only_itself,
    test_an_iterator_that_raises_is_heard_of,
    test_every_job_has_its_result_and_its_stages,
    test_no_jobs_no_results,
    test_no_more_are_drawn_than_the_judges_and_the_reader_can_do_with,
    test_runs_may_overlap,
    unheard,
)
from tests.judge.conftest import make_job, own_cpu

pytestmark = pytest.mark.slow(30)

ENDLESS = SLOW.replace("sleep(1)", "sleep(1000)")
"""Longer than a test: what ends it is the engine's closing."""


def options(folder: Path, judges: int) -> EngineOptions:
    return EngineOptions(device=own_cpu(), stands_in=False, judges=judges, cache_root=folder)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    with LocalEngine(options(tmp_path_factory.mktemp("cache"), 2)) as engine:
        engine.start()
        yield engine


@pytest.fixture
def kept_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of a test's own starts no fork server of its own."""
    monkeypatch.setattr("evaluator.engine.judge_pool.launch_zygote", warm._zygote)


def test_where_few_are_let_in_the_same_judges_do_it_all(tmp_path: Path, kept_zygote: None) -> None:
    with LocalEngine(options(tmp_path, 4)) as engine:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission_limit, "LOADING_S", 600.0)  # however busy this machine is
            patch.setattr(engine, "_admission_limit", lambda _: AdmissionLimit(1))
            assert {result.category for result in run(engine, [QUICK] * 6).values()} == {Category.WRONG_SHAPE}
            assert len(engine.pool.judges) == 1
        run(engine, [SLOW] * 4)
        assert len(engine.pool.judges) > 1


def test_a_run_that_nobody_fetches_from_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_zygote: None) -> None:
    with LocalEngine(options(tmp_path, 2)) as engine:
        monkeypatch.setattr(engine, "_admission_limit", lambda _: AdmissionLimit(1))
        first = results_of(engine, [make_job(QUICK, name=f"{number}.py") for number in range(20)])
        next(first)
        others = [make_job(QUICK, name=f"other {number}.py") for number in range(2)]
        assert len(list(results_of(engine, others))) == 2
        first.close()


def pids(engine: LocalEngine) -> set[int | None]:
    """Process ids of its judges."""
    return {judge._process.pid for judge in engine.pool.judges}


def kill_judges(engine: LocalEngine) -> None:
    for judge in list(engine.pool.judges):
        judge._process.kill()


def kill_zygote(engine: LocalEngine) -> None:
    assert engine.pool.zygote is not None and engine.pool.zygote.pid is not None
    os.kill(engine.pool.zygote.pid, signal.SIGKILL)


@pytest.mark.parametrize(("kill", "stage"), [(kill_judges, "load"), (kill_judges, "rounds"), (kill_zygote, "rounds")])
def test_a_process_of_ours_that_is_killed_costs_no_result(engine: LocalEngine, kill: Callable[[LocalEngine], None], stage: str) -> None:
    results = run(engine, [SLOW, QUICK, QUICK], once_in(stage, lambda: kill(engine)))
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}, [result.message for result in results.values()]


def test_a_job_whose_judge_dies_each_time_is_not_evaluated(engine: LocalEngine) -> None:
    results = run(engine, [SLOW, QUICK], once_in("rounds", lambda: kill_judges(engine), times=10))
    assert (results["0.py"].status, results["0.py"].category) == (Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR)
    assert "ended with exit code -9" in results["0.py"].message
    assert results["1.py"].problem == "softmax"


def test_after_a_failure_of_the_machine_another_judge_goes_on(engine: LocalEngine, tmp_path: Path) -> None:
    broken = tmp_path / "softmax.py"
    needs_petabytes = "x + x.new_empty(1 << 50).sum()"
    broken.write_text((SHIPPED / "softmax.py").read_text().replace("torch.softmax(x, dim=1)", needs_petabytes))
    run(engine, [QUICK, QUICK])
    before = pids(engine)
    jobs = [make_job(QUICK.replace("[:, 1:]", ""), name="a.py", problem_path=broken), make_job(QUICK, name="b.py")]
    results = {job.submission: result for job, result in results_of(engine, jobs)}
    assert (results["a.py"].category, results["b.py"].category) == (Category.INFRASTRUCTURE_ERROR, Category.WRONG_SHAPE)
    assert len(before & pids(engine)) < len(before)
    assert {result.category for result in run(engine, [QUICK, QUICK]).values()} == {Category.WRONG_SHAPE}


def wait_until_locked(lock: Path) -> None:
    """Wait until a process has this lock, as the kernel says. Raises TimeoutError."""
    holder, deadline = re.compile(rf"FLOCK .*:{lock.stat().st_ino} "), time.monotonic() + 120
    while not holder.search(Path("/proc/locks").read_text(encoding="ascii")):
        if time.monotonic() > deadline:
            raise TimeoutError(lock)
        time.sleep(0.02)


def test_several_devices_share_the_work_and_one_that_is_taken_does_not_hold_the_other_up(tmp_path: Path, kept_zygote: None) -> None:
    devices = [replace(own_cpu(), unique_id=f"cpu-{number}-of-{os.getpid()}", name=f"Device {number}") for number in range(2)]
    taken = DeviceLock(devices[1].unique_id)
    with LocalEngine(replace(options(tmp_path, 2), device=devices[0], more_devices=(devices[1],))) as engine:
        engine.start()
        taken.acquire()  # as by another user's judge: what is drawn for this device waits
        jobs = [make_job(QUICK, name=f"{number}.py") for number in range(4)]
        results = results_of(engine, jobs)
        found = [next(results)[1] for _ in range(3)]
        assert {result.environment.device_name for result in found if result.environment} == {"Device 0"}
        wait_until_locked(Path(tempfile.gettempdir(), f"assay-{devices[1].unique_id}-next-0.lock"))
        taken.close()
        found += [result for _, result in results]
    for device in devices:
        for lock in Path(tempfile.gettempdir()).glob(f"assay-{device.unique_id}*.lock"):
            lock.unlink()
    assert sorted(result.submission for result in found) == [job.submission for job in jobs]
    assert {result.category for result in found} == {Category.WRONG_SHAPE}
    assert found[-1].environment is not None and found[-1].environment.device_name == "Device 1"
    assert found[-1].evidence.stages_s["wait"] > 0


def ours() -> set[psutil.Process]:
    """All that descends from us, but for what multiprocessing keeps until the interpreter ends."""
    kept = {SERVER._forkserver_pid, multiprocessing.resource_tracker._resource_tracker._pid}  # type: ignore[attr-defined]
    return {process for process in psutil.Process().children(recursive=True) if process.pid not in kept}


def test_closing_while_it_works_leaves_no_process_behind(tmp_path: Path) -> None:
    before = ours()
    reached = threading.Event()
    with LocalEngine(options(tmp_path, 1)) as engine:
        engine.start()
        jobs = [make_job(ENDLESS, timeout_s=1000.0), make_job(QUICK, name="never.py")]
        thread, found = in_a_thread(engine, jobs, once_in("rounds", reached.set, "test.py"))
        assert reached.wait(300)
        started = ours() - before
        assert len(started) >= 3  # the judge, the zygote, the worker with its supervisor
        assert [job.submission for job in engine.in_flight] == ["test.py"]
    thread.join(300)
    assert not thread.is_alive()
    assert found == []
    assert [job.submission for job in engine.in_flight] == ["test.py"]
    assert left_of(started) == []


def test_closing_while_a_judge_starts_leaves_no_process_behind(tmp_path: Path) -> None:
    before = ours()
    found: list[tuple[Job, Result]] = []
    with LocalEngine(options(tmp_path, 1)) as engine:
        engine.start()
        thread = threading.Thread(target=lambda: found.extend(results_of(engine, [make_job(ENDLESS, timeout_s=1000.0)])))
        thread.start()
        while not engine.pool.judges:
            time.sleep(0.001)
        started = ours() - before
        judge = engine.pool.judges[0]
    thread.join(300)
    assert not thread.is_alive()
    assert found == []
    assert engine.pool.judges == []
    assert not judge.alive
    assert left_of(started) == []


def test_a_closed_engine_starts_nothing(tmp_path: Path) -> None:
    before = ours()
    engine = LocalEngine(options(tmp_path, 1))
    engine.close()
    assert list(results_of(engine, [make_job(QUICK)])) == []
    with pytest.raises(JudgeLostError, match="closed"):
        engine.start()
    assert ours() - before == set()


def test_runs_that_overlap_leave_no_more_judges_than_one_needs(engine: LocalEngine) -> None:
    outer = results_of(engine, [make_job(QUICK, name=name) for name in "abc"])
    next(outer)
    run(engine, [QUICK, QUICK])
    assert len(list(outer)) == 2
    assert len(engine.pool.judges) <= 4
    run(engine, [QUICK])
    assert len(engine.pool.idle) <= 2


def test_judges_are_kept_from_run_to_run_whatever_kills_their_workers(engine: LocalEngine) -> None:
    run(engine, [QUICK] * 2)
    judges = pids(engine)
    for _ in range(3):
        run(engine, [QUICK])
    run(engine, [QUICK.replace("return", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n        return")] * 2)
    run(engine, [QUICK] * 4)
    assert pids(engine) == judges
    assert len(engine.pool.judges) <= 2


def test_a_judge_that_was_lost_between_two_runs_costs_no_attempt(engine: LocalEngine, caplog: pytest.LogCaptureFixture) -> None:
    run(engine, [QUICK] * 2)
    for judge in engine.pool.judges:
        judge._process.kill()
        judge._process.join(300)
    results = run(engine, [QUICK] * 2)
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}
    assert caplog.records == []
