"""The build graph: compiler calls as the edges of a `build.ninja`, which ninja runs as one program.

Each edge is a shell script in the graph's own folder. ninja's file names only the scripts, in plain letters that the builder chose, so
ninja reads no flag and no name of a request. An edge's output, exit code and times go to files beside its script.
"""

import re
import shlex
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.processes.runner import MAX_OUTPUT_BYTES, CommandResult, Ended, Runner
from evaluator.build.processes.work_folder import read_product, work_folder
from evaluator.build.toolchain import ninja_program

_PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,240}")
_LEFTOVERS_S = 0.1
"""How long ninja may run after all of its jobs have ended."""
_HEAD = """ninja_required_version = 1.11
pool jobs
  depth = {at_once}
pool halves
  depth = {at_once}
rule step
  command = setsid -w /bin/sh $in
"""
"""Linux shares CPU cores out by sessions: in its own session, an edge gets as much as any other program."""
_EDGE = """build {name}.code: step {name}.sh{after}
  pool = {pool}
"""
_SCRIPT = """: > {name}.began
{{ ( cd {folder} || exit 125
{command}
) 2>&1; echo $? > {name}.status; }} 2> {name}.signal | {{ ulimit -f {blocks}; trap '' XFSZ
cat > {name}.log || {{ cat > /dev/null; : > {name}.cut; }}; }} 2> /dev/null
read -r code < {name}.status
echo "$code" > {name}.code
exit "$code"
"""
"""The shell writes to its standard error when a signal ended a command, which distinguishes that from an exit code above 128. Output beyond
the limit is dropped; `cut` records that. A full disk has the same effect below the limit."""
_SIGNALS_ABOVE = 128
_BLOCK_BYTES = 512
"""Unit of a shell's limit on file sizes."""


@dataclass(frozen=True)
class Edge:
    """One command of the graph."""

    name: str
    """Only letters, digits and _.+-; unique in the graph."""
    command: str
    """For a shell, in the build's folder."""
    after: tuple[str, ...] = ()
    """Edges that must succeed first."""
    beside: bool = False
    """Whether it runs beside another edge of its job, within the same memory."""


@dataclass(frozen=True)
class Job:
    """The edges that make one file."""

    output: str
    edges: tuple[Edge, ...]
    """In order of reporting: the first that failed decides, and the output of later ones is dropped."""


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    output: str
    result: CommandResult
    duration_s: float
    """From the start of its first edge to the end of the deciding one."""


class GraphRun:
    """Jobs run by ninja, `at_once` of them at a time. Close it after use."""

    def __init__(self, runner: Runner, folder: Path, env: dict[str, str], jobs: Sequence[Job], at_once: int) -> None:
        """Starts them in `folder`. Raises OSError if that fails, and ValueError for a name that is not plain or not unique."""
        self._left = list(jobs)
        self._ended: Ended | None = None
        self._timed_out = False
        with ExitStack() as stack:
            self._place = stack.enter_context(work_folder())
            _write(self._place, folder, [edge for job in jobs for edge in job.edges], at_once)
            # -k 0: a failure stops only what depends on it. A job has at most two edges at a time.
            argv = (str(ninja_program()), "--quiet", "-k", "0", "-j", str(2 * at_once))
            self._running = runner.start(argv, self._place, env, writable=(folder,), at_once=at_once)
            stack.callback(self._running.close)
            self._open = stack.pop_all()

    @property
    def left(self) -> int:
        """Number of jobs whose end `wait` has not returned yet."""
        return len(self._left)

    @property
    def ends_with_ninja(self) -> bool:
        """Whether no job can end before ninja does."""
        return len(self._left) == 1 and len(self._left[0].edges) == 1

    def wait(self, timeout_s: float) -> list[JobEnd]:
        """The jobs that ended since the last call. Waits up to `timeout_s` until all have ended. Raises OSError as the runner does."""
        if self._ended is None:
            self._ended = self._running.wait(timeout_s)
        return self._told()

    def stop(self) -> list[JobEnd]:
        """Kill the remaining jobs, since their time is over. Raises OSError as the runner does."""
        before = self._told()
        if not self._left:
            return before
        self._ended, self._timed_out = self._running.kill(), True
        return before + self._told()

    def close(self) -> None:
        """Kill the remaining jobs, and remove the graph's files."""
        self._open.close()

    def _told(self) -> list[JobEnd]:
        found = [end for job in self._left if (end := self._end_of(job))]
        if found and len(found) == len(self._left) and self._ended is None:
            # ninja's own exit explains why its last edges failed.
            self._ended = self._running.wait(_LEFTOVERS_S) or self._running.kill()
            found = [end for job in self._left if (end := self._end_of(job))]
        told = {end.output for end in found}
        self._left = [job for job in self._left if job.output not in told]
        return found

    def _end_of(self, job: Job) -> JobEnd | None:
        """None while it runs."""
        texts: list[str] = []
        begun_at = ended_at = self._time_of(f"{job.edges[0].name}.began")
        result: CommandResult | None = None
        for edge in job.edges:
            code = self._text(f"{edge.name}.code", 16)
            ended = code.endswith("\n")
            if not ended and self._ended is None:
                return None
            texts.append(self._text(f"{edge.name}.log", MAX_OUTPUT_BYTES))
            if not ended:
                ended_at = time.time() if begun_at else 0.0
                result = self._unfinished(texts)
                break
            ended_at = self._time_of(f"{edge.name}.code")
            if code != "0\n":
                result = self._failed(edge, code.strip(), texts)
                break
        return JobEnd(job.output, result or CommandResult(0, timed_out=False, output=_joined(texts)), max(ended_at - begun_at, 0.0))

    def _failed(self, edge: Edge, code: str, texts: list[str]) -> CommandResult:
        number = int(code) if code.isdecimal() else None
        shortage = self._ended.shortage if self._ended else ""
        killed = number is None or (number > _SIGNALS_ABOVE and self._text(f"{edge.name}.signal", 1))
        # A compiler is killed before its script, which may still write that a signal ended it.
        timed_out = bool(killed) and self._timed_out
        shortage = shortage or self._lost(edge)
        return CommandResult(None if killed or shortage else number, timed_out, _joined([*texts, shortage]))

    def _lost(self, edge: Edge) -> str:
        """Why an edge's output, which may hold the reason of a failure, is missing; empty if it is not."""
        log = self._place / f"{edge.name}.log"
        is_lost = (self._place / f"{edge.name}.cut").exists() and not (log.exists() and log.lstat().st_size >= MAX_OUTPUT_BYTES)
        return "what the compiler said could not be written" if is_lost else ""

    def _unfinished(self, texts: list[str]) -> CommandResult:
        """The result of a job with an unfinished edge."""
        assert self._ended is not None
        why = "" if self._timed_out else self._ended.shortage or f"ninja ended before it was done\n{self._ended.output}"
        return CommandResult(None, self._timed_out, _joined([*texts, why]))

    def _text(self, name: str, limit_bytes: int) -> str:
        try:
            return read_product(self._place / name, limit_bytes).decode(errors="replace")
        except OSError:
            return ""

    def _time_of(self, name: str) -> float:
        """A file's modification time; 0 if it does not exist."""
        try:
            return (self._place / name).lstat().st_mtime
        except OSError:
            return 0.0


def shell_command(argv: Iterable[str], variables: dict[str, str] | None = None) -> str:
    """A shell command that sets these variables in addition to the graph's."""
    return f"{exports(variables or {})}exec {shlex.join(argv)}"


def exports(variables: dict[str, str]) -> str:
    """Shell script lines that set variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def _write(place: Path, folder: Path, edges: Sequence[Edge], at_once: int) -> None:
    names = [edge.name for edge in edges]
    if len(set(names)) < len(names) or not all(_PLAIN.fullmatch(name) for name in names):
        raise ValueError("each edge needs a unique name of plain letters")
    lines = [_HEAD.format(at_once=at_once)]
    for edge in edges:
        after = "".join(f" {name}.code" for name in edge.after)
        lines.append(_EDGE.format(name=edge.name, after=f" |{after}" if after else "", pool="halves" if edge.beside else "jobs"))
        script = _SCRIPT.format(
            name=edge.name, folder=shlex.quote(str(folder)), command=edge.command, blocks=MAX_OUTPUT_BYTES // _BLOCK_BYTES
        )
        (place / f"{edge.name}.sh").write_text(script, encoding="utf-8", errors="surrogateescape")
    (place / "build.ninja").write_text("".join(lines))


def _joined(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" if text and not text.endswith("\n") else text for text in texts)
