"""Measures one run of the command line from outside: its duration and its results."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from db.store import Store
from evaluator.results.result import Result

ROOT = Path(__file__).resolve().parents[1]
ALL_JUDGED = (0, 1)
"""Exit codes of a complete run."""
TELL_EVERY_S = 10.0
END_WITHIN_S = 60.0
MAX_LOG_CHARS = 4000

Tell = Callable[[str], None]


class RunFailedError(RuntimeError):
    """The command line failed; the message is its output."""


@dataclass(frozen=True)
class Place:
    """A run's folders. A new folder makes the run cold."""

    folder: Path
    """Folder for database, records and log."""
    cache: Path
    """ASSAY_CACHE: builds and their shared headers."""


@dataclass(frozen=True)
class PipelineRun:
    """The outcome of a run."""

    wall_s: float
    """From start to end of the process."""
    complete: bool
    """False if it was interrupted for lack of time."""
    results: tuple[Result, ...]
    """In the order of arrival."""


def run_pipeline(
    arguments: Sequence[str],
    place: Place,
    *,
    timeout_s: float,
    tell: Tell,
    env: dict[str, str] | None = None,
) -> PipelineRun:
    """Run `pipeline.py ARGUMENTS` to its end, or interrupt it after timeout_s. Raises RunFailedError."""
    place.folder.mkdir(parents=True, exist_ok=True)
    database, records, log = place.folder / "results.db", place.folder / "results.jsonl", place.folder / "log"
    command = [sys.executable, str(ROOT / "pipeline.py"), *arguments, "--db", f"sqlite:///{database}", "--json", str(records)]
    environment = {**os.environ, **(env or {}), "ASSAY_CACHE": str(place.cache)}
    start = time.perf_counter()
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        ) as process,
    ):
        try:
            complete = _watch(process, records, start, timeout_s, tell)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    wall_s = time.perf_counter() - start
    if complete and process.returncode not in ALL_JUDGED:
        raise RunFailedError(f"exit code {process.returncode}:\n{log.read_text(encoding='utf-8', errors='replace')[-MAX_LOG_CHARS:]}")
    return PipelineRun(wall_s, complete, _results(database, records))


def _watch(process: "subprocess.Popen[bytes]", records: Path, start: float, timeout_s: float, tell: Tell) -> bool:
    """Wait for the run's end; returns whether it ended by itself."""
    while True:
        passed_s = time.perf_counter() - start
        try:
            process.wait(max(min(TELL_EVERY_S, timeout_s - passed_s), 0.0))
            return True
        except subprocess.TimeoutExpired:
            tell(f"{_count(records)} judged after {time.perf_counter() - start:.0f} s")
        if time.perf_counter() - start >= timeout_s:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_WITHIN_S)
            return False


def _count(records: Path) -> int:
    return records.read_bytes().count(b"\n") if records.exists() else 0


def _results(database: Path, records: Path) -> tuple[Result, ...]:
    if not records.exists():
        return ()
    whole, _, _ = records.read_text(encoding="utf-8").rpartition("\n")
    numbers = [json.loads(line)["id"] for line in whole.split("\n") if line]
    with Store.open(f"sqlite:///{database}", read_only=True) as store:
        stored = [store.get(number) for number in numbers]
    return tuple(each.result for each in stored if each is not None)
