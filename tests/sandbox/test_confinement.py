"""What a confined program can't see, reach or do."""

import errno
import os
import platform
import stat
import sys
from pathlib import Path

import pytest

from evaluator.sandbox import Exit, Level, Program, Zygote
from evaluator.sandbox.view import python_paths
from tests.sandbox.conftest import ENTRIES, SYSTEM_ENTRIES, Runner, runner
from tests.sandbox.system_entries import DEADLY_X86_64, HARMLESS_X86_64, REFUSED_X86_64

ROOT = Path(__file__).resolve().parents[2]


def test_project_home_and_host_are_not_visible(confined_run: Runner, tmp_path: Path) -> None:
    tmp_path.joinpath("secret").write_text("x")
    hidden = [str(path) for path in (tmp_path, ROOT / "evaluator/judge", ROOT / "pyproject.toml", ROOT / "tests/sandbox/entries.py")]
    hidden += [
        "/etc/shadow",
        "/etc/hostname",
        "/var",
        "/run",
        "/proc/1/environ",
        "/dev/vda",
        "/dev/kmsg",
        "/sys/fs",
        str(Path("~").expanduser()),
    ]
    _, found = confined_run("look", hidden)
    for path, seen in found.items():
        way_to_python = {Path(place).relative_to(path).parts[0] for place in python_paths() if place.startswith(path + "/")}
        assert seen in ("FileNotFoundError", "PermissionError") or set(seen) == way_to_python, (path, seen)


def test_what_lies_inside_a_visible_directory_can_be_hidden(zygote: Zygote, tmp_path: Path) -> None:
    _world_readable(tmp_path)
    _open_way(tmp_path)
    for name in ("seen", "unseen"):
        tmp_path.joinpath(name).mkdir()
        tmp_path.joinpath(name, "file").write_text("text")
    tmp_path.joinpath("unseen.txt").write_text("text")
    hidden = (str(tmp_path / "unseen"), str(tmp_path / "unseen.txt"))
    paths = [str(tmp_path / name) for name in ("seen/file", "unseen/file", "unseen.txt")]
    ended, found = runner(zygote)("look", paths, readonly=(str(tmp_path),), hidden=hidden)
    assert ended == Exit(0), found
    assert found[paths[0]] == 4
    assert found[paths[1]] in ("FileNotFoundError", "PermissionError")
    assert found[paths[2]] in (0, "PermissionError")


def _world_readable(path: Path) -> None:
    """Pytest's directories are closed to others; those above stay closed, and need not be open."""
    path.chmod(0o755)


def _open_way(path: Path) -> None:
    """Landlock takes nothing away that the file system already forbids, so there the way has to be open."""
    while path.stat().st_uid == os.getuid() and str(path) not in ("/", "/tmp"):
        path.chmod(path.stat().st_mode | stat.S_IXOTH)
        path = path.parent


def test_readonly_paths_are_seen_and_not_written(zygote: Zygote, tmp_path: Path) -> None:
    _world_readable(tmp_path)
    _open_way(tmp_path)
    tmp_path.joinpath("file").write_text("text")
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    run = runner(zygote)
    paths = [f"{tmp_path}/file", f"{link}/file"]
    _, found = run("look", paths, readonly=(str(link),))
    assert found == {paths[0]: 4, paths[1]: 4}
    _, found = run("write", [str(tmp_path)], readonly=(str(tmp_path),))
    assert found[str(tmp_path)] in ("OSError", "PermissionError")
    link.unlink()


def test_a_path_through_links_holds_inside_by_every_name(zygote: Zygote, tmp_path: Path) -> None:
    """An environment below a linked home is named by the link's path, and any part of a path may be a link."""
    real, links = tmp_path / "real", tmp_path / "links"
    (real / "disk").mkdir(parents=True)
    links.mkdir()
    (real / "disk" / "file").write_text("text")
    (links / "relative").symlink_to("../links/absolute")
    (links / "absolute").symlink_to(real)
    (real / "home").symlink_to("disk")
    _world_readable(tmp_path)
    _open_way(tmp_path)
    names = [links / "relative" / "home", links / "absolute" / "home", real / "home", real / "disk"]
    found = runner(zygote)("look", [f"{name}/file" for name in names], readonly=(str(names[0]), str(names[-1])))[1]
    assert found == {f"{name}/file": 4 for name in names}
    assert runner(zygote)("write", [str(names[0])], writable=(str(names[0]),)) == (Exit(0), {str(names[0]): "written"})
    assert (real / "disk" / "assay-was-here").read_text() == "x"


def test_what_a_program_starts_with_tells_no_secret_and_no_folder_of_the_user(
    zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter2")
    for name, more in (("PATH", f":{os.environ['PATH']}"), ("PYTHONPATH", ""), ("CUDA_HOME", ""), ("PWD", "")):
        monkeypatch.setenv(name, f"{tmp_path}{more}")
    with Zygote.start((ENTRIES,), zygote.level) as own:
        _, found = runner(own)("describe")
    started_with = (found["first_environment"], *found["environment"].values(), *found["arguments"][1:])
    assert not [text for text in started_with if str(tmp_path) in text or str(ROOT) in text or "hunter2" in text]
    assert found["environment"]["HOME"] == found["environment"]["TMPDIR"] == found["cwd"]
    assert found["environment"]["LOGNAME"] == found["environment"]["USER"] == "worker", "libraries ask for it where the user has no name"


def test_writable_directories_take_files_and_come_back(zygote: Zygote, tmp_path: Path) -> None:
    _open_way(tmp_path)
    ended, found = runner(zygote)("write", [str(tmp_path)], writable=(str(tmp_path),))
    assert (ended, found) == (Exit(0), {str(tmp_path): "written"})
    assert (tmp_path / "assay-was-here").read_text() == "x"
    assert tmp_path.stat().st_uid == os.getuid()


def test_programs_at_the_same_time_share_a_writable_directory(zygote: Zygote, tmp_path: Path) -> None:
    _open_way(tmp_path.parent)
    tmp_path.chmod(0o700)
    wait = "while ! test -s b; do sleep 0.01; done; cat b; echo late > c"
    first = Program(argv=("sh", "-c", f"cd {tmp_path} && echo one > a && {wait}"), writable=(str(tmp_path),))
    second = Program(argv=("sh", "-c", f"cd {tmp_path} && while ! test -s a; do sleep 0.01; done; echo two > b"), writable=(str(tmp_path),))
    with zygote.start_program(first) as one, zygote.start_program(second) as other:
        assert other.wait(300) == Exit(0), other.output()
        assert one.wait(300) == Exit(0), one.output()
        assert one.output() == ("two\n", "")
    assert (tmp_path / "c").read_text() == "late\n"
    assert tmp_path.stat().st_mode & 0o007 == 0


def test_only_its_own_directory_can_be_written(confined_run: Runner, zygote: Zygote) -> None:
    places = ["/", "/usr", "/etc", "/dev", "/proc", "/usr/local", sys.prefix, sys.base_prefix, "/var/tmp", str(ROOT)]
    _, found = confined_run("write", places)
    assert set(found.values()) <= {"OSError", "PermissionError", "FileNotFoundError"}, found
    _, found = confined_run("write", ["."])
    assert found == {".": "written"}
    if zygote.level is Level.LANDLOCK:
        _, found = confined_run("write", ["/tmp", "/dev/shm"])
        assert set(found.values()) == {"PermissionError"}
    assert not Path("/tmp/assay-was-here").exists()


def test_no_privileges_are_left(confined_run: Runner, zygote: Zygote) -> None:
    _, found = confined_run("describe")
    if os.getuid() != 0 and zygote.level is Level.LANDLOCK:
        del found["capabilities"]["CapBnd"]  # takes a privilege to lower, and no_new_privs makes it idle
    assert set(found["capabilities"].values()) == {"0" * 16}
    assert found["no_new_privs"] == "1"
    assert found["seccomp"] == "2"
    assert found["uid"] != 0 and found["gid"] != 0


def test_as_root_each_program_is_another_user(zygote: Zygote) -> None:
    if os.getuid() != 0:
        pytest.skip("an ordinary user has no other users to become")
    told, tell = os.pipe()
    program = Program(argv=("sh", "-c", "id -u; id -G; read line <&3"))
    running = [zygote.start_program(program, {"told": told}) for _ in range(4)]
    os.write(tell, b"end\n" * 4)
    for confined in running:
        assert confined.wait(300) == Exit(0)
    identities = [confined.output()[0].split() for confined in running]
    assert len({user for user, _ in identities}) == 4
    assert all(61000 <= int(user) < 65000 and group == user for user, group in identities)
    for confined in running:
        confined.close()
    os.close(told)
    os.close(tell)


ON_X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")


@ON_X86_64
def test_system_calls_that_libraries_may_try_are_refused(confined_run: Runner) -> None:
    own = "process_vm_readv of itself"  # in a child it is another process's, so it is made in the program itself below
    _, found = confined_run(f"{SYSTEM_ENTRIES}:call_system", [name for name in REFUSED_X86_64 if name != own])
    assert found == dict.fromkeys(REFUSED_X86_64.keys() - {own}, errno.EPERM)
    assert confined_run(f"{SYSTEM_ENTRIES}:call_system_itself", own)[1] == errno.EPERM


@ON_X86_64
def test_system_calls_that_lead_out_end_the_process(confined_run: Runner) -> None:
    _, found = confined_run(f"{SYSTEM_ENTRIES}:call_system", list(DEADLY_X86_64))
    assert found == dict.fromkeys(DEADLY_X86_64, "SIGSYS")


@ON_X86_64
@pytest.mark.parametrize("name", ["ptrace", "unshare user"])
def test_the_supervisor_sees_that_end(confined_run: Runner, name: str) -> None:
    assert confined_run(f"{SYSTEM_ENTRIES}:call_system_itself", name) == (Exit(None, "SIGSYS"), "")


@ON_X86_64
def test_clones_and_unsharing_without_namespaces_are_allowed(confined_run: Runner) -> None:
    _, found = confined_run(f"{SYSTEM_ENTRIES}:call_system", list(HARMLESS_X86_64))
    assert found == dict.fromkeys(HARMLESS_X86_64, 0)


@ON_X86_64
def test_in_compilers_what_leads_out_is_refused_only(zygote: Zygote) -> None:
    with zygote.start_program(Program(argv=("unshare", "--user", "true"))) as confined:
        assert confined.wait(300) == Exit(1), confined.output()
        assert "Operation not permitted" in confined.output()[1]


def test_there_is_no_network(confined_run: Runner) -> None:
    _, found = confined_run(f"{SYSTEM_ENTRIES}:use_sockets")
    assert found.pop("pair") == "x"
    assert set(found.values()) == {"PermissionError"}


def test_only_its_own_processes_are_there(zygote: Zygote) -> None:
    run = runner(zygote)
    if zygote.level is Level.LANDLOCK:
        assert run("describe")[1]["processes"] == []
    else:
        assert len(run("describe")[1]["processes"]) <= 3
    _, found = run("signal_outside", [os.getpid(), os.getppid(), zygote.pid])
    assert set(found.values()) <= {"ProcessLookupError", "PermissionError"}


def test_processes_over_it_can_neither_be_read_nor_killed(zygote: Zygote) -> None:
    run = runner(zygote)
    assert run("attack_supervisor") == (Exit(0), [])
    assert run("kill_everything")[0] == Exit(9)
    assert run("seven")[0] == Exit(7)


def test_compilers_work_inside(zygote: Zygote, tmp_path: Path) -> None:
    source = "#include <vector>\nint main() { std::vector<int> v(3); return static_cast<int>(v.size()); }"
    command = f"printf '%s' '{source}' > a.cpp && g++ -O1 a.cpp -o a && ./a"
    with zygote.start_program(Program(argv=("sh", "-c", command))) as confined:
        assert confined.wait(300) == Exit(3), confined.output()


def test_at_level_none_limits_are_all_there_is() -> None:
    with Zygote.start((ENTRIES,), Level.NONE) as zygote:
        found = runner(zygote)("describe")[1]
        assert found["seccomp"] == "0"
        assert found["uid"] == os.getuid()
        assert zygote.level is Level.NONE
