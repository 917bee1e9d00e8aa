"""Fuzzes the judge: hostile workers send thousands of random invalid or false frames.

    python -m benchmarks.fuzz --frames 10000 --confined 300 --json fuzz.json

The conversations are those of tests/fuzz: with light workers, and with sandboxed ones for part of the frames. Prints the sent frames and
the verdicts. The exit code is 1 unless the judge gave a fair verdict in time for each conversation.
"""

import argparse
import dataclasses
import itertools
import json
import logging
import platform
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from evaluator.results.category import Status
from tests.fuzz.conversation import (
    SUBMISSION,
    Conversations,
    Health,
    LightZygote,
    Outcome,
    cpu_context,
    following_plans,
    plans,
    short_deadlines,
)
from tests.fuzz.plan import REQUESTS, Plan

SHOWN_FAULTS = 20
BATCH = 500


@dataclass
class Tally:
    """Counts of sent frames and verdicts."""

    workers: str
    conversations: int = 0
    frames: int = 0
    by_mutation: Counter[str] = field(default_factory=Counter)
    honest_in_effect: Counter[str] = field(default_factory=Counter)
    by_request: Counter[str] = field(default_factory=Counter)
    by_verdict: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    duration_s: float = 0.0
    before: Health = field(default_factory=Health.now)
    after: Health = field(default_factory=Health.now)

    def add(self, outcome: Outcome) -> None:
        """Count one conversation."""
        self.conversations += 1
        self.frames += len(outcome.applied)
        self.longest_s = max(self.longest_s, outcome.duration_s)
        self.by_mutation.update(each.name for each in outcome.applied)
        self.honest_in_effect.update(each.name for each in outcome.applied if each.honest)
        self.by_request.update(each.kind for each in outcome.applied)
        self.by_verdict[f"{outcome.result.status}/{outcome.result.category}" if outcome.result else "raised"] += 1
        if outcome.fault:
            self.faults.append(f"{outcome.fault}: {outcome.plan.to_json()}")

    def to_json(self) -> dict[str, Any]:
        """All counts, rounded."""
        counters = {name: dict(value) for name, value in vars(self).items() if isinstance(value, Counter)}
        health = {"before": dataclasses.asdict(self.before), "after": dataclasses.asdict(self.after)}
        return {**vars(self), **counters, **health, "longest_s": round(self.longest_s, 2), "duration_s": round(self.duration_s, 1)}


def fuzz(conversations: Conversations, kinds: tuple[str, ...], frames: int, first_seed: int, workers: str) -> Tally:
    """Hold random conversations until so many hostile frames have been sent."""
    tally = Tally(workers)
    start = time.monotonic()
    for number in itertools.count(first_seed):
        for plan in draw(kinds, number):
            if tally.frames >= frames:
                tally.duration_s = time.monotonic() - start
                tally.after = Health.now()
                return tally
            tally.add(conversations.hold(plan))
        print(f"{workers}: {tally.frames} frames, {len(tally.faults)} judge failures", file=sys.stderr)
    raise AssertionError("numbers do not end")


def draw(kinds: tuple[str, ...], number: int) -> list[Plan]:
    """A batch of plans. Batches keep hypothesis, which stores all its draws, from looking like a leak of the judge."""
    drawn: list[Plan] = []

    @settings(max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @seed(number)
    @given(plans(kinds))
    def each(plan: Plan) -> None:
        drawn.append(plan)

    each()
    return drawn


def show(tally: Tally) -> None:
    """The tables."""
    print(f"\n{tally.workers} workers: {tally.frames} hostile frames in {tally.conversations} conversations, {tally.duration_s:.0f} s")
    print("\n| mutation | frames | honest in effect |\n| --- | --- | --- |")
    for name, count in sorted(tally.by_mutation.items()):
        print(f"| {name} | {count} | {tally.honest_in_effect[name]} |")
    print("\n| answering | frames |\n| --- | --- |")
    for name in REQUESTS:
        print(f"| {name} | {tally.by_request[name]} |")
    print("\n| verdict | conversations |\n| --- | --- |")
    for name, count in tally.by_verdict.most_common():
        print(f"| {name} | {count} |")
    print(f"\nlongest conversation {tally.longest_s:.1f} s; judge failures {len(tally.faults)}")
    print(f"before {tally.before}\nafter  {tally.after}")
    for fault in tally.faults[:SHOWN_FAULTS]:
        print(f"FAILURE {fault[:2000]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description="Send the judge false frames, and count its verdicts.")
    parser.add_argument("--frames", type=int, default=1000, help="hostile frames in all (1000)")
    parser.add_argument("--confined", type=int, default=0, help="number of them from sandboxed workers (0)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument("--json", type=Path, help="write all counts here")
    return parser.parse_args()


def main() -> int:
    """The command."""
    options = _options()
    logging.disable(logging.ERROR)  # the judge's log is in the results
    with tempfile.TemporaryDirectory() as folder, cpu_context(Path(folder, "cache")) as context:
        confined = Conversations(context, Path(folder))
        assert confined.judge(SUBMISSION).status is Status.CORRECT
        tallies = []
        with LightZygote() as zygote, short_deadlines():
            light = Conversations(context, Path(folder), zygote)
            light.judge(SUBMISSION)
            tallies.append(fuzz(light, REQUESTS, options.frames - options.confined, options.seed, "light"))
        if options.confined:
            with short_deadlines(), following_plans():
                tallies.append(fuzz(confined, REQUESTS[1:], options.confined, options.seed, "confined"))
        honest = confined.judge(SUBMISSION)
    for tally in tallies:
        show(tally)
    print(f"\nan honest submission afterwards: {honest.status}/{honest.category}")
    if options.json:
        machine = {"python": platform.python_version(), "platform": platform.platform()}
        record = {"seed": options.seed, "honest_afterwards": f"{honest.status}/{honest.category}", **machine}
        options.json.write_text(
            json.dumps({**record, "tallies": [tally.to_json() for tally in tallies]}, indent=1) + "\n", encoding="utf-8"
        )
    return 0 if honest.status is Status.CORRECT and not any(tally.faults for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
