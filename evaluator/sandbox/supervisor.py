"""The trusted process above one confined program: starts it, kills it on request or at a limit, cleans up, and reports.

It stays in the host's namespaces, talks to the judge over one socket (end of file means: kill) and is forked again for every program.
"""

import json
import logging
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from evaluator.sandbox import limits, linux, view
from evaluator.sandbox.affinity import kept_to
from evaluator.sandbox.levels import bubblewrap, child, landlock, landlock_rules, namespaces
from evaluator.sandbox.program import Level, Program, SandboxUnavailable
from evaluator.sandbox.resources import disk, process_tree
from evaluator.sandbox.resources.cgroup import Group, Parents
from evaluator.sandbox.resources.per_program import WRITERS, ProgramResources, claimed_user, prepared

_LOG = logging.getLogger(__name__)
_TICK_S = 0.1
"""How often to check memory and disk that the kernel does not limit."""
_SWEEP_S = 5.0


@dataclass(frozen=True)
class Request:
    """A judge's request to run one program."""

    program: Program
    names: tuple[str, ...]
    control: socket.socket
    stdout: int
    stderr: int
    given: list[int]


@dataclass
class _State:
    """The state of the supervisor's child."""

    killed: bool = False
    lost: bool = False
    """Whether the program was killed because the fork server ended."""
    memory_exceeded: bool = False
    disk_exceeded: bool = False
    status: int | None = None

    @property
    def ended_by_us(self) -> bool:
        """Whether the supervisor killed it."""
        return self.killed or self.lost or self.memory_exceeded or self.disk_exceeded


def supervise(request: Request, level: Level, parents: Parents, zygote: int) -> NoReturn:
    """Run `request` to its end in this process, which was forked for it; does not return."""
    answer: dict[str, object] = {"error": "the supervisor failed"}
    try:
        answer = _supervise(request, level, parents, zygote)
    except (OSError, SandboxUnavailable, KeyError, ValueError) as error:
        _LOG.debug("a child could not be started", exc_info=True)
        answer = {"error": f"{type(error).__name__}: {error}"}
    finally:
        if sys.exc_info()[0] is not None:
            answer = {"error": traceback.format_exc(limit=4)}
        with suppress(OSError):  # a judge that has gone away wants no reply
            request.control.send(json.dumps(answer).encode())
        os._exit(0)


def _supervise(request: Request, level: Level, parents: Parents, zygote: int) -> dict[str, object]:
    wake = _wake_on_signals()
    os.setsid()
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    with claimed_user(level) as user, prepared(request.program, level, parents, user) as resources:
        entrances = resources.group.open_entrances()
        report, report_end = os.pipe()
        if level is Level.NAMESPACES:
            namespaces.leave_processes()
        linux.die_with_parent(signal.SIGTERM)
        if os.getppid() != zygote:
            raise SandboxUnavailable("the sandbox's fork server ended")
        with kept_to(request.program.cores):
            pid = _start(request, level, resources, entrances, report_end)
        for descriptor in (report_end, request.stdout, request.stderr, *request.given, *entrances):
            os.close(descriptor)
        state = _State()
        _watch(state, pid, request, resources, wake)
        if level is not Level.NAMESPACES:
            _sweep(resources.group, user)
        state.memory_exceeded |= resources.group.memory_exceeded()
        return _answer(state, level, _read_all(report))


def _read_all(pipe: int) -> bytes:
    """All data written so far, without waiting for more."""
    os.set_blocking(pipe, False)
    text = b""
    with suppress(BlockingIOError):
        while piece := os.read(pipe, 65536):
            text += piece
    return text


def _wake_on_signals() -> int:
    """A descriptor that becomes readable when a child or the fork server ends."""
    wake, wake_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return wake


def _start(request: Request, level: Level, resources: ProgramResources, entrances: list[int], report: int) -> int:
    """Fork the child; returns the number of process 1 of the namespace, bubblewrap, or the program itself, depending on the level."""
    if level is Level.LANDLOCK and (missing := landlock.shortcoming(landlock.abi(), own_user=resources.user is not None)):
        raise SandboxUnavailable(missing)
    program = request.program
    inside = namespaces.NOBODY if resources.user is None else resources.user
    entries = [] if level in (Level.NONE, Level.BUBBLEWRAP) else view.compose(program, inside)
    plan = child.ChildPlan(
        program=program,
        level=level,
        names=request.names,
        user=resources.user,
        processes=_process_limit(level, program),
        groups=(WRITERS,) if program.writable else (),
        home=resources.home,
        rules=tuple(landlock_rules.for_view(entries, resources.home, lax=program.lax)) if level is Level.LANDLOCK else (),
        reaching_sockets=program.lax or level is not Level.LANDLOCK,
    )
    if level is Level.NAMESPACES:
        return _fork(lambda: _be_first(request, plan, entries, entrances, report), report)
    if level is Level.BUBBLEWRAP:
        return _fork(lambda: _be_bubblewrap(request, plan, inside, entrances, report), report)
    return _fork(lambda: _be_worker(request, plan, entrances, report), report)


def _process_limit(level: Level, program: Program) -> int:
    """RLIMIT_NPROC, which counts the threads of a user: only the program's if it has its own user, or since Linux 5.14 its own user
    namespace."""
    counted_alone = os.getuid() == 0 or (level in (Level.NAMESPACES, Level.BUBBLEWRAP) and linux.release() >= (5, 14))
    return program.limits.processes + (0 if counted_alone else limits.threads_of_user(os.getuid()))


def _fork(body: Callable[[], NoReturn], report: int) -> int:
    pid = os.fork()
    if not pid:
        _become(body, report)
    return pid


def _become(body: Callable[[], NoReturn], report: int) -> NoReturn:
    with child.reporting(report):
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        body()


def _be_first(request: Request, plan: child.ChildPlan, entries: list[view.ViewEntry], entrances: list[int], report: int) -> NoReturn:
    """Process 1 of the namespace: build the view, fork the program, reap until it ends, and report how."""
    linux.die_with_parent(signal.SIGKILL)
    if _nobody_reads(report):
        raise SandboxUnavailable("the supervisor ended")
    namespaces.enter(entries)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)  # the program, which may run as the same user, must not get its descriptors and memory
    worker = _fork(lambda: _be_worker(request, plan, entrances, report), report)
    child.relay(worker, report)


def _nobody_reads(pipe: int) -> bool:
    poller = select.poll()
    poller.register(pipe, 0)
    return any(event & select.POLLERR for _, event in poller.poll(0))


def _be_worker(request: Request, plan: child.ChildPlan, entrances: list[int], report: int) -> NoReturn:
    report, *entrances = child.arrange(request.stdout, request.stderr, request.given, [report, *entrances])
    with child.reporting(report):
        child.confine(plan, entrances)
        child.run(plan, report)


def _be_bubblewrap(request: Request, plan: child.ChildPlan, inside: int, entrances: list[int], report: int) -> NoReturn:
    child.enter_groups(entrances)
    command = bubblewrap.command(plan, inside)
    child.arrange(request.stdout, request.stderr, request.given, [report, *command.data])
    os.execve(command.argv[0], command.argv, command.env)


def _watch(state: _State, pid: int, request: Request, resources: ProgramResources, wake: int) -> None:
    """Until the child is reaped: kill it when the judge hangs up, the fork server ends, or memory or disk exceed their limits."""
    allowed, group = request.program.limits, resources.group
    directory = disk.Watch(resources.home, allowed.tmp_bytes) if resources.on_shared_disk else None
    poller = select.poll()
    poller.register(request.control, select.POLLIN)
    poller.register(wake, select.POLLIN)
    enforced = group.memory is not None and group.memory_v2
    while state.status is None:
        ready = {descriptor for descriptor, _ in poller.poll(None if enforced and directory is None else _TICK_S * 1000)}
        if wake in ready:
            state.lost |= signal.SIGTERM in os.read(wake, 4096)
            state.status = _reap(pid)
        if request.control.fileno() in ready:
            state.killed = True
            poller.unregister(request.control)
        if not enforced and not state.memory_exceeded:
            # Orphans of the program are below this process too.
            used = 0 if group.memory else process_tree.resident_bytes(os.getpid())
            state.memory_exceeded = group.memory_exceeded() or used > allowed.memory_bytes
        if directory is not None and state.status is None and not state.ended_by_us:
            state.disk_exceeded = directory.exceeded(os.getpid())
        if state.status is None and state.ended_by_us:
            os.kill(pid, signal.SIGKILL)


def _reap(pid: int) -> int | None:
    """Reap all children that have ended; returns the status of `pid` if it is one of them."""
    status = None
    while True:
        try:
            ended, value = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not ended:
            return status
        status = value if ended == pid else status


def _sweep(group: Group, user: int | None) -> None:
    """Kill all remaining processes of the program; those without a parent have become children of this process."""
    deadline = time.monotonic() + _SWEEP_S
    while (left := process_tree.descendants(os.getpid())) and time.monotonic() < deadline:
        group.kill()
        if user is not None:
            _kill_all_of(user)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap(0)
        time.sleep(0.002)


def _kill_all_of(user: int) -> None:
    """kill(-1) as that user reaches all its processes at once, faster than a fork bomb makes new ones."""
    pid = os.fork()
    if not pid:
        try:
            os.setresuid(user, user, user)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _answer(state: _State, level: Level, report: bytes) -> dict[str, object]:
    """The reply to the judge."""
    if state.lost:
        raise SandboxUnavailable("the sandbox's fork server ended, and the program with it")
    status = state.status or 0
    if report.startswith(child.FAILED) and not state.ended_by_us:
        raise SandboxUnavailable(report[len(child.FAILED) :].decode(errors="replace"))
    if level in (Level.NAMESPACES, Level.BUBBLEWRAP):
        status = _relayed(status, report, killed=state.ended_by_us)
    return {"status": status, "memory_exceeded": state.memory_exceeded, "disk_exceeded": state.disk_exceeded}


def _relayed(status: int, report: bytes, *, killed: bool) -> int:
    """The program's own status, reported by its parent; if that was killed first, so was the program."""
    if report.startswith(child.EXITED):
        return int(report[len(child.EXITED) :].split()[0])
    if killed or os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 128 + signal.SIGKILL:
        return int(signal.SIGKILL)
    raise SandboxUnavailable(f"the program's parent ended with status {status:#x} without saying how the program ended")
