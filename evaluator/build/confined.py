"""Runs compiler calls in the sandbox."""

from pathlib import Path

from evaluator.build.runner import MAX_OUTPUT_BYTES, CommandResult, Runner
from evaluator.sandbox import Limits, Program, SandboxUnavailable, Zygote

LIMITS = Limits(memory_bytes=16 << 30, output_bytes=MAX_OUTPUT_BYTES)
"""CUTLASS-sized templates take nvcc up to 8 GiB."""
_KILL_GRACE_S = 10.0
_IN_FOLDER = 'umask 022 && cd "$0" && exec "$@"'
"""Every call may run as another user, and the linker has to read what the compilers wrote."""


def confined_runner(zygote: Zygote, readonly: tuple[str, ...], cores: tuple[int, ...] = ()) -> Runner:
    """A Runner whose commands see the system, `readonly`, and their folder, and nothing else; no network, no device. They run
    on these cores alone, where there are any."""

    def run(argv: tuple[str, ...], folder: Path, env: dict[str, str], timeout_s: float) -> CommandResult:
        program = Program(
            argv=("/bin/sh", "-c", _IN_FOLDER, str(folder), *argv),
            env=env,
            readonly=readonly,
            writable=(str(folder),),
            limits=LIMITS,
            cores=cores,
        )
        try:
            confined = zygote.start_program(program, {})
        except SandboxUnavailable as error:
            raise OSError(f"the compiler could not be confined: {error}") from error
        try:
            ended = confined.wait(timeout_s)
            timed_out = ended is None
            if ended is None:
                confined.kill()
                ended = confined.wait(_KILL_GRACE_S)
            output = "\n".join(text for text in confined.output() if text)
        except SandboxUnavailable as error:
            raise OSError(f"the compiler's confinement was lost: {error}") from error
        finally:
            confined.close()
        if ended is not None and ended.memory_exceeded:
            return CommandResult(None, timed_out, f"{output}\nthe compiler needed more than {LIMITS.memory_bytes >> 30} GiB\n")
        if ended is not None and ended.disk_exceeded:
            return CommandResult(None, timed_out, f"{output}\nthe compiler's temporary files took more than {LIMITS.tmp_bytes >> 30} GiB\n")
        return CommandResult(None if ended is None else ended.code, timed_out, output)

    return run
