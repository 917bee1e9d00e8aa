"""How one compiler call is run: confined, or plainly for `--no-sandbox`.

Both are functions of the same shape, (argv, folder, environment, seconds) -> CommandResult, so that the builder knows no difference.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MAX_OUTPUT_BYTES = 2 << 20
"""Kept of a command's output: errors come first as a rule, so the head is kept and the rest read and dropped."""
_DRAIN_GRACE_S = 2.0


@dataclass(frozen=True)
class CommandResult:
    """How a command ended."""

    code: int | None
    """Exit code; None when a signal ended it."""
    timed_out: bool
    output: str
    """Standard output and standard error together, capped."""


Runner = Callable[[tuple[str, ...], Path, dict[str, str], float], CommandResult]
"""argv, working folder (read and write), environment, limit in seconds. Raises OSError when the command can't be started."""


def plain_runner(argv: tuple[str, ...], folder: Path, env: dict[str, str], timeout_s: float) -> CommandResult:
    """Run without confinement, in a session of its own, which is killed as a whole at the deadline."""
    process = subprocess.Popen(
        argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    assert process.stdout is not None
    kept = bytearray()
    reader = threading.Thread(target=_drain, args=(process.stdout, kept), daemon=True)
    reader.start()
    timed_out = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        if process.returncode is None:
            # Not reaped yet, so its number can't have passed to another session.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    reader.join(_DRAIN_GRACE_S)
    code = process.returncode
    return CommandResult(None if code < 0 else code, timed_out, bytes(kept).decode(errors="replace"))


def _drain(stream: IO[bytes], kept: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            kept.extend(chunk[: MAX_OUTPUT_BYTES - len(kept)])
