"""The build graph: compiler calls as the edges of a `build.ninja`, which ninja runs as one program.

Each edge is a shell script in a folder of the graph's own. ninja's file names the scripts, in plain letters that the builder chose: no flag
and no name of a request is ever read by ninja. What an edge says, its exit code and its times go to files beside its script.
"""

import re
import shlex
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.runner import MAX_OUTPUT_BYTES, CommandResult, Ended, Runner
from evaluator.build.toolchain import ninja_program
from evaluator.build.work_folder import read_product, work_folder

_PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,240}")
_LEFTOVERS_S = 0.1
"""How long ninja may go on when all of its jobs have ended."""
_HEAD = """ninja_required_version = 1.11
pool jobs
  depth = {at_once}
pool halves
  depth = {at_once}
rule step
  command = setsid -w /bin/sh $in
"""
"""Linux shares processors out by sessions: in one of its own, an edge gets as much as any other program."""
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
"""The shell itself says on its standard error when a signal ended a command, so that its exit code is told from one above 128. What an edge
says beyond the limit is read and dropped; `cut` tells that something was. Where the disk is full, that is so below the limit too."""
_SIGNALS_ABOVE = 128
_BLOCK_BYTES = 512
"""What a shell's limit of file sizes is counted in."""


@dataclass(frozen=True)
class Edge:
    """One command of the graph."""

    name: str
    """Letters, digits and _.+- alone; no other edge of the graph has it."""
    command: str
    """For a shell, in the folder of the build."""
    after: tuple[str, ...] = ()
    """Edges that have to succeed before."""
    beside: bool = False
    """Whether it runs beside another edge of its job, within the same memory."""


@dataclass(frozen=True)
class Job:
    """The edges that make one file."""

    output: str
    edges: tuple[Edge, ...]
    """In the order in which they are heard: the first that failed decides, and what those after it say is dropped."""


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    output: str
    result: CommandResult
    duration_s: float
    """From its first edge's begin to the end of the one that decided."""


class GraphRun:
    """Jobs that ninja runs, `at_once` of them at a time. To be closed."""

    def __init__(self, runner: Runner, folder: Path, env: dict[str, str], jobs: Sequence[Job], at_once: int) -> None:
        """Starts them in `folder`. Raises OSError where that fails, ValueError for a name that is not plain or not the only one."""
        self._left = list(jobs)
        self._ended: Ended | None = None
        self._timed_out = False
        with ExitStack() as stack:
            self._place = stack.enter_context(work_folder())
            _write(self._place, folder, [edge for job in jobs for edge in job.edges], at_once)
            # -k 0: a failure ends nothing but what comes after it. A job has two edges at a time at most.
            argv = (str(ninja_program()), "--quiet", "-k", "0", "-j", str(2 * at_once))
            self._running = runner.start(argv, self._place, env, writable=(folder,), at_once=at_once)
            stack.callback(self._running.close)
            self._open = stack.pop_all()

    @property
    def left(self) -> int:
        """Jobs that `wait` has not told the end of."""
        return len(self._left)

    @property
    def ends_with_ninja(self) -> bool:
        """Whether no job can end before ninja does."""
        return len(self._left) == 1 and len(self._left[0].edges) == 1

    def wait(self, timeout_s: float) -> list[JobEnd]:
        """The jobs that ended since it was asked last; it waits until all have, for so long. Raises OSError as the runner does."""
        if self._ended is None:
            self._ended = self._running.wait(timeout_s)
        return self._told()

    def stop(self) -> list[JobEnd]:
        """Kill what is left, since its time is over. Raises OSError as the runner does."""
        before = self._told()
        if not self._left:
            return before
        self._ended, self._timed_out = self._running.kill(), True
        return before + self._told()

    def close(self) -> None:
        """Kill what is left, and remove the graph's files."""
        self._open.close()

    def _told(self) -> list[JobEnd]:
        found = [end for job in self._left if (end := self._end_of(job))]
        if found and len(found) == len(self._left) and self._ended is None:
            # How ninja itself ended tells why its last edges failed.
            self._ended = self._running.wait(_LEFTOVERS_S) or self._running.kill()
            found = [end for job in self._left if (end := self._end_of(job))]
        told = {end.output for end in found}
        self._left = [job for job in self._left if job.output not in told]
        return found

    def _end_of(self, job: Job) -> JobEnd | None:
        """None while it goes on."""
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
        """Why nothing is known of what an edge said, which might tell why it failed; empty where it is known."""
        log = self._place / f"{edge.name}.log"
        is_lost = (self._place / f"{edge.name}.cut").exists() and not (log.exists() and log.lstat().st_size >= MAX_OUTPUT_BYTES)
        return "what the compiler said could not be written" if is_lost else ""

    def _unfinished(self, texts: list[str]) -> CommandResult:
        """The result of a job of which an edge has not ended."""
        assert self._ended is not None
        why = "" if self._timed_out else self._ended.shortage or f"ninja ended before it was done\n{self._ended.output}"
        return CommandResult(None, self._timed_out, _joined([*texts, why]))

    def _text(self, name: str, limit_bytes: int) -> str:
        try:
            return read_product(self._place / name, limit_bytes).decode(errors="replace")
        except OSError:
            return ""

    def _time_of(self, name: str) -> float:
        """When a file was written last; 0 where there is none."""
        try:
            return (self._place / name).lstat().st_mtime
        except OSError:
            return 0.0


def shell_command(argv: Iterable[str], variables: dict[str, str] | None = None) -> str:
    """A command for a shell, with these variables beside those of the graph."""
    return f"{exports(variables or {})}exec {shlex.join(argv)}"


def exports(variables: dict[str, str]) -> str:
    """The lines of a shell script that set variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def _write(place: Path, folder: Path, edges: Sequence[Edge], at_once: int) -> None:
    names = [edge.name for edge in edges]
    if len(set(names)) < len(names) or not all(_PLAIN.fullmatch(name) for name in names):
        raise ValueError("each edge has a name of its own, of plain letters")
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
