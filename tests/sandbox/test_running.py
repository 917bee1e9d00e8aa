"""Programs start, receive their descriptors, and report how they ended."""

import json
import multiprocessing
import os
import select
import signal
import socket
import time
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.warm_parents import RECORDER
from evaluator.sandbox import Exit, Level, Limits, Program, SandboxUnavailable, Zygote
from tests.command_line import open_to_compilers
from tests.sandbox.conftest import ENTRIES, Runner


def test_none_is_code_zero_and_output_is_utf8(run: Runner) -> None:
    assert run("nothing") == (Exit(0), "héllo\n")


def test_signal_to_itself_is_reported(run: Runner) -> None:
    assert run("kill_self", int(signal.SIGSEGV))[0] == Exit(None, "SIGSEGV")


def test_exception_is_code_one_with_its_traceback(run: Runner) -> None:
    ended, output = run("fail")
    assert ended == Exit(1)
    assert "ValueError: a failure of the program's own" in output


@pytest.mark.parametrize("any_zygote", [Level.BUBBLEWRAP, Level.NONE], indirect=True)  # who runs an entry: a new Python, or a fork
@pytest.mark.parametrize(("argument", "code"), [(3, 3), (None, 0), ("text", 1), (256 + 5, 5)])
def test_sys_exit_gives_its_code(run: Runner, argument: object, code: int) -> None:
    assert run("leave", argument)[0] == Exit(code)


def test_descriptors_arrive_by_name(any_zygote: Zygote) -> None:
    ours, theirs = socket.socketpair()
    file = os.memfd_create("data")
    os.write(file, b"12345")
    with ours, theirs, any_zygote.start_program(Program(entry=f"{ENTRIES}:echo"), {"channel": theirs.fileno(), "file": file}) as confined:
        theirs.close()
        ours.sendall(b"abc")
        assert ours.recv(10) == b"cba"
        assert confined.wait(300) == Exit(5), confined.output()
        assert ours.recv(10) == b""
    os.close(file)


def test_descriptors_that_were_not_given_are_closed(run: Runner) -> None:
    _, found = run("describe")
    assert set(found["descriptors"]) <= {0, 1, 2, 3}  # 3 is the listing's own
    assert 2 in found["descriptors"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder with a blank."""
    made = compile_native(RECORDER, tmp_path_factory.mktemp("library") / "a b")
    open_to_compilers(made.parent)
    return made


def test_a_library_in_a_folder_with_a_blank_is_preloaded(any_zygote: Zygote, library: Path) -> None:
    with any_zygote.start_program(Program(argv=("cat", "/proc/self/maps"), preload=str(library))) as confined:
        assert confined.wait(300) == Exit(0)
        stdout, stderr = confined.output()
    assert str(library) in stdout and not stderr


def test_command_gets_descriptors_from_three_on(any_zygote: Zygote) -> None:
    first, second = os.memfd_create("first"), os.memfd_create("second")
    with any_zygote.start_program(Program(argv=("sh", "-c", "echo one >&3; echo two >&4; exit 4")), {"a": first, "b": second}) as confined:
        assert confined.wait(300) == Exit(4), confined.output()
    assert (os.pread(first, 10, 0), os.pread(second, 10, 0)) == (b"one\n", b"two\n")
    os.close(first)
    os.close(second)


def test_missing_command_is_code_127(any_zygote: Zygote) -> None:
    with any_zygote.start_program(Program(argv=("no-such-command",))) as confined:
        assert confined.wait(300) == Exit(127)
        assert "no-such-command: No such file" in confined.output()[1]


def test_command_dies_of_a_broken_pipe_as_it_should(any_zygote: Zygote) -> None:
    with any_zygote.start_program(Program(argv=("sh", "-c", "yes | head -1"))) as confined:
        assert confined.wait(300) == Exit(0)
        assert confined.output() == ("y\n", "")


without_a_sandbox = pytest.mark.parametrize("any_zygote", [Level.NONE], indirect=True)
"""For what the zygote does by itself, whatever the level."""


@without_a_sandbox
def test_flood_of_output_neither_blocks_nor_grows(any_zygote: Zygote) -> None:
    program = Program(entry=f"{ENTRIES}:flood", limits=Limits(output_bytes=10_000))
    with any_zygote.start_program(program) as confined:
        assert confined.wait(300) == Exit(0)
        stdout, stderr = confined.output()
    assert stdout.startswith("first out\n") and stdout.endswith("last out")
    assert stderr.startswith("first err �\n") and stderr.endswith("last err")
    assert f"[... {50 * (1 << 20) + 19 - 10_000} bytes cut ...]" in stdout
    assert len(stdout) < 10_100 and len(stderr) < 10_100


@without_a_sandbox
def test_output_within_the_limit_is_whole(any_zygote: Zygote) -> None:
    with any_zygote.start_program(Program(argv=("sh", "-c", "seq 1000"))) as confined:
        confined.wait(300)
        assert confined.output()[0].split() == [str(number) for number in range(1, 1001)]


def test_wait_gives_none_while_it_runs_and_fileno_tells_the_end(any_zygote: Zygote) -> None:
    told, tell = os.pipe()
    with any_zygote.start_program(Program(argv=("sh", "-c", "read line <&3")), {"told": told}) as confined:
        assert confined.wait(0.05) is None
        assert confined.exit is None
        os.write(tell, b"end\n")
        assert select.select([confined], [], [], 300)[0] == [confined]
        assert confined.wait(0) == Exit(0)
        assert confined.exit == Exit(0)
        assert confined.wait(0) == Exit(0)
    os.close(told)
    os.close(tell)


def test_environment_is_what_was_asked_for_and_nothing_else(any_zygote: Zygote) -> None:
    with any_zygote.start_program(Program(argv=("env",), env={"MINE": "1"})) as confined:
        confined.wait(300)
        names = {line.partition("=")[0] for line in confined.output()[0].splitlines()}
    assert names - {"PWD", "SHLVL", "_"} == {"PATH", "HOME", "TMPDIR", "LANG", "LOGNAME", "USER", "MINE"}


def test_missing_readonly_path_is_not_the_programs_fault(zygote: Zygote) -> None:
    with zygote.start_program(Program(argv=("true",), readonly=("/no/such/path",))) as confined:
        with pytest.raises(SandboxUnavailable, match="/no/such/path"):
            confined.wait(300)
        with pytest.raises(SandboxUnavailable):
            confined.wait(0)


def test_many_at_once_have_their_own_ends(any_zygote: Zygote) -> None:
    running = [any_zygote.start_program(Program(argv=("sh", "-c", f"exit {code}"))) for code in range(4)]
    assert [confined.wait(300) for confined in running] == [Exit(code) for code in range(4)]
    for confined in running:
        confined.close()


def _judge(zygote: Zygote, code: int, answers: "multiprocessing.Queue[object]") -> None:
    for _ in range(3):
        with zygote.start_program(Program(argv=("sh", "-c", f"exit {code}"))) as confined:
            answers.put((code, confined.wait(300)))


@pytest.mark.slow
@without_a_sandbox
def test_several_processes_share_one_zygote(any_zygote: Zygote) -> None:
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[object] = context.Queue()
    judge = context.Process(target=_judge, args=(any_zygote, 11, answers))
    judge.start()
    first = answers.get(timeout=300)  # from now on both are at work
    _judge(any_zygote, 22, answers)
    got = [first, *(answers.get(timeout=300) for _ in range(5))]
    judge.join(300)
    assert judge.exitcode == 0
    assert sorted(got, key=str) == sorted([(11, Exit(11))] * 3 + [(22, Exit(22))] * 3, key=str)


@without_a_sandbox
def test_closing_a_forked_copy_leaves_the_zygote_alone(any_zygote: Zygote) -> None:
    copy = os.fork()
    if not copy:
        try:
            any_zygote.close()
        finally:
            os._exit(0)
    os.waitpid(copy, 0)
    with any_zygote.start_program(Program(argv=("true",))) as confined:
        assert confined.wait(300) == Exit(0)


def test_a_warm_entry_starts_without_importing(any_zygote: Zygote) -> None:
    with any_zygote.start_program(Program(entry=f"{ENTRIES}:describe")) as confined:
        confined.wait(300)
        found = json.loads(confined.output()[0])
    assert found["warm"] is True or any_zygote.level == "bubblewrap"
    assert found["argv"] == ["worker"]
    assert str(Path(__file__).resolve().parents[2]) not in found["path"]


def test_two_children_draw_different_random_numbers(run: Runner) -> None:
    assert run("describe")[1]["random"] != run("describe")[1]["random"]


@pytest.mark.quiet  # a time; that nothing is imported, which makes it quick, is tested above
def test_starting_is_quick(any_zygote: Zygote) -> None:
    times_s = []
    for _ in range(5):
        start = time.perf_counter()
        with any_zygote.start_program(Program(entry=f"{ENTRIES}:seven")) as confined:
            assert confined.wait(300) == Exit(7)
        times_s.append(time.perf_counter() - start)
    assert min(times_s) < 0.5, times_s


def test_unknown_module_is_told_at_the_start() -> None:
    with pytest.raises(SandboxUnavailable, match="no_such_module"):
        Zygote.start(("no_such_module",), Level.NONE)
