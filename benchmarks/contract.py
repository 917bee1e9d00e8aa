"""Judges honest answers to KernelBench's problems without times, and lists the incorrect ones.

    python -m benchmarks.plain_answers PATH/TO/KernelBench/KernelBench ANSWERS
    python -m benchmarks.contract PATH/TO/KernelBench/KernelBench ANSWERS --json FILE

A right answer has no own kernel, so it is `no_custom_kernel`. If its problem accepts trivial answers, it is `degenerate_problem`. Judges
share the GPU; with `--alone` one at a time uses it, which problems of many gigabytes need. Answers that run out of memory beside others are
judged again at the end, by one judge, as in a run.
"""

import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import queue
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.engine.options import EngineOptions
from evaluator.judge.workers.out_of_memory import tells_of_shortage
from evaluator.machine.devices import Device, choose
from evaluator.results.protocol_names import UNTIMED

NAME = re.compile(r"level_(\d+)_problem_(\d+)_sample_\d+_kernel")
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Pair:
    """A problem and an answer to it."""

    level: int
    number: int
    problem: Path
    answer: Path


def pairs(problems: Path, answers: Path) -> Iterator[Pair]:
    """Every answer with its problem, by level and number."""
    found = [(int(match[1]), int(match[2]), path) for path in answers.rglob("*.py") if (match := NAME.fullmatch(path.stem))]
    for level, number, path in sorted(found):
        (problem,) = (problems / f"level{level}").glob(f"{number}_*.py")
        yield Pair(level, number, problem, path)


class Judge:
    """A process that judges one answer after another."""

    def __init__(self, device: Device, *, alone: bool) -> None:
        import torch

        from evaluator.engine.judge_process import make_context
        from evaluator.engine.options import launch_recorder
        from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
        from evaluator.judge.device.environment import apply_settings
        from evaluator.sandbox import Zygote, best_level

        ctypes.CDLL(None).prctl(1, 9)  # the kernel kills it when its parent ends
        if not alone:
            tempfile.tempdir = tempfile.mkdtemp()  # folder of the GPU lock
        options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=Path(tempfile.mkdtemp()))
        recorder = launch_recorder(options)
        environment = {**WARM_ENVIRONMENT, **({"LD_PRELOAD": recorder} if recorder else {})}
        os.environ["CUDA_VISIBLE_DEVICES"] = device.visible
        torch.set_num_threads(1)
        apply_settings()
        self._context = make_context(options, Zygote.start(modules=(WORKER_MODULE,), level=best_level(), env=environment).__enter__())

    def judge(self, pair: Pair) -> dict[str, Any]:
        """The outcome, as plain values."""
        from evaluator.job import Job
        from evaluator.judge.evaluate import evaluate

        code = pair.answer.read_text(encoding="utf-8")
        job = Job(
            submission=pair.answer.name,
            block=None,
            author=None,
            sample_id=None,
            code=code,
            source_sha256=hashlib.sha256(code.encode()).hexdigest(),
            problem=pair.problem.stem,
            problem_path=pair.problem,
            case=None,
            note="",
            timeout_s=TIMEOUT_S,
            protocol=UNTIMED,
        )
        start = time.monotonic()
        result = evaluate(self._context, job, lambda _: None)
        evidence = result.evidence
        return {
            "level": pair.level,
            "number": pair.number,
            "problem": pair.problem.stem,
            "status": result.status.value,
            "category": result.category.value,
            "message": result.message,
            "trivial": evidence.trivial,
            "parameters": evidence.parameters.model_dump() if evidence.parameters else None,
            "rounds": [
                [each.distribution, each.passed, each.message, *[(one.max_error, one.tolerance, one.rms_error) for one in each.outputs]]
                for each in evidence.rounds
            ],
            "seconds": round(time.monotonic() - start, 2),
            "stages_s": evidence.stages_s,
        }


def serve(
    options: argparse.Namespace,
    device: Device,
    waiting: "multiprocessing.Queue[Pair | None]",
    done: "multiprocessing.Queue[dict[str, Any]]",
) -> None:
    """Judge until the queue is empty."""
    judge = Judge(device, alone=options.alone)
    while (pair := waiting.get()) is not None:
        try:
            done.put(judge.judge(pair))
        except Exception as error:  # noqa: BLE001 - it is reported with the answer's name
            done.put(
                {"level": pair.level, "number": pair.number, "problem": pair.problem.stem, "status": "failed", "category": repr(error)}
            )


def run(options: argparse.Namespace, chosen: Sequence[Pair]) -> list[dict[str, Any]]:
    """Judge all in several processes, then those that ran out of memory in one. Prints each row when it is known."""
    until = time.monotonic() + options.limit
    found: dict[tuple[int, int], dict[str, Any]] = {}

    def judge(pairs: Sequence[Pair], judges: int) -> None:
        for number, row in enumerate(judged(options, pairs, judges, until), start=1):
            found[row["level"], row["number"]] = row
            print(f"{number}/{len(pairs)} {row['level']}/{row['number']} {row['category']} {row.get('seconds', '')}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(list(found.values()), indent=1))

    judge(chosen, options.judges)
    short = {place for place, row in found.items() if tells_of_shortage(f"{row['category']} {row.get('message')}")}
    judge([pair for pair in chosen if (pair.level, pair.number) in short], 1)
    return list(found.values())


def judged(options: argparse.Namespace, chosen: Sequence[Pair], count: int, until: float) -> Iterator[dict[str, Any]]:
    """A row for each pair that `count` judges finish in time."""
    if not chosen:
        return
    device, _ = choose(options.device)
    kind = multiprocessing.get_context("spawn")
    waiting, done = kind.Queue(), kind.Queue()
    for pair in [*chosen, *[None] * count]:
        waiting.put(pair)
    judges = [kind.Process(target=serve, args=(options, device, waiting, done)) for _ in range(count)]
    for judge in judges:
        judge.start()
    left = len(chosen)
    while left and time.monotonic() < until and any(judge.is_alive() for judge in judges):
        try:
            yield done.get(timeout=2)
        except queue.Empty:
            continue  # check again whether any judge is left
        left -= 1
    for judge in judges:
        judge.kill()
        judge.join()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contract", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problems", type=Path, help="the folder that holds level1, level2, ...")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--judges", type=int, default=4)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--only", default="", help="level/number, several with commas between")
    parser.add_argument("--alone", action="store_true", help="one judge has the device at a time")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which it stops")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    levels = {int(level) for level in options.levels.split(",")}
    only = set(filter(None, options.only.split(",")))
    chosen = [pair for pair in pairs(options.problems, options.answers) if pair.level in levels]
    chosen = [pair for pair in chosen if not only or f"{pair.level}/{pair.number}" in only]
    start = time.monotonic()
    found = run(options, chosen)
    rows = [
        [f"{row['level']}/{row['number']}", row["problem"][:40], row["category"], row.get("message", "")[:110]]
        for row in sorted(found, key=_place)
    ]
    for row in rows:
        if row[2] != "no_custom_kernel":
            print("  ".join(row))
    print(dict(Counter(row["category"] for row in found)), f"{len(found)} of {len(chosen)} in {time.monotonic() - start:.0f} s")
    return 0 if len(found) == len(chosen) and all(row["status"] == "correct" for row in found) else 1


def _place(row: dict[str, Any]) -> tuple[int, int]:
    return row["level"], row["number"]


if __name__ == "__main__":
    sys.exit(main())
