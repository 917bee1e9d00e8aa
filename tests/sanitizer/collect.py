"""Collects compute-sanitizer's output on the corpus, for tests: `python -m tests.sanitizer.collect`, on a GPU.

Each mistake's log goes to tests/sanitizer/data/VERSION/NAME.txt.
"""

import sys
import tempfile
from pathlib import Path

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.machine.devices import choose
from evaluator.nvidia_tools.tool_run import ToolSetting
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.sandbox import Zygote, best_level
from evaluator.sanitizer.runs import TOOL_S, LineBuilds, SanitizerRuns
from evaluator.sanitizer.tools import Tool, Wish, command, find
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
    with tempfile.TemporaryDirectory() as cache, Zygote.start(modules=(WORKER_MODULE,), level=best_level(), env=WARM_ENVIRONMENT) as zygote:
        context = make_context(EngineOptions(device=device, stands_in=False, judges=1, cache_root=Path(cache)), zygote)
        for name, mistake in corpus(HERE / "corpus").items():
            header = {key: value for key, (value,) in mistake.header.items()}
            lock = DeviceLock(device.unique_id)
            environment = {"CUDA_VISIBLE_DEVICES": device.visible}
            setting = ToolSetting(context, "sanitize", lock, environment, context.readonly, report=lambda _: None)
            problem = load(SHIPPED / f"{header['problem']}.py")
            plan = SanitizerRuns(setting, make_job(mistake.data.decode(), header["problem"]), problem, case_name="small")
            tool_run = plan.tool_run(problem.instance("small"), TOOL_S, LineBuilds(context.builder))
            text = tool_run.run(command(sanitizer, Tool(header["tool"])), sanitizer.readonly_paths)
            lock.close()
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            print(name, tool_run.outcome, tool_run.remark, f"{len(text)} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
