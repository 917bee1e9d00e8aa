"""Runs the commands of one build: the fast way where there is one, and the stock way where that fails.

ninja runs the commands. Fast commands form one build graph. Commands that need the stock way follow in a second graph as soon as they are
known, while the first one continues. The link comes last.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.build.commands import Command, Plan, Step
from evaluator.build.fast.compile import FastAttempt, FastWay
from evaluator.build.processes.graph import Edge, GraphRun, Job, JobEnd, shell_command
from evaluator.build.processes.phase import Phase, Phases
from evaluator.build.processes.runner import CommandResult, Runner
from evaluator.build.processes.slots import Slots
from evaluator.build.processes.work_folder import fault_of, read_product
from evaluator.build.request import BuildRequest
from evaluator.results.evidence import BuildAttempt

STOCK = "stock"
STOCK_BYTES = {Step.CUDA: 3 << 30, Step.CPP: 2 << 30, Step.LINK: 1 << 30}
"""Memory that nvcc and g++ may need for a source with all of PyTorch's headers, and the linker."""
KEEP_GARBAGE = ("--param", "ggc-min-expand=30", "--param", "ggc-min-heapsize=1572864")
"""For g++: no garbage collection below 2 GiB. With PyTorch's headers it takes a sixth of the time. Neither messages nor objects change."""
FAST_BYTES = 1 << 30
"""Memory that a compiler may need with cut-down headers; nvcc's two halves together."""

Ran = tuple[Command, CommandResult]

log = logging.getLogger(__name__)


@dataclass
class Execution:
    """One build, in a folder that holds the request's files."""

    request: BuildRequest
    key: str
    folder: Path
    env: dict[str, str]
    runner: Runner
    fast: FastWay | None
    timeout_s: float
    """Limit for all stock commands together, and separately for all fast ones. Waiting for a slot does not count."""
    slots: Slots | None = None
    gnu: bool = False
    """Whether the C++ compiler is g++."""
    attempts: list[BuildAttempt] = field(default_factory=list)
    waited_s: float = 0.0
    """Seconds in which no command of the build ran, because it waited for slots."""

    def __post_init__(self) -> None:
        self._fast_deadline = 0.0
        self._stock_deadline: float | None = None
        self._linked = True
        self._tried: dict[str, FastAttempt] = {}
        """Running fast attempts, by output file."""
        self._left_over: list[Command] = []
        """Commands for the stock way that have not begun."""
        self._doubtful: set[str] = set()
        """Outputs whose fast attempt failed."""

    def carry_out(self, todo: Plan) -> list[Ran]:
        """Compile in parallel, then link if all compiles succeeded. Results come in the plan's order. Raises OSError as the runner does."""
        self._linked = todo.link is not None
        results, quick = self._run(todo.compiles, self.fast)
        if todo.link is None or any(result.code != 0 for _, result in results):
            return results
        linked, _ = self._run((todo.link,), None)
        if linked[0][1].code != 0 and quick:
            log.info("%s is compiled again the stock way: it could not be linked", self.request.name)
            self._remove(*todo.compiles, todo.link)
            results, _ = self._run(todo.compiles, None)
            if any(result.code != 0 for _, result in results):
                return results
            linked, _ = self._run((todo.link,), None)
        return [*results, *linked]

    def _run(self, commands: Sequence[Command], fast: FastWay | None) -> tuple[list[Ran], bool]:
        """The results of independent commands, and whether any of them came from the fast way."""
        by_output = {command.output: command for command in self._largest_first(commands)}
        results: dict[str, CommandResult] = {}
        quick = False
        with Phases() as phases:
            if fast is not None and commands:
                phases.add(
                    Phase(lambda at_once, _: self._begin_fast(by_output.values(), fast, at_once), len(commands), self.slots, FAST_BYTES)
                )
            else:
                self._left_over = list(by_output.values())
            while phases.any or self._left_over:
                if self._left_over:
                    phases.add(self._stock_phase(self._left_over))
                    self._left_over = []
                for end in phases.step():
                    command, attempt = by_output[end.output], self._tried.pop(end.output, None)
                    result = self._settled(command, end) if attempt is None else self._settled_fast(command, attempt, end)
                    if result is None:
                        self._left_over.append(command)
                    else:
                        results[end.output] = result
                        quick = quick or attempt is not None
            self.waited_s += phases.waited_s
        return [(command, results[command.output]) for command in commands], quick

    def _settled_fast(self, command: Command, attempt: FastAttempt, end: JobEnd) -> CommandResult | None:
        """The result of a fast command if it is final: a success, or a proved failure. None if the stock way must decide."""
        result = self._checked(command, end.result) if attempt.made else end.result
        ok = result.code == 0
        if ok and attempt.made and attempt.headers:
            ok = not attempt.headers.left_undefined(read_product(self.folder / command.output))
        began = time.monotonic()
        proof = self._proof(command, attempt, end.result)
        way = f"{attempt.way}, proof: {proof}" if proof else attempt.way
        self._note(end, way, ok, time.monotonic() - began)
        if ok:
            return result
        self._remove(command)
        if proof:
            return result
        log.info("%s: %s is compiled again the stock way: the fast way failed, which proves nothing", self.request.name, command.output)
        self._doubtful.add(command.output)
        return None

    def _proof(self, command: Command, attempt: FastAttempt, result: CommandResult) -> str | None:
        """What proves that the stock way would fail with the same messages. The preprocessor runs in the source's slot. If the next source
        has taken that, it runs without one, since it needs little memory."""
        if self.fast is None or not result.code:
            return None
        env = {**self.env, "TMPDIR": str(self._scratch(command))}

        def run(argv: tuple[str, ...]) -> CommandResult:
            left_s = self._fast_deadline - time.monotonic()
            return self.runner.run(argv, self.folder, env, left_s) if left_s > 0 else CommandResult(None, timed_out=True, output="")

        return self.fast.proof(self.request, command, self.folder, attempt, result, run)

    def _settled(self, command: Command, end: JobEnd) -> CommandResult:
        """The result of a stock command, which is final."""
        result = self._checked(command, end.result)
        self._note(end, STOCK, result.code == 0)
        if self.fast and result.code == 0 and command.output in self._doubtful:
            self.fast.doubt()
        return result

    def _begin_fast(self, commands: Iterable[Command], fast: FastWay, at_once: int) -> tuple[GraphRun, float] | None:
        """The graph of the commands with a fast way, and its deadline. The others are left for the stock way."""
        deadline = self._fast_deadline = time.monotonic() + self.timeout_s
        tried: dict[Command, FastAttempt] = {}
        for command in commands:
            if attempt := fast.attempt(self.request, command, self.folder, linked=self._linked):
                tried[command] = attempt
                self._scratch(command).mkdir()
                self._scratch(command).chmod(0o777)
        listed = self._listed({command: attempt for command, attempt in tried.items() if command.step is Step.CUDA}, at_once, deadline)
        jobs = []
        for command in commands:
            attempt = tried.get(command)
            if attempt and command.output in listed:
                attempt = attempt.with_passes(listed[command.output])
            if attempt is None:
                self._left_over.append(command)
            else:
                self._tried[command.output] = attempt
                source = self.request.source_of(command.output).name
                jobs.append(Job(command.output, attempt.edges(command.output, self.key, source, self._scratch(command))))
        return (self._graph(jobs, at_once), deadline) if jobs else None

    def _listed(self, cuda: dict[Command, FastAttempt], at_once: int, deadline: float) -> dict[str, CommandResult]:
        """nvcc's list of its passes, by output file."""
        if not cuda:
            return {}
        scratch = {command: {"TMPDIR": str(self._scratch(command))} for command in cuda}
        jobs = [
            Job(command.output, (Edge(command.output, shell_command(attempt.listing, scratch[command])),))
            for command, attempt in cuda.items()
        ]
        run = self._graph(jobs, at_once)
        try:
            ended = run.wait(max(deadline - time.monotonic(), 0.0))
            return {end.output: end.result for end in [*ended, *(run.stop() if run.left else [])]}
        finally:
            run.close()

    def _scratch(self, command: Command) -> Path:
        """Folder for the temporary files of a fast command. Process numbers repeat in a sandbox, and so do nvcc's file names: stock
        commands must find theirs unused."""
        return self.folder / f".fast-{command.output}"

    def _stock_phase(self, commands: Sequence[Command]) -> Phase:
        def begin(at_once: int, waited_s: float) -> tuple[GraphRun, float]:
            deadline = time.monotonic() + self.timeout_s if self._stock_deadline is None else self._stock_deadline + waited_s
            self._stock_deadline = deadline
            jobs = [Job(command.output, (Edge(command.output, shell_command(self._stock_argv(command))),)) for command in commands]
            return self._graph(jobs, at_once), deadline

        return Phase(begin, len(commands), self.slots, max(STOCK_BYTES[command.step] for command in commands))

    def _stock_argv(self, command: Command) -> tuple[str, ...]:
        return (command.argv[0], *KEEP_GARBAGE, *command.argv[1:]) if self.gnu and command.step is Step.CPP else command.argv

    def _graph(self, jobs: Sequence[Job], at_once: int) -> GraphRun:
        return GraphRun(self.runner, self.folder, self.env, jobs, at_once)

    def _largest_first(self, commands: Iterable[Command]) -> list[Command]:
        """The largest source first, since it takes longest: ninja runs ready edges in the order of its file."""
        size = {source.output: len(source.text) for source in self.request.sources}
        return sorted(commands, key=lambda command: -size.get(command.output, 0))

    def _remove(self, *commands: Command) -> None:
        """Remove outputs, so that another command, possibly of another user, can write them again."""
        for command in commands:
            (self.folder / command.output).unlink(missing_ok=True)

    def _checked(self, command: Command, result: CommandResult) -> CommandResult:
        if result.code == 0 and (fault := fault_of(self.folder / command.output)):
            return CommandResult(1, timed_out=False, output=f"{result.output}\n{command.output} {fault}\n")
        return result

    def _note(self, end: JobEnd, way: str, ok: bool, more_s: float = 0.0) -> None:
        self.attempts.append(BuildAttempt(output=end.output, way=way, ok=ok, duration_s=round(end.duration_s + more_s, 3)))
