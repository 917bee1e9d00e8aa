"""Control groups: a memory limit, a process limit, and one write that kills everything inside. Version 2, version 1, or both together."""

import errno
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

from evaluator.sandbox import linux
from evaluator.sandbox.limits import Limits

_LOG = logging.getLogger(__name__)
_REMOVE_WITHIN_S = 2.0


@dataclass(frozen=True)
class Parents:
    """Where this process may make groups; None for kinds that it may not make."""

    memory: Path | None = None
    pids: Path | None = None
    kill: Path | None = None
    """A version 2 hierarchy whose groups have `cgroup.kill`."""
    memory_v2: bool = False
    pids_v2: bool = False


def find_parents() -> Parents:
    """Find where groups can be made, limited and entered; each result was tried."""
    own = _own_paths()
    unified = _version_two_directories(own)
    memory_v2, pids_v2 = (_usable_v2(unified, controller) for controller in ("memory", "pids"))
    memory = memory_v2 or _usable_v1(own, "memory", "memory.limit_in_bytes")
    pids = pids_v2 or _usable_v1(own, "pids", "pids.max")
    kill = memory_v2 or pids_v2 or next((path for path in unified if _works(path, "cgroup.kill")), None)
    return Parents(memory, pids, kill, memory_v2 is not None, pids_v2 is not None)


def _own_paths() -> dict[str, str]:
    """Path of this process in each hierarchy, by version 1 controller; "" is version 2."""
    paths = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def _directory(mount: linux.Mount, path: str) -> Path:
    """Directory of the group `path`; a container may see only the part of the hierarchy that `mount.root` names."""
    below = path.removeprefix(mount.root) if mount.root != "/" and path.startswith(mount.root) else path
    directory = Path(mount.point) / below.lstrip("/")
    return directory if directory.is_dir() else Path(mount.point)


def _version_two_directories(own: dict[str, str]) -> list[Path]:
    """This process's group of version 2 and those above it: a group with processes in it can't pass controllers on, one above may."""
    for mount in linux.mounts():
        if mount.kind == "cgroup2" and "" in own:
            directory, top = _directory(mount, own[""]), Path(mount.point)
            return [path for path in (directory, *directory.parents) if path == top or top in path.parents]
    return []


def _usable_v2(directories: list[Path], controller: str) -> Path | None:
    for directory in directories:
        try:
            if controller not in (directory / "cgroup.controllers").read_text().split():
                continue
            if controller not in (directory / "cgroup.subtree_control").read_text().split():
                _write(directory / "cgroup.subtree_control", f"+{controller}")
        except OSError:
            continue
        if _works(directory, f"{controller}.max"):
            return directory
    return None


def _usable_v1(own: dict[str, str], controller: str, needed: str) -> Path | None:
    for mount in linux.mounts():
        if mount.kind == "cgroup" and controller in mount.super_options and controller in own:
            directory = _directory(mount, own[controller])
            return directory if _works(directory, needed) else None
    return None


def _works(parent: Path, needed: str) -> bool:
    """Whether a group can be made under `parent`, has the file `needed`, and accepts a process."""
    trial = parent / f"assay-trial-{os.getpid()}"
    try:
        trial.mkdir(exist_ok=True)
    except OSError:
        return False
    try:
        return os.access(trial / needed, os.W_OK) and _can_enter(trial)
    finally:
        _remove(trial)


def _can_enter(directory: Path) -> bool:
    child = os.fork()
    if not child:
        code = 1
        try:
            _write(directory / "cgroup.procs", "0")
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Group:
    """The groups of one child, one in each hierarchy that is used."""

    memory: Path | None
    memory_v2: bool
    pids: Path | None
    kill_file: Path | None
    directories: tuple[Path, ...]

    @classmethod
    def make(cls, parents: Parents, name: str, limits: Limits) -> "Group":
        """Make and limit the groups called `name`; without any parents, a group that does nothing."""
        memory, pids, kill = (parent and parent / name for parent in (parents.memory, parents.pids, parents.kill))
        directories = tuple(dict.fromkeys(path for path in (memory, pids, kill) if path))
        for directory in directories:
            directory.mkdir()
        if memory and parents.memory_v2:
            _write(memory / "memory.max", str(limits.memory_bytes))
            _write_if_there(memory / "memory.swap.max", "0")
            _write_if_there(memory / "memory.oom.group", "1")
        elif memory:
            _write(memory / "memory.limit_in_bytes", str(limits.memory_bytes))
            _write_if_there(memory / "memory.memsw.limit_in_bytes", str(limits.memory_bytes))
        if pids:
            _write(pids / "pids.max", str(limits.processes))
        return cls(memory, parents.memory_v2, pids, kill and kill / "cgroup.kill", directories)

    def open_entrances(self) -> list[int]:
        """Descriptors into which a process writes "0" to enter; they work even if the file system is not visible."""
        return [os.open(directory / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for directory in self.directories]

    def memory_exceeded(self) -> bool:
        """Whether the kernel has killed a process of the group for exceeding its memory limit."""
        if self.memory is None:
            return False
        lines = (self.memory / ("memory.events" if self.memory_v2 else "memory.oom_control")).read_text().splitlines()
        return any(int(value) > 0 for name, _, value in (line.partition(" ") for line in lines) if name == "oom_kill")

    def kill(self) -> None:
        """SIGKILL everything inside, at once where the kernel can (5.14), else one by one."""
        if self.kill_file and self.kill_file.exists():
            _write(self.kill_file, "1")
            return
        for directory in self.directories[:1]:
            for line in (directory / "cgroup.procs").read_text().split():
                if int(line) > 0:
                    _kill(int(line))

    def remove(self) -> None:
        """Remove the groups; their processes must be dead."""
        for directory in self.directories:
            _remove(directory)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        _LOG.debug("process %d ended before it was killed", pid)


def _write_if_there(path: Path, text: str) -> None:
    if path.exists():
        _write(path, text)


def _remove(directory: Path) -> None:
    """Retries, since processes leave their group a moment after they were reaped."""
    deadline = time.monotonic() + _REMOVE_WITHIN_S
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                _LOG.warning("control group %s could not be removed: %s", directory, error)
                return
            time.sleep(0.005)
        else:
            return


def remove_stale(parents: Parents) -> None:
    """Remove the empty groups of fork servers that have ended; names are `assay-<zygote>-<supervisor>`."""
    for parent in {path for path in (parents.memory, parents.pids, parents.kill) if path}:
        for directory in parent.glob("assay-*-*"):
            zygote = directory.name.split("-")[1]
            if zygote.isdigit() and not Path("/proc", zygote).exists():
                try:
                    directory.rmdir()
                except OSError as error:
                    _LOG.debug("control group %s left behind: %s", directory, error)
