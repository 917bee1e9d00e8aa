"""Collects what compute-sanitizer says of the corpus, for the tests that read it: `python -m tests.sanitizer.collect`, on a GPU.

Each mistake's log goes to tests/sanitizer/data/VERSION/NAME.txt.
"""

import sys
import tempfile
from pathlib import Path

from evaluator.engine.judge_process import make_bench
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.sanitizer_runs import TOOL_S, Conversation, LineBuilds, SanitizerRuns
from evaluator.machine.devices import choose
from evaluator.problem.problem import SHIPPED, load
from evaluator.sandbox import Zygote
from evaluator.sanitizer.program import command
from evaluator.sanitizer.tools import Tool, Wish, find
from tests.corpus import corpus
from tests.judge.conftest import make_job

HERE = Path(__file__).parent
DATA = HERE / "data"


def main(target: Path) -> None:
    """Run each mistake's tool over it, and keep the log."""
    sanitizer = find(Wish(tuple(Tool)))
    folder = target / sanitizer.version
    folder.mkdir(parents=True, exist_ok=True)
    device, _ = choose("cuda")
    with tempfile.TemporaryDirectory() as cache, Zygote.start(modules=(WORKER_MODULE,), env=WARM_ENVIRONMENT) as zygote:
        bench = make_bench(EngineOptions(device=device, stands_in=False, judges=1, cache_root=Path(cache)), zygote)
        for name, mistake in corpus(HERE / "corpus").items():
            header = {key: value for key, (value,) in mistake.header.items()}
            plan = SanitizerRuns(
                bench=bench,
                job=make_job(mistake.data.decode(), header["problem"]),
                problem=load(SHIPPED / f"{header['problem']}.py"),
                case_name="small",
                lock=DeviceLock(device.unique_id),
                environment={"CUDA_VISIBLE_DEVICES": device.visible},
                readonly=bench.readonly,
                report=lambda _: None,
            )
            talk = Conversation(plan, plan.problem.instance("small"), TOOL_S, LineBuilds(bench.builder))
            text = talk.hold(command(sanitizer, Tool(header["tool"])), sanitizer.readonly_paths)
            plan.lock.close()
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            print(name, talk.outcome, talk.remark, f"{len(text)} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
