"""Nothing outlives its program, its judge or its zygote, and limits hold."""

import contextlib
import json
import os
import select
import socket
import subprocess
import time
from pathlib import Path

import pytest

from evaluator.sandbox import Exit, Level, Limits, Program, SandboxUnavailable, Zygote
from evaluator.sandbox.client import start_command, start_message
from tests.sandbox.conftest import ENTRIES, Runner, runner


def _commands_with(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and text.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return found


def _burst(zygote: Zygote, marker: str, **env: str) -> tuple[int, int, Program]:
    ready, ready_end = os.pipe()
    return ready, ready_end, Program(entry=f"{ENTRIES}:burst", env={"ARG": json.dumps(marker), **env})


def _wait_for_commands(marker: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(_commands_with(marker)) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(_commands_with(marker)) == count


def _at_its_end(pipe: int, within_s: float) -> bool:
    """Whether all that held the writing end are gone."""
    while select.select([pipe], [], [], within_s)[0]:
        if not os.read(pipe, 100):
            return True
    return False


def test_kill_ends_a_tree_with_daemons(any_zygote: Zygote) -> None:
    ready, ready_end, program = _burst(any_zygote, f"86400.{time.monotonic_ns()}")
    marker = json.loads(program.env["ARG"])
    with any_zygote.start_program(program, {"ready": ready_end}) as confined:
        os.close(ready_end)
        assert os.read(ready, 1) == b"x"
        _wait_for_commands(marker, 3)
        confined.kill()
        confined.kill()
        assert confined.wait(300) == Exit(None, "SIGKILL")
        assert _commands_with(marker) == []
        assert _at_its_end(ready, 0)
        confined.kill()
    os.close(ready)


def test_daemons_end_with_their_program(any_zygote: Zygote) -> None:
    ready, ready_end, program = _burst(any_zygote, f"86400.{time.monotonic_ns()}", LEAVE="1")
    with any_zygote.start_program(program, {"ready": ready_end}) as confined:
        os.close(ready_end)
        assert confined.wait(300) == Exit(0)
        assert _commands_with(json.loads(program.env["ARG"])) == []
        assert os.read(ready, 1) == b"x"
        assert _at_its_end(ready, 0)
    os.close(ready)


def test_children_die_with_the_zygote(any_zygote: Zygote) -> None:
    with Zygote.start((ENTRIES,), any_zygote.level) as own:
        ready, ready_end, program = _burst(own, f"86400.{time.monotonic_ns()}")
        with own.start_program(program, {"ready": ready_end}) as confined:
            os.close(ready_end)
            assert os.read(ready, 1) == b"x"
            assert own.pid is not None
            os.kill(own.pid, 9)
            assert _at_its_end(ready, 120)
            with pytest.raises(SandboxUnavailable, match="fork server"):
                confined.wait(300)
        with pytest.raises(SandboxUnavailable, match="has ended"):
            own.start_program(Program(argv=("true",)))
        os.close(ready)


def test_children_die_with_their_judge(any_zygote: Zygote) -> None:
    ready, ready_end, program = _burst(any_zygote, f"86400.{time.monotonic_ns()}")
    judge = os.fork()
    if not judge:
        try:
            confined = any_zygote.start_program(program, {"ready": ready_end})
            os.close(ready_end)
            os.read(ready, 1)
            assert confined.exit is None
        finally:
            os.kill(os.getpid(), 9)
    os.close(ready_end)
    os.waitpid(judge, 0)
    assert _at_its_end(ready, 120)
    os.close(ready)


def test_children_die_with_their_supervisor(zygote: Zygote) -> None:
    if zygote.level is Level.LANDLOCK:
        pytest.skip("landlock: without a PID namespace only the program itself dies with its supervisor, not what it started")
    ready, ready_end, program = _burst(zygote, f"86400.{time.monotonic_ns()}")
    with zygote.start_program(program, {"ready": ready_end}) as confined:
        os.close(ready_end)
        assert os.read(ready, 1) == b"x"
        for pid in _children(zygote.pid or 0):
            with contextlib.suppress(ProcessLookupError):  # of an earlier program, and gone meanwhile
                os.kill(pid, 9)
        assert _at_its_end(ready, 120)
        with pytest.raises(SandboxUnavailable, match="lost"):
            confined.wait(300)
    os.close(ready)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "stat").read_bytes().rpartition(b")")[2].split()[1] == b"%d" % parent:
                found.append(int(entry.name))
    return found


def test_memory_bomb_is_stopped_and_named(run: Runner) -> None:
    assert run("eat_memory_in_child", limits=Limits(memory_bytes=512 << 20))[0] == Exit(None, "SIGKILL", memory_exceeded=True)


def test_ordinary_death_is_no_memory_bomb(run: Runner) -> None:
    assert run("kill_self", 9)[0].memory_exceeded is False


def test_fork_bomb_is_limited(confined_run: Runner) -> None:
    _, count = confined_run("multiply", limits=Limits(processes=40))
    assert 20 <= count <= 40


def test_large_file_is_refused(run: Runner) -> None:
    assert run("write_file", limits=Limits(file_bytes=8 << 20))[1] == [8 << 20, "File too large"]


def test_tmp_has_a_size(zygote: Zygote) -> None:
    if zygote.level is Level.LANDLOCK:
        pytest.skip("landlock: its private directory lies in the host's /tmp; test_disk.py is about the watch over that")
    size, error = runner(zygote)("write_file", limits=Limits(tmp_bytes=16 << 20))[1]
    assert error == "No space left on device"
    assert size <= 16 << 20


@pytest.mark.parametrize("any_zygote", [Level.NONE], indirect=True)
def test_the_kernel_keeps_the_limit_of_processor_time(run: Runner) -> None:
    assert run("spin", limits=Limits(cpu_s=1))[0] == Exit(None, "SIGXCPU")


def test_limits_reach_the_program_and_address_space_is_free(run: Runner) -> None:
    found = run("describe", limits=Limits(file_bytes=1 << 20, open_files=100, cpu_s=50))[1]
    assert found["limits"] == {"fsize": 1 << 20, "nofile": 100, "cpu": 50, "as": -1}
    assert found["core"] == 0


def test_nothing_is_left_on_the_host(any_zygote: Zygote) -> None:
    def left() -> set[Path]:
        # Named for the zygote: other tests run beside this one.
        prefix = f"assay-{any_zygote.pid}-"
        # A walk, which other tests' groups may leave meanwhile; a glob fails of that.
        groups = (Path(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names)
        return {path for path in (*Path("/tmp").iterdir(), *groups) if path.name.startswith(prefix)}

    before = left()
    with any_zygote.start_program(Program(argv=("sh", "-c", "mkdir -p d/e; echo > d/e/f; chmod 0 d"))) as confined:
        assert confined.wait(300) == Exit(0)
    assert left() == before


@pytest.mark.parametrize("module", ["json", "no_such_module"])
def test_a_zygote_that_nobody_waits_for_any_more_ends_in_silence(module: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        ours.send(start_message([module], Level.NONE))
    with theirs:
        command = start_command(theirs.fileno())
        done = subprocess.run(command, pass_fds=[theirs.fileno()], capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_zygote_that_nobody_waited_for_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    zygote = Zygote.launch((ENTRIES,), Level.NONE)
    assert select.select([zygote.socket], [], [], 300)[0]  # it has told that it is ready, and nobody reads it
    zygote.socket.close()
    assert zygote._process is not None and zygote._process.wait(300) == 0
    assert capfd.readouterr() == ("", "")
