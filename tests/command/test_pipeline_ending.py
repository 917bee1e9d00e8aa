"""Interrupted runs and parallel runs: each submission has one result, and no process is left."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from db.queries.runs import runs
from db.store import Store
from evaluator.sandbox.resources.process_tree import descendants
from tests.command.test_junit import outcomes, read
from tests.command_line import PROJECT, RUN_S, Bench, open_to_compilers, submission

pytestmark = pytest.mark.slow(150)

SUBMISSIONS = 6
BUILT = """\
from torch.utils.cpp_extension import load_inline
extension = load_inline(name="twice", cpp_sources="at::Tensor twice(at::Tensor x) { return 2 * x; }", functions="twice")
"""
SHARED = 3
"""Submissions that two runs judge at once."""
GONE_WITHIN_S = 120.0


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    for number in range(SUBMISSIONS):
        write(made, number, 0.01)
    return made


def write(bench: Bench, number: int, sleep_s: float) -> None:
    bench.write(f"double/s{number:02}.py", submission(before=f"time.sleep({sleep_s})  # {number}"))


@contextmanager
def unfinished(bench: Bench, *words: str) -> "Iterator[subprocess.Popen[str]]":
    """A run that does not end by itself: its last submission takes longer than the test. Afterwards it is as quick as the others."""
    write(bench, SUBMISSIONS - 1, 1000)
    with bench.start("double", "--json", "-", "--timeout", "900", *words) as process:
        try:
            yield process
        finally:
            process.kill()
    write(bench, SUBMISSIONS - 1, 0.01)


def at_work(process: "subprocess.Popen[str]") -> dict[int, bytes]:
    """The processes below a run, once it judges: two warm parents, a judge, a worker."""
    deadline = time.monotonic() + RUN_S
    while len(alive(started := below(process))) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return started


def first_results(process: "subprocess.Popen[str]", count: int) -> list[str]:
    """Names of the first submissions that a run with `--json -` reports."""
    assert process.stdout is not None
    return [json.loads(process.stdout.readline())["submission"] for _ in range(count)]


def alive(processes: dict[int, bytes]) -> list[int]:
    """Which of these still run; a number that was given anew to another process counts as gone."""
    return [pid for pid, started in processes.items() if started and _started(pid) == started]


def _started(pid: int) -> bytes:
    try:
        fields = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return b""
    return b"" if fields[0] == b"Z" else fields[19]


def below(process: "subprocess.Popen[str]") -> dict[int, bytes]:
    """The processes below a run, with the times at which they began."""
    return {pid: _started(pid) for pid in descendants(process.pid)}


def assert_all_end(processes: dict[int, bytes]) -> None:
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := alive(processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def judged_once(bench: Bench) -> None:
    rows = [row for row in bench.rows() if row[2] != "interrupted"]  # which is history
    assert Counter(name for name, _, _ in rows) == {f"double/s{number:02}.py": 1 for number in range(SUBMISSIONS)}
    assert {category for _, _, category in rows} == {"no_custom_kernel"}


def test_after_kill_9_the_same_command_finishes_the_work(bench: Bench) -> None:
    with unfinished(bench) as process:
        reported = first_results(process, 2)
        started = at_work(process)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert_all_end(started)
    stored = {name for name, _, _ in bench.rows()}
    assert set(reported) <= stored  # what was reported is durable
    assert len(stored) < SUBMISSIONS
    finished = bench.run("double", "--json", "-")
    assert finished.code == 0
    assert sorted(record["submission"] for record in finished.records) == [f"double/s{number:02}.py" for number in range(SUBMISSIONS)]
    judged_once(bench)


def test_an_interrupted_run_says_what_was_left_and_the_next_one_judges_it(bench: Bench) -> None:
    file = bench.root / "out.xml"
    file.write_text("of an earlier run")
    with unfinished(bench, "--junit", "out.xml", "--fail-on", "any") as process:
        first = first_results(process, 2)
        assert file.read_text() == "of an earlier run"
        started = below(process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        stdout, stderr = process.communicate(timeout=RUN_S)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert_all_end(started)
    ended = {record["submission"]: record["category"] for record in map(json.loads, stdout.splitlines())}
    assert "interrupted" in ended.values()
    told = {name: "skipped" if category == "interrupted" else "system-out" for name, category in ended.items()}
    assert outcomes(read(file)) == dict.fromkeys(first, "system-out") | told and not list(bench.root.glob("*.part"))
    assert Counter(name for name, _, _ in bench.rows()).most_common(1)[0][1] == 1
    assert "interrupted" in {category for _, _, category in bench.rows()}
    assert bench.run("double").code == 0
    judged_once(bench)


def test_an_interrupted_run_counts_what_it_skipped_once(bench: Bench) -> None:
    assert bench.run("double/s00.py", "double/s01.py").code == 0
    with bench.start("double", "--json", "-") as process:
        first_results(process, 5)  # the two of the first run, and three; all are drawn by then
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=RUN_S)
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store:
        assert [run.skipped for run in runs(store, 2)] == [2, 0]


@contextmanager
def building(bench: Bench) -> "Iterator[tuple[subprocess.Popen[str], Path]]":
    """A run whose compilers are at work, and its temporary folder."""
    bench.write("double/built.py", submission(header=BUILT))
    folder = bench.root / "temporary"
    folder.mkdir()
    open_to_compilers(folder)
    with bench.start("double/built.py", TMPDIR=str(folder), ASSAY_CACHE=str(bench.root / "cache")) as process:
        try:
            deadline = time.monotonic() + RUN_S
            while len(build_folders(folder)) < 2:  # the build's, and its graph's
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
            yield process, folder
        finally:
            process.kill()


def build_folders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "build" in path.name]


def folders(folder: Path) -> list[str]:
    """All folders in a temporary folder, except PyTorch's cache, which is meant to stay."""
    return [path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("torchinductor")]


@pytest.mark.build
@pytest.mark.parametrize("number, send", [(signal.SIGINT, os.killpg), (signal.SIGINT, os.kill), (signal.SIGTERM, os.kill)])
def test_a_build_that_is_interrupted_leaves_no_folder(bench: Bench, number: int, send: Callable[[int, int], None]) -> None:
    with building(bench) as (process, folder):
        send(process.pid, number)
        process.communicate(timeout=RUN_S)
    assert not folders(folder)


@pytest.mark.build
def test_the_next_run_removes_the_folders_of_one_that_was_killed(bench: Bench) -> None:
    with building(bench) as (process, folder):
        started = below(process)
        process.kill()
    assert_all_end(started)
    assert build_folders(folder)
    assert bench.run_apart("double/s00.py", TMPDIR=str(folder)).code == 0
    assert not folders(folder)


def test_two_runs_at_once_share_a_database(bench: Bench) -> None:
    names = [f"double/s{number:02}.py" for number in range(SHARED)]
    with bench.start(*names, "--jobs", "1") as one, bench.start(*names, "--jobs", "1", "--rerun") as other:
        endings = [process.communicate(timeout=RUN_S) for process in (one, other)]
    assert [one.returncode, other.returncode] == [0, 0], endings
    counts = subprocess.run(
        [sys.executable, "-m", "db", "--db", f"sqlite:///{bench.database}", "failures", "--json"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(counts.stdout)["evaluations"] == SHARED
    assert set(Counter(name for name, _, _ in bench.rows()).values()) <= {1, 2}
    assert len(set(bench.rows())) == SHARED


def test_a_reader_that_stops_listening_ends_the_run_without_a_traceback(bench: Bench) -> None:
    with bench.start("double", "--json", "-") as process:
        assert process.stdout is not None and process.stderr is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # less than it will say
        first_results(process, 1)
        started = below(process)
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        process.wait(timeout=RUN_S)
    assert process.returncode not in (0, -signal.SIGPIPE)
    assert_all_end(started)
    assert bench.run("double").code == 0
    judged_once(bench)
