"""bubblewrap: the `bwrap` program makes the view and the namespaces; it may be allowed to when Assay is not.

It executes a new program, so the start is cold: a fresh Python in the sandbox runs `exec_launcher`. Of Assay's code, that Python sees only
the sandbox and the package of the entry, under /assay.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluator.sandbox import view
from evaluator.sandbox.levels.child import FIRST_DESCRIPTOR, ChildPlan
from evaluator.sandbox.program import Program, SandboxUnavailable, preloading
from evaluator.sandbox.view import Kind, ViewEntry

CODE = "/assay"
"""Where the sandbox's own code is visible inside."""
_COLD = "import sys; sys.path.insert(0, '{code}'); from evaluator.sandbox.levels.exec_launcher import main; main({report}, {plan})"
_KEPT_BACK = ("PATH", "PYTHONPATH", "CUDA_HOME", "CUDA_PATH", "LD_PRELOAD")
"""The fork server's variables that the fresh Python does not get: paths, which the program could read, and preloads for warm entries."""
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")


@dataclass(frozen=True)
class BwrapCommand:
    """A command line of bwrap."""

    argv: tuple[str, ...]
    env: dict[str, str]
    data: tuple[int, ...]
    """Descriptors that the command reads; they must follow those of the program and the report."""


def command(plan: ChildPlan, user: int) -> BwrapCommand:
    """The command that runs `plan` as `user` (its number inside). Raises SandboxUnavailable without bwrap."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable("bubblewrap (bwrap) is not installed")
    report = FIRST_DESCRIPTOR + len(plan.names)
    data = [_file_of(json.dumps({**asdict(plan), "program": plan.program.to_json(), "path": view.search_path()}))]
    arguments: list[str] = []
    made = {"/"}
    for entry in view.compose(plan.program, user, tuple(_code(plan.program))):
        for parent in [str(parent) for parent in reversed(Path(entry.target).parents) if str(parent) not in made]:
            arguments += ["--dir", parent]  # bwrap itself would make it for root alone
            made.add(parent)
        if entry.kind is Kind.TEXT:
            arguments += ["--perms", "0644", "--ro-bind-data", str(report + 1 + len(data)), entry.target]
            data.append(_file_of(entry.source))
        else:
            arguments += _arguments(entry)
        made.add(entry.target)
    python = _COLD.format(code=CODE, report=report, plan=report + 1)
    argv = (
        *(bwrap, "--die-with-parent", "--new-session", *_NAMESPACES, *_privileges(plan), "--hostname", "assay"),
        *(*arguments, "--proc", "/proc", "--remount-ro", "/", "--chdir", "/tmp", *_preload(plan.program)),
        *("--", sys.executable, "-B", "-c", python),
    )
    env = {name: value for name, value in os.environ.items() if name not in _KEPT_BACK}
    return BwrapCommand(argv, env, tuple(data))


def _privileges(plan: ChildPlan) -> tuple[str, ...]:
    """Root stays root until the launcher inside becomes the program's user; an ordinary user becomes another in its own namespace."""
    if plan.user is None:
        return ("--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL")
    kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_SYS_RESOURCE", "CAP_KILL")
    return ("--cap-drop", "ALL", *(word for name in kept for word in ("--cap-add", name)))


def _arguments(entry: ViewEntry) -> tuple[str, ...]:
    match entry.kind:
        case Kind.LINK:
            return ("--symlink", entry.source, entry.target)
        case Kind.READONLY:
            return ("--ro-bind", entry.source, entry.target)
        case Kind.WRITABLE:
            return ("--bind", entry.source, entry.target)
        case Kind.DEVICE:
            return ("--dev-bind", entry.source, entry.target)
        case Kind.TMPFS:
            return ("--perms", "1777", "--size", str(entry.size_bytes), "--tmpfs", entry.target)
        case _ if Path(entry.source).is_dir():
            return ("--perms", "0555", "--tmpfs", entry.target, "--remount-ro", entry.target)
        case _:
            return ("--ro-bind", "/dev/null", entry.target)


def _preload(program: Program) -> tuple[str, ...]:
    found = preloading(program.preload, os.environ.get("LD_LIBRARY_PATH")) if program.preload and program.entry else {}
    return tuple(word for name, value in found.items() for word in ("--setenv", name, value))


_BESIDE: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {("evaluator", "worker"): (("evaluator", "dsl"),)}
"""Packages of Assay's that an entry's package imports."""


def _code(program: Program) -> Iterator[ViewEntry]:
    """The sandbox's code, the package of the entry and its imports, with the __init__ files above them."""
    root = view.PROJECT_ROOT
    packages: list[tuple[str, ...]] = [("evaluator", "sandbox")]
    if program.entry:
        own = tuple(program.entry.partition(":")[0].split(".")[:-1])
        packages += [own, *_BESIDE.get(own, ())]
    for package in packages:
        for length in range(1, len(package)):
            initial = root.joinpath(*package[:length], "__init__.py")
            if initial.is_file():
                yield ViewEntry(f"{CODE}/{initial.relative_to(root)}", Kind.READONLY, str(initial))
        folder = root.joinpath(*package)
        if package and folder.is_dir():
            yield ViewEntry(f"{CODE}/{folder.relative_to(root)}", Kind.READONLY, str(folder))


def _file_of(text: str) -> int:
    descriptor = os.memfd_create("assay")
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
