"""Measures how long one evaluation has the device exclusively, by stage, and its GPU memory.

    python -m benchmarks.hold [SUBMISSION …] [--case full] [--device cuda|cpu] [--repetitions 3] [--json FILE]

One judge judges the submissions one after another, as in a run. The first evaluation of each, which may include its build, does not
count. Memory is the decrease of the GPU's free memory, sampled every 20 ms: tensors, and the CUDA contexts of the workers.
"""

import argparse
import hashlib
import json
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.job import Job
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.machine.cache_folder import default_root
from evaluator.machine.devices import choose
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.sandbox import Zygote, best_level
from evaluator.worker.nested import tensors_of

DEFAULT = ("submissions/softmax/online.py",)
SAMPLING_S = 0.02
LONGEST = 6
"""Stages in the table."""
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Held:
    """One evaluation."""

    submission: str
    category: str
    calls: int
    """Timed calls of the submission; the baseline has as many."""
    stages_held_s: dict[str, float]
    """Seconds of exclusive use, by stage."""
    peak_bytes: int | None
    """None on the CPU."""
    answer_bytes: int
    """Bytes of the inputs and four outputs."""

    @property
    def held_s(self) -> float:
        return sum(self.stages_held_s.values())


class MemoryWatch(threading.Thread):
    """Records the maximum of used device memory."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._before = _used_bytes()
        self.peak_bytes = 0

    def run(self) -> None:
        while not self._over.wait(SAMPLING_S):
            self.peak_bytes = max(self.peak_bytes, _used_bytes() - self._before)

    def stop(self) -> int:
        self._over.set()
        self.join()
        return self.peak_bytes


def _used_bytes() -> int:
    free, total = torch.cuda.mem_get_info()
    return total - free


def measure(context: JudgeContext, path: Path, case: str) -> Held:
    """Judge the submission in `path`, whose folder names its problem."""
    problem_path = SHIPPED / f"{path.parent.name}.py"
    code = path.read_text(encoding="utf-8")
    job = Job(
        submission=str(path),
        block=None,
        author=None,
        sample_id=None,
        code=code,
        source_sha256=hashlib.sha256(code.encode()).hexdigest(),
        problem=problem_path.stem,
        problem_path=problem_path,
        case=case,
        note="",
        timeout_s=TIMEOUT_S,
    )
    watch = MemoryWatch() if context.device.kind == "cuda" else None
    if watch:
        watch.start()
    result = evaluate(context, job, lambda _: None)
    peak_bytes = watch.stop() if watch else None
    timing = result.evidence.timing
    return Held(
        str(path),
        result.category.value,
        timing.calls if timing else 0,
        dict(result.evidence.held_s),
        peak_bytes,
        _answer_bytes(load(problem_path).instance(case)),
    )


def _answer_bytes(case: ProblemCase) -> int:
    """Bytes of the inputs and four outputs, computed from their shapes on the meta device."""
    inputs = case.inputs(fresh_seed(), "meta")
    with torch.no_grad():
        answer = case.model(0, "meta")(*inputs)
    return sum(tensor.nbytes for _, tensor in tensors_of(inputs)) + 4 * sum(tensor.nbytes for _, tensor in tensors_of(answer))


@contextmanager
def context_of(spec: str) -> Iterator[JudgeContext]:
    """A judge context, with a fork server like the engine's."""
    device, _ = choose(spec)
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=default_root())
    recorder = launch_recorder(options)
    environment = WARM_ENVIRONMENT | ({"LD_PRELOAD": recorder} if recorder else {})
    with Zygote.start((WORKER_MODULE,), best_level(), environment) as zygote:
        yield make_context(options, zygote)


def table_of(held: Sequence[Held]) -> Table:
    """Medians of each submission's evaluations, with minimum and maximum of the sum."""
    table = Table("submission", "verdict", "calls", "longest stages, s", "held s", "peak GiB", "of inputs + 4 outputs")
    for name in dict.fromkeys(one.submission for one in held):
        these = [one for one in held if one.submission == name]
        sums = [one.held_s for one in these]
        stages = {stage: statistics.median(one.stages_held_s.get(stage, 0.0) for one in these) for stage in these[0].stages_held_s}
        longest = sorted(stages, key=lambda stage: -stages[stage])[:LONGEST]
        peak_bytes = max((one.peak_bytes or 0 for one in these), default=0)
        table.add_row(
            name,
            these[0].category,
            f"{statistics.median(one.calls for one in these):.0f}",
            ", ".join(f"{stage} {stages[stage]:.2f}" for stage in longest),
            f"{statistics.median(sums):.2f} ({min(sums):.2f} – {max(sums):.2f})",
            f"{peak_bytes / 2**30:.1f}" if peak_bytes else "",
            f"{peak_bytes / these[0].answer_bytes:.2f}" if peak_bytes else "",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write the figures of each evaluation if requested."""
    parser = argparse.ArgumentParser(description="Measures how long an evaluation has the device exclusively, and its GPU memory.")
    parser.add_argument("submissions", nargs="*", type=Path, default=[Path(name) for name in DEFAULT])
    parser.add_argument("--case", default="full")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    held = []
    with context_of(options.device) as context:
        for path in options.submissions:
            for number in range(options.repetitions + 1):
                one = measure(context, path, options.case)
                held += [one] if number else []
    Console(width=160).print(table_of(held))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) | {"held_s": one.held_s} for one in held], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
