"""One run of the command line from outside: how long it took, and where its evaluations spent that time."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from db.store import Store
from evaluator.results.result import Result

ROOT = Path(__file__).resolve().parents[1]
FREE_STAGES = ("start", "load", "queue", "build", "place", "prepare", "wait")
"""Stages of an evaluation before it has the device: it neither holds nor slows it. In `place` it waits for
others that are next, in `wait` for the one that has it. In `prepare` CUDA starts, for its worker and, where
the problem is new to the judge, with the kernels that judging it takes."""
ALL_JUDGED = (0, 1)
"""Exit codes of a run that came to its end."""
TELL_EVERY_S = 10.0
END_WITHIN_S = 60.0
MAX_LOG_CHARS = 4000

Tell = Callable[[str], None]


class RunFailedError(RuntimeError):
    """The command line ended in an error; its output is the message."""


@dataclass(frozen=True)
class Place:
    """Where a run keeps things. What is new there is cold."""

    folder: Path
    """Database, records and log go here."""
    cache: Path
    """ASSAY_CACHE: builds and what they share."""


@dataclass(frozen=True)
class PipelineRun:
    """What a run came to."""

    wall_s: float
    """From the start of the process to its end."""
    complete: bool
    """False where it was interrupted for lack of time."""
    results: tuple[Result, ...]
    """In the order in which they came."""


@dataclass(frozen=True)
class Busy:
    """How well the devices were used while there was something to judge on them.

    The judging phase begins when the first evaluation gets a device, and ends when the last one gives it up; both follow from the times
    that are stored with the evaluations.
    """

    held_s: float
    """Time that the device was had, of all evaluations together."""
    phase_s: float
    devices: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the judging phase, on the mean device."""
        return self.share_of(self.phase_s)

    def share_of(self, seconds: float) -> float:
        """Of so much time, on the mean device."""
        return self.held_s / (seconds * len(self.devices)) if seconds and self.devices else 0.0


def run_pipeline(
    arguments: Sequence[str],
    place: Place,
    *,
    timeout_s: float,
    tell: Tell,
    env: dict[str, str] | None = None,
) -> PipelineRun:
    """Run `pipeline.py ARGUMENTS` to its end, or interrupt it when timeout_s are over. Raises RunFailedError."""
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
    """Until the run ends; whether it did by itself."""
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


def stage_sums(results: Iterable[Result]) -> dict[str, float]:
    """Seconds by stage, of all evaluations together, longest first."""
    sums: Counter[str] = Counter()
    for result in results:
        sums.update(result.evidence.stages_s)
    return dict(sums.most_common())


def busy(results: Iterable[Result]) -> Busy:
    """Of those evaluations that got a device."""
    held = [result for result in results if result.evidence.held_s]
    if not held:
        return Busy(0.0, 0.0, ())
    phase = max(map(_ended, held)) - min(map(_got_device, held))
    held_s = sum(sum(result.evidence.held_s.values()) for result in held)
    return Busy(held_s, phase.total_seconds(), tuple(sorted({result.device for result in held if result.device})))


def _got_device(result: Result) -> datetime:
    return result.started_at + timedelta(seconds=sum(result.evidence.stages_s.get(stage, 0.0) for stage in FREE_STAGES))


def _ended(result: Result) -> datetime:
    return result.started_at + timedelta(seconds=result.duration_s)
