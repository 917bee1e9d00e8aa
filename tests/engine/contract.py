"""Tests for every engine. Test modules import them beside their own `engine` fixture, which has at most two judges."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator

import psutil
import pytest

from evaluator.engine.engine import Engine
from evaluator.engine.run import Run
from evaluator.job import Job
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.judge.conftest import make_job

QUICK = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, 1)[:, 1:]\n"
SLOW = "import time\n" + QUICK.replace("        return", "        time.sleep(1)\n        return")


def unheard(job: Job, stage: str) -> None:
    return


def run(engine: Engine, codes: list[str], at_stage: Callable[[Job, str], None] = unheard) -> dict[str, Result]:
    """Judge them as 0.py, 1.py and so on; each has its result, and nothing is in flight afterwards."""
    jobs = [make_job(code, name=f"{number}.py") for number, code in enumerate(codes)]
    found = list(results_of(engine, jobs, at_stage))
    assert len(found) == len(jobs)
    assert all(result.submission == job.submission and result.source_sha256 == job.source_sha256 for job, result in found)
    assert not [job for job in jobs if job in engine.in_flight]
    return {job.submission: result for job, result in found}


def results_of(
    engine: Engine, jobs: Iterable[Job], progress: Callable[[Job, str], None] = unheard
) -> Generator[tuple[Job, Result], None, None]:
    """A run's jobs with their results, one by one."""
    for arrival in engine.run_together(iter(jobs), progress):
        yield from arrival.take()


def delivered(run: Run, threads: int = 1) -> Iterator[tuple[Job, Result]]:
    """Jobs and results that this many threads deliver, one by one."""
    for arrival in run.arrivals(threads, 1):
        yield from arrival.take()


def left_of(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run after a while."""

    def lives(process: psutil.Process) -> bool:
        try:
            return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:  # it ended between the two
            return False

    deadline = time.monotonic() + 120
    while (left := [process for process in processes if lives(process)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def once_in(stage: str, action: Callable[[], object], job: str = "0.py", times: int = 1) -> Callable[[Job, str], None]:
    """Do it when that job enters the stage, so many times."""
    left = [times]

    def progress(entered: Job, name: str) -> None:
        if entered.submission == job and name == stage and left[0] > 0:
            left[0] -= 1
            action()

    return progress


def test_every_job_has_its_result_and_its_stages(engine: Engine) -> None:
    stages: dict[str, list[str]] = {}
    wrong = QUICK.replace("[:, 1:]", " * 2")
    crash = QUICK.replace("return", "import os; os._exit(1)\n        return")
    results = run(engine, [QUICK, wrong, crash, "import no_such"], lambda job, stage: stages.setdefault(job.submission, []).append(stage))
    assert [results[f"{number}.py"].category for number in range(4)] == [
        Category.WRONG_SHAPE,
        Category.WRONG_VALUES,
        Category.EARLY_EXIT,
        Category.IMPORT_ERROR,
    ]
    assert stages["0.py"] == ["start", "load", "construct", "rounds"]
    assert stages["3.py"] == ["start", "load"]
    assert {result.evidence.sandbox for result in results.values()} == {engine.sandbox_level}


def test_a_submission_that_kills_its_worker_costs_only_itself(engine: Engine) -> None:
    killer = QUICK.replace("return", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n        return")
    results = run(engine, [killer, QUICK, killer, QUICK])
    assert [results[f"{number}.py"].category for number in range(4)] == [Category.PROCESS_CRASH, Category.WRONG_SHAPE] * 2


def test_an_iterator_that_raises_is_heard_of(engine: Engine) -> None:
    def jobs() -> Iterator[Job]:
        yield make_job(QUICK)
        raise OSError("the folder is gone")

    with pytest.raises(OSError, match="the folder is gone"):
        list(results_of(engine, jobs()))
    deadline = time.monotonic() + 300
    while engine.in_flight and time.monotonic() < deadline:
        time.sleep(0.05)  # another thread ends what it has begun
    assert engine.in_flight == []


def test_no_jobs_no_results(engine: Engine) -> None:
    assert run(engine, []) == {}


def test_runs_may_overlap(engine: Engine) -> None:
    outer = results_of(engine, [make_job(QUICK, name=name) for name in "abc"])
    first = next(outer)
    inner = run(engine, [QUICK, QUICK])
    rest = list(outer)
    assert sorted(job.submission for job, _ in [first, *rest]) == ["a", "b", "c"]
    assert {result.category for result in inner.values()} == {Category.WRONG_SHAPE}


def test_a_run_that_is_broken_off_draws_no_more(engine: Engine) -> None:
    drawn: list[str] = []

    def jobs() -> Iterator[Job]:
        for number in range(50):
            drawn.append(f"{number}.py")
            yield make_job(QUICK, name=drawn[-1])

    broken = results_of(engine, jobs())
    next(broken)
    broken.close()
    results = run(engine, [QUICK, QUICK])
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}
    assert len(drawn) <= 4 * 4  # what may be in flight, and as many again that arrived together


def test_no_more_are_drawn_than_the_judges_and_the_reader_can_do_with(engine: Engine) -> None:
    drawn: list[str] = []

    def jobs() -> Iterator[Job]:
        for number in range(50):
            drawn.append(f"{number}.py")
            yield make_job("import no_such", name=drawn[-1])

    arrivals = engine.run_together(jobs(), unheard)
    first = next(arrivals)
    before, deadline = -1, time.monotonic() + 300
    while len(drawn) != before and time.monotonic() < deadline:
        before = len(drawn)
        time.sleep(2)  # nothing is taken meanwhile
    assert len(drawn) <= 2 * 4
    left = first.take()
    arrivals.close()
    assert {result.category for _, result in left} == {Category.IMPORT_ERROR}


def test_a_progress_that_raises_is_heard_of(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError):
        list(results_of(engine, [make_job(QUICK, name="0.py")], once_in("load", lambda: print(1 // 0))))
    results = run(engine, [QUICK, QUICK, QUICK])
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}


def test_a_broken_problem_is_no_fault_of_the_submission(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> None:
    broken = tmp_path_factory.mktemp("problems") / "softmax.py"
    shipped = make_job(QUICK).problem_path
    broken.write_text(shipped.read_text().replace("torch.softmax(x, dim=1)", "x.gone()"))
    jobs = [make_job(QUICK.replace("[:, 1:]", ""), name="a.py", problem_path=broken), make_job(QUICK, name="b.py")]
    results = {job.submission: result for job, result in results_of(engine, jobs)}
    assert (results["a.py"].category, results["b.py"].category) == (Category.PROBLEM_ERROR, Category.WRONG_SHAPE)


def in_a_thread(engine: Engine, jobs: list[Job], progress: Callable[[Job, str], None]) -> tuple[threading.Thread, list[tuple[Job, Result]]]:
    """A run in its own thread, and the list of its results."""
    found: list[tuple[Job, Result]] = []
    thread = threading.Thread(target=lambda: found.extend(results_of(engine, jobs, progress)))
    thread.start()
    return thread, found
