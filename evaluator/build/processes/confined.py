"""Runs compilers in the sandbox."""

from dataclasses import replace
from pathlib import Path

from evaluator.build.processes.runner import MAX_OUTPUT_BYTES, Ended, Runner, Running
from evaluator.sandbox import Limits, Program, SandboxUnavailable, Zygote

LIMITS = Limits(memory_bytes=16 << 30, output_bytes=MAX_OUTPUT_BYTES)
"""Limits of one compiler. CUTLASS-sized templates take nvcc up to 8 GiB."""
_KILL_GRACE_S = 10.0
_IN_FOLDER = 'umask 022 && cd "$0" && exec "$@"'
"""Every program may run as another user, and the linker must read the compilers' files."""


class ConfinedRunner(Runner):
    """Its programs see only the system, `readonly` and their folders; they have no network and no device. They run on `cores`, if given."""

    def __init__(self, zygote: Zygote, readonly: tuple[str, ...], cores: tuple[int, ...] = ()) -> None:
        self._zygote, self._readonly, self._cores = zygote, readonly, cores

    def start(
        self, argv: tuple[str, ...], folder: Path, env: dict[str, str], *, writable: tuple[Path, ...] = (), at_once: int = 1
    ) -> Running:
        """Start it in the sandbox."""
        limits = replace(LIMITS, memory_bytes=at_once * LIMITS.memory_bytes)
        program = Program(
            argv=("/bin/sh", "-c", _IN_FOLDER, str(folder), *argv),
            env=env,
            readonly=self._readonly,
            writable=(str(folder), *map(str, writable)),
            limits=limits,
            cores=self._cores,
        )
        return _ConfinedRunning(self._zygote, program)


class _ConfinedRunning(Running):
    def __init__(self, zygote: Zygote, program: Program) -> None:
        self._limits = program.limits
        try:
            self._confined = zygote.start_program(program, {})
        except SandboxUnavailable as error:
            raise OSError(f"the compiler could not be confined: {error}") from error

    def wait(self, timeout_s: float) -> Ended | None:
        try:
            ended = self._confined.wait(timeout_s)
        except SandboxUnavailable as error:
            raise OSError(f"the compiler's confinement was lost: {error}") from error
        if ended is None:
            return None
        shortage = ""
        if ended.memory_exceeded:
            shortage = f"the compiler needed more than {self._limits.memory_bytes >> 30} GiB"
        elif ended.disk_exceeded:
            shortage = f"the compiler's temporary files took more than {self._limits.tmp_bytes >> 30} GiB"
        return Ended(ended.code, self._output(), shortage)

    def kill(self) -> Ended:
        self._confined.kill()
        return self.wait(_KILL_GRACE_S) or Ended(None, self._output())

    def close(self) -> None:
        self._confined.close()

    def _output(self) -> str:
        return "\n".join(text for text in self._confined.output() if text)
