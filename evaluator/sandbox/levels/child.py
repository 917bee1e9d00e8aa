"""The last steps of a confined process before it runs untrusted code, and running that.

This code runs after the old root is gone, so everything that it needs is imported before.
"""

import importlib
import os
import random
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from evaluator.sandbox import linux
from evaluator.sandbox.levels import landlock, seccomp
from evaluator.sandbox.limits import apply_rlimits
from evaluator.sandbox.program import Level, Program, preloading
from evaluator.sandbox.view import search_path

EXITED, FAILED = b"X", b"E"
"""First byte of the report to the supervisor: the program's wait status in decimal, or an error of the sandbox."""
FIRST_DESCRIPTOR = 3
"""A program's descriptors are numbered from here, in the order of their names in the request."""


@dataclass(frozen=True)
class ChildPlan:
    """The data that a child needs besides its program."""

    program: Program
    level: Level
    names: tuple[str, ...]
    """Names of the descriptors given, in order."""
    user: int | None
    """Host user and group to become; None to stay."""
    processes: int
    """RLIMIT_NPROC."""
    groups: tuple[int, ...] = ()
    """Supplementary groups, where there is a user to become."""
    home: str = "/tmp"
    """Working directory, HOME and TMPDIR: the only writable place besides `Program.writable`."""
    rules: tuple[landlock.Rule, ...] = ()
    """Landlock's rules, at the level of that name."""
    reaching_sockets: bool = True
    """Whether a socket of AF_UNIX may reach an address."""


def confine(plan: ChildPlan, entrances: list[int]) -> None:
    """Enter the control groups and give up all rights except system calls; then call `run`."""
    linux.prctl(linux.PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root
    Path("/proc/self/oom_score_adj").write_text("1000")
    enter_groups(entrances)
    os.setsid()
    linux.new_session_keyring()
    if plan.level is not Level.NONE:
        linux.drop_bounding_set()
    if plan.user is not None:
        os.setgroups(list(plan.groups))
        os.setresgid(plan.user, plan.user, plan.user)
        os.setresuid(plan.user, plan.user, plan.user)
    if plan.level is not Level.NONE:
        linux.drop_capabilities()
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    linux.prctl(linux.PR_SET_DUMPABLE, 1)  # a change of user closes off /proc/self/fd, through which shared objects are loaded
    linux.die_with_parent(signal.SIGKILL)
    os.umask(0o022)
    os.chdir(plan.home)
    _restrict_files(plan)
    apply_rlimits(plan.program.limits, processes=plan.processes)


def enter_groups(entrances: list[int]) -> None:
    """Enter control groups through the descriptors from `cgroup.Group.open_entrances`, and close these."""
    for descriptor in entrances:
        os.write(descriptor, b"0")
        os.close(descriptor)


@contextmanager
def reporting(report: int) -> Iterator[None]:
    """In a forked process: send errors of the sandbox's own code to the supervisor through `report`, and end the process with the block."""
    try:
        yield
    finally:
        error = sys.exc_info()[1]
        try:
            if error is not None:
                os.write(report, FAILED + f"{type(error).__name__}: {error}"[:2000].encode())
        finally:
            os._exit(1)


def relay(worker: int, report: int) -> NoReturn:
    """Reap until `worker` ends, write its status to `report`, and end; does not return. All other descriptors are closed."""
    os.closerange(0, report)
    os.closerange(report + 1, 1 << 20)
    while True:
        pid, status = os.wait()
        if pid == worker:
            os.write(report, EXITED + f"{status} ".encode())
            os._exit(0)


def _restrict_files(plan: ChildPlan) -> None:
    if plan.level is Level.LANDLOCK:
        landlock.restrict(landlock.READ | landlock.WRITE | landlock.IOCTL_DEV, plan.rules)
    elif plan.level is not Level.NONE and landlock.abi() >= landlock.RENAME_ABI:
        writable = [plan.home, "/dev/shm", *plan.program.writable, *(os.path.realpath(path) for path in plan.program.writable)]
        rules = [(path, landlock.WRITE) for path in writable]
        files = landlock.WRITE_FILE | landlock.TRUNCATE
        landlock.restrict(landlock.WRITE, [*rules, ("/dev", files), ("/proc", files)])


def arrange(stdout: int, stderr: int, given: list[int], kept: list[int]) -> list[int]:
    """Make `given` 3, 4, … and /dev/null, `stdout`, `stderr` 0, 1, 2; close all others but `kept`; return the new numbers of `kept`."""
    null = os.open("/dev/null", os.O_RDONLY)
    wanted = [null, stdout, stderr, *given, *kept]
    above = max(len(wanted), *wanted) + 1
    copies = []
    for index, descriptor in enumerate(wanted):
        os.dup2(descriptor, above + index)
        copies.append(above + index)
    for number, copy in enumerate(copies):
        os.dup2(copy, number, inheritable=True)
    os.closerange(len(wanted), 1 << 20)
    return list(range(len(wanted) - len(kept), len(wanted)))


def run(plan: ChildPlan, report: int) -> NoReturn:
    """Install the system call filter, close the descriptor `report`, and run the program; does not return."""
    program = plan.program
    environment = _environment(plan)
    if plan.level is not Level.NONE and seccomp.supported():
        seccomp.install(reaching_sockets=plan.reaching_sockets, deadly=program.entry is not None, keeps_cores=bool(program.cores))
    os.close(report)
    if program.argv:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        _execute(program, environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    _call(program.entry or "", {name: FIRST_DESCRIPTOR + index for index, name in enumerate(plan.names)})


def _environment(plan: ChildPlan) -> dict[str, str]:
    base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": plan.home, "TMPDIR": plan.home, "LANG": "C.UTF-8"}
    base["LOGNAME"] = base["USER"] = "worker"  # its user may have no name on this machine, and libraries ask for one
    environment = {**base, **plan.program.env}
    if plan.program.preload and plan.program.argv:
        environment |= preloading(plan.program.preload, environment.get("LD_LIBRARY_PATH"))
    return environment


def _execute(program: Program, environment: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(program.argv[0], program.argv, environment)
    except OSError as error:
        os.write(2, f"{program.argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _call(entry: str, fds: dict[str, int]) -> NoReturn:
    """Call an entry like a main program: an exception ends with its traceback and code 1, SystemExit with its own code."""
    code = 1
    try:
        module, _, function = entry.partition(":")
        target = getattr(importlib.import_module(module), function)
        _forget_project()
        random.seed()
        sys.argv = ["worker"]
        code = target(fds) or 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    finally:
        _finish(code)


def _finish(code: int) -> NoReturn:
    try:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)


def _forget_project() -> None:
    sys.path[:] = [path for path in search_path() if Path(path) != Path.cwd()]
    sys.path_importer_cache.clear()
