"""Graphs that ninja runs, without confinement."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from evaluator.build.processes import graph as graphs
from evaluator.build.processes.graph import Edge, GraphRun, Job, JobEnd, shell_command
from evaluator.build.processes.runner import MAX_OUTPUT_BYTES, CommandResult, Ended, PlainRunner

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SAY = "import json, sys; print(json.dumps(sys.argv[1:]))"


@contextmanager
def graph(folder: Path, *jobs: Job, at_once: int = 2) -> Iterator[GraphRun]:
    run = GraphRun(PlainRunner(), folder, ENV, jobs, at_once)
    try:
        yield run
    finally:
        run.close()


def job(name: str, script: str) -> Job:
    return Job(name, (Edge(name, script),))


def to_the_end(folder: Path, *jobs: Job, at_once: int = 2) -> dict[str, JobEnd]:
    with graph(folder, *jobs, at_once=at_once) as run:
        return {end.output: end for end in run.wait(300)}


def result(folder: Path, script: str) -> CommandResult:
    return to_the_end(folder, job("one", script))["one"].result


def test_each_job_has_its_own_output_code_and_time(tmp_path: Path) -> None:
    start = time.monotonic()
    ended = to_the_end(tmp_path, job("a", "echo out; echo err >&2; sleep 0.3; exit 3"), job("b", "pwd; umask > mask"))
    whole_s = time.monotonic() - start
    assert ended["a"].result == CommandResult(3, timed_out=False, output="out\nerr\n")
    assert ended["b"].result == CommandResult(0, timed_out=False, output=f"{tmp_path}\n")
    assert 0.25 < ended["a"].duration_s < whole_s + 0.1
    assert (tmp_path / "mask").exists()


def test_a_failure_that_a_full_disk_keeps_quiet_is_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_SCRIPT", graphs._SCRIPT.replace("cat > {name}.log", "cat > /dev/full"))
    full = result(tmp_path, "echo No space left on device; exit 1")
    assert full == CommandResult(None, timed_out=False, output="what the compiler said could not be written\n")
    assert result(tmp_path, "echo warning").code == 0


HOSTILE = [
    "-DX=$HOME",
    "-DX=${HOME}$$ $(touch evil) `touch evil`",
    "a b\tc",
    "a\nb\n",
    "\nbuild evil: step\n  command = touch evil\n",
    "$\nx",
    "x | y || z & touch evil; touch evil #",
    'it\'s "quoted" \\ and \\n',
    "C:$:|",
    "*.sh ?? [a-z] ~ !",
    "> evil",
    "%s {name} {{}}",
    "\u00e9\u4e16\x01\x7f",
    "",
    "-" * 200_000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_arguments_reach_the_command_as_they_are(tmp_path: Path, text: str) -> None:
    said = result(tmp_path, shell_command([sys.executable, "-c", SAY, text[:130_000], text[130_000:], "end"], {"VARIABLE": text[:1000]}))
    assert said.code == 0, said.output
    assert json.loads(said.output) == [text[:130_000], text[130_000:], "end"]
    assert not (tmp_path / "evil").exists()


def test_many_long_arguments_are_one_command(tmp_path: Path) -> None:
    flags = [f"-D{number}=" + "$ " * 2040 for number in range(256)]
    said = result(tmp_path, shell_command([sys.executable, "-c", SAY, *flags]))
    assert json.loads(said.output) == flags


@pytest.mark.parametrize("folder", ["a b", "a$b", "a:b|c", "it's", "new\nline"])
def test_the_folder_may_have_any_name(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    assert result(tmp_path / folder, "echo made > made").code == 0
    assert (tmp_path / folder / "made").read_text() == "made\n"


@pytest.mark.parametrize("name", ["a b", "a$b", "a|b", "a:b", "a\nb", "../a", "a/b", "", "x" * 300, "\u00e9"])
def test_names_that_ninja_could_read_otherwise_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="plain letters"), graph(tmp_path, job(name, "true")):
        pass


def test_two_edges_have_two_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a unique name"), graph(tmp_path, job("a", "true"), job("a", "true")):
        pass


def test_what_comes_after_a_failure_is_not_run_and_the_rest_is(tmp_path: Path) -> None:
    chain = (Edge("a", "echo first"), Edge("b", "echo second; exit 2", ("a",)), Edge("c", "touch late", ("b",)))
    ended = to_the_end(tmp_path, Job("chain", chain), job("other", "sleep 0.3; echo other"))
    assert ended["chain"].result == CommandResult(2, timed_out=False, output="first\nsecond\n")
    assert ended["other"].result == CommandResult(0, timed_out=False, output="other\n")
    assert not (tmp_path / "late").exists()


def test_a_job_is_told_while_another_goes_on(tmp_path: Path) -> None:
    with graph(tmp_path, job("quick", "exit 1"), job("slow", "while [ ! -e go ]; do sleep 0.05; done")) as run:
        deadline = time.monotonic() + 300
        while not (ended := run.wait(0.02)):
            assert time.monotonic() < deadline
        assert [end.output for end in ended] == ["quick"]
        (tmp_path / "go").touch()
        assert [end.output for end in run.wait(300)] == ["slow"]


@pytest.mark.parametrize(("at_once", "peak"), [(1, 1), (2, 2)])
def test_no_more_jobs_run_than_may(tmp_path: Path, at_once: int, peak: int) -> None:
    # The first ones wait for each other.
    all_begun = f"until [ $(ls | grep -c begun-) -ge {peak} ]; do sleep 0.05; done"
    script = f"touch now-$$; touch begun-$$; {all_begun}; ls | grep -c now-; sleep 0.1; rm now-$$"
    ended = to_the_end(tmp_path, *(job(f"job{number}", script) for number in range(5)), at_once=at_once)
    assert max(int(end.result.output) for end in ended.values()) == peak


@pytest.mark.parametrize("name", ["KILL", "SEGV", "XFSZ"])
def test_a_signal_has_no_code(tmp_path: Path, name: str) -> None:
    assert result(tmp_path, f"exec sh -c 'kill -{name} $$'").code is None


@pytest.mark.parametrize("code", [128, 137, 139, 255])
def test_a_code_above_those_of_signals_is_a_code(tmp_path: Path, code: int) -> None:
    assert result(tmp_path, f"echo died >&2; exit {code}") == CommandResult(code, timed_out=False, output="died\n")


def test_a_flood_is_capped_and_ends(tmp_path: Path) -> None:
    flood = result(tmp_path, "head -c 50000000 /dev/zero | tr '\\0' x; exit 4")
    assert flood.code == 4
    assert len(flood.output) == MAX_OUTPUT_BYTES + 1


def test_a_script_that_outlives_its_compiler_tells_of_no_crash(tmp_path: Path) -> None:
    """At the timeout, chance decides which process is killed first. Here it is always the compiler."""
    with graph(tmp_path, job("slow", "sh -c 'echo $PPID' > shell; sleep 600")) as run:
        deadline = time.monotonic() + 300
        while not (tmp_path / "shell").exists() or not (tmp_path / "shell").read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kill = run._running.kill

        def kill_the_compiler_first() -> Ended:
            os.kill(int((tmp_path / "shell").read_text()), signal.SIGKILL)
            time.sleep(0.5)
            return kill()

        with mock.patch.object(run._running, "kill", kill_the_compiler_first):
            (slow,) = run.stop()
        assert (slow.result.code, slow.result.timed_out) == (None, True)


def test_what_ended_before_the_time_was_over_keeps_its_result(tmp_path: Path) -> None:
    with graph(tmp_path, job("quick", "echo done"), job("slow", "echo begun; sleep 600 & echo $! > child; wait")) as run:
        deadline = time.monotonic() + 300
        while not (tmp_path / "child").exists() or not (ended := run.wait(0.05)):
            assert time.monotonic() < deadline
        assert [(end.output, end.result.output) for end in ended] == [("quick", "done\n")]
        (slow,) = run.stop()
        assert (slow.result.code, slow.result.timed_out) == (None, True)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    assert not child.exists() or child.read_text().split()[2] == "Z"


def test_a_job_whose_ninja_was_killed_failed_for_no_fault_of_its_own(tmp_path: Path) -> None:
    above = "pid=$$; while [ $(cat /proc/$pid/comm) != ninja ]; do pid=$(cut -d ' ' -f 4 /proc/$pid/stat); done"
    killing = f"{above}; kill -9 $pid; sleep 2"
    ended = to_the_end(tmp_path, job("a", killing))["a"]
    assert (ended.result.code, ended.result.timed_out) == (None, False)
    assert "ninja ended" in ended.result.output


@pytest.mark.parametrize("forged", ["ln -s $PWD/elsewhere", "mkdir", "mkfifo"])
def test_files_of_the_graph_that_a_command_puts_in_place_are_not_followed(tmp_path: Path, forged: str) -> None:
    script = f'place=$(readlink /proc/$PPID/cwd); rm -f "$place/b.log"; {forged} "$place/b.log"'
    with graph(tmp_path, Job("both", (Edge("a", script), Edge("b", "echo kept", ("a",))))) as run:
        (ended,) = run.wait(1) or run.stop()
    assert "kept" not in ended.result.output


def test_nothing_is_left_of_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    to_the_end(tmp_path, job("a", "true"))
    assert not list(tmp_path.iterdir())
