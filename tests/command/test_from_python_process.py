"""Scripts that judge: what they import, that they run once, and what they leave running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command.test_pipeline_ending import assert_all_end, below
from tests.command_line import PROJECT, RUN_S, Bench, submission

pytestmark = pytest.mark.slow(20)

HEAVY = ("torch", "sqlalchemy", "pydantic", "numpy", "rich", "pandas")
SCRIPT = f"""\
import sys
print("the script runs", flush=True)
from pipeline import Judge, judge
import assay, db
assay.judge
print([name for name in {HEAVY!r} if name in sys.modules])
for _ in range(2):
    print(judge("wrong.py", problem="double", reference="problems", device="cpu", jobs=1).status)
with Judge(reference="problems", device="cpu", jobs=1) as judging:
    print([result.status for result in judging(["wrong.py", "wrong.py"], problem="double")])
import psutil
kinds = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
print([word for word in ("forkserver", "resource_tracker", "zygote") if any(word in kind for kind in kinds)], len(kinds))
print("torch" in sys.modules)
"""
"""It ends without closing anything, and has no `if __name__ == "__main__"`."""
ENDLESS = """\
from pipeline import judge
judge("endless.py", problem="double", reference="problems", device="cpu", jobs=1, on_result=print)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write("wrong.py", submission("x + 1"))
    made.write("endless.py", submission(before="time.sleep(1000)"))
    return made


def start(bench: Bench, script: str) -> "subprocess.Popen[str]":
    """The script in a process group of its own, in the bench's folder."""
    path = bench.write("script.py", script)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(
        [sys.executable, path],
        cwd=bench.root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_plain_script_runs_once_imports_no_pytorch_and_keeps_one_parent_alone(bench: Bench) -> None:
    with start(bench, SCRIPT) as process:
        stdout, stderr = process.communicate(timeout=RUN_S)
    assert (process.returncode, stderr) == (0, "")
    judged = ["incorrect", "incorrect", "[<Status.INCORRECT: 'incorrect'>, <Status.INCORRECT: 'incorrect'>]"]
    assert stdout.splitlines() == ["the script runs", "[]", *judged, "['forkserver', 'resource_tracker'] 2", "False"]


def test_ctrl_c_leaves_nothing_running(bench: Bench) -> None:
    with start(bench, ENDLESS) as process:
        deadline = time.monotonic() + RUN_S
        # Two parents, a judge, a supervisor and a worker with its first process: the submission runs or is about to.
        while len(started := below(process)) < 6 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=RUN_S)
    assert process.returncode == -signal.SIGINT and stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert_all_end(started)
