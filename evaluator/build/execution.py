"""Carries out the commands of one build: each the fast way where there is one, and the stock way where that fails."""

import logging
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.build.commands import Command, Plan, Step
from evaluator.build.fast.compile import FastWay
from evaluator.build.request import BuildRequest
from evaluator.build.runner import CommandResult, Runner
from evaluator.build.slots import Slots
from evaluator.results.evidence import BuildAttempt

MAX_OBJECT_BYTES = 512 << 20
STOCK = "stock"
STOCK_BYTES = {Step.CUDA: 3 << 30, Step.CPP: 2 << 30, Step.LINK: 1 << 30}
"""What nvcc and g++ may need for a source with all of PyTorch's headers, and the linker."""
KEEP_GARBAGE = ("--param", "ggc-min-expand=30", "--param", "ggc-min-heapsize=1572864")
"""For g++, which otherwise looks for garbage among PyTorch's headers for a sixth of its time: not below 2 GiB. Nothing of what it says or
makes depends on this."""
FAST_BYTES = 1 << 30
"""What they may with cut-down headers; nvcc's two halves together."""

log = logging.getLogger(__name__)

Ran = tuple[Command, CommandResult]


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
    """For all that is done the stock way together, and for all that is done the fast way, so that what is fast takes no time from the
    other. Waiting for a slot takes none."""
    slots: Slots | None = None
    gnu: bool = False
    """Whether C++ is compiled by GNU's compiler."""
    attempts: list[BuildAttempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._fast_deadline = time.monotonic() + self.timeout_s
        self._stock_deadline: float | None = None
        self._waited_s: dict[str, float] = {}
        """For slots, by the file that was to be made."""
        self._noting = threading.Lock()
        self._linked = True

    @property
    def waited_s(self) -> float:
        """How much of its time the build waited for slots: as long as that of its compiles which waited longest, and then the link."""
        with self._noting:
            return max(self._waited_s.values(), default=0.0)

    def carry_out(self, todo: Plan) -> list[Ran]:
        """Run the compiles side by side, then the link if all went well; in the order of the plan. Raises OSError as the runner does."""
        self._linked = todo.link is not None
        results, quick = self._compile(todo.compiles, self.fast)
        if todo.link is None or any(result.code != 0 for _, result in results):
            return results
        linked = self._stock(todo.link)
        if linked.code != 0 and quick:
            self._remove(*todo.compiles, todo.link)
            results, _ = self._compile(todo.compiles, None)
            if any(result.code != 0 for _, result in results):
                return results
            linked = self._stock(todo.link)
        return [*results, (todo.link, linked)]

    def _compile(self, commands: Iterable[Command], fast: FastWay | None) -> tuple[list[Ran], bool]:
        """The results, and whether any of them came about the fast way."""
        commands = tuple(commands)

        def one(command: Command) -> tuple[CommandResult, bool]:
            quick, proof = self._quickly(command, fast) if fast else (None, None)
            if quick is not None and (quick.code == 0 or proof):
                return quick, True
            result = self._stock(command)
            if fast and quick is not None and result.code == 0:
                fast.doubt()
            return result, False

        with ThreadPoolExecutor(max(1, min(len(commands), os.cpu_count() or 1))) as pool:
            done = list(pool.map(one, commands))
        return [(command, result) for command, (result, _) in zip(commands, done, strict=True)], any(quick for _, quick in done)

    def _quickly(self, command: Command, fast: FastWay) -> tuple[CommandResult | None, str | None]:
        """The result of the fast way, or None where there is none, and what proves it where it is a failure. A failure that nothing proves
        means nothing."""
        start = time.monotonic()
        # Process numbers repeat in a sandbox, and with them the names of nvcc's temporary files, which every run owns by itself.
        scratch = self.folder / f".fast-{command.output}"
        scratch.mkdir(exist_ok=True)
        scratch.chmod(0o777)
        env = {**self.env, "TMPDIR": str(scratch)}

        def run(argv: tuple[str, ...]) -> CommandResult:
            return self._run(command, argv, self._fast_deadline, env)

        with self._slot(command, FAST_BYTES) as waited_s:
            start += waited_s
            tried = fast.compile(self.request, command, self.key, self.folder, run, linked=self._linked)
            proof = fast.proof(self.request, command, self.folder, tried, run) if tried is not None else None
        if tried is None:
            return None, None
        result = self._checked(command, tried.result) if tried.made else tried.result
        if result.code == 0 and tried.made and tried.headers and tried.headers.left_undefined(read_object(self.folder / command.output)):
            result = CommandResult(1, timed_out=False, output="")
        if result.code != 0:
            self._remove(command)
        self._note(command, f"{tried.way}, proof: {proof}" if proof else tried.way, result.code == 0, start)
        return result, proof

    def _stock(self, command: Command) -> CommandResult:
        with self._slot(command, STOCK_BYTES[command.step]):
            start = time.monotonic()
            if self._stock_deadline is None:
                self._stock_deadline = start - self._waited_s.get(command.output, 0.0) + self.timeout_s
            argv = (command.argv[0], *KEEP_GARBAGE, *command.argv[1:]) if self.gnu and command.step is Step.CPP else command.argv
            result = self._checked(command, self._run(command, argv, self._stock_deadline, self.env))
        self._note(command, STOCK, result.code == 0, start)
        return result

    @contextmanager
    def _slot(self, command: Command, memory_bytes: int) -> Iterator[float]:
        """Hold slots for so much memory; gives the seconds that they were waited for."""
        if self.slots is None:
            yield 0.0
            return
        with self.slots.taken(memory_bytes) as waited_s:
            with self._noting:
                # A link comes after all compiles, and with what they have waited.
                before_s = max(self._waited_s.values(), default=0.0) if command.step is Step.LINK else 0.0
                self._waited_s[command.output] = max(self._waited_s.get(command.output, 0.0), before_s) + waited_s
            yield waited_s

    def _run(self, command: Command, argv: tuple[str, ...], deadline: float, env: dict[str, str]) -> CommandResult:
        left_s = deadline + self._waited_s.get(command.output, 0.0) - time.monotonic()
        return self.runner(argv, self.folder, env, left_s) if left_s > 0 else CommandResult(None, timed_out=True, output="")

    def _remove(self, *commands: Command) -> None:
        """Take away what was made, so that another command, which may be another user, can make it anew."""
        for command in commands:
            (self.folder / command.output).unlink(missing_ok=True)

    def _checked(self, command: Command, result: CommandResult) -> CommandResult:
        if result.code == 0 and (fault := _fault_of(self.folder / command.output)):
            return CommandResult(1, timed_out=False, output=f"{result.output}\n{command.output} {fault}\n")
        return result

    def _note(self, command: Command, way: str, ok: bool, start: float) -> None:
        self.attempts.append(BuildAttempt(output=command.output, way=way, ok=ok, duration_s=round(time.monotonic() - start, 3)))


def _fault_of(path: Path) -> str | None:
    """What keeps a command's product from being used, which is the doing of the request's flags; None where nothing does."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return "was not made"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return f"is larger than {MAX_OBJECT_BYTES} bytes" if status.st_size > MAX_OBJECT_BYTES else None


def read_object(path: Path) -> bytes:
    """A command's product, whatever happened to it since it was looked at. Raises OSError for all but a plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is not a plain file")
        return file.read(MAX_OBJECT_BYTES)
