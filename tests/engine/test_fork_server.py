"""Processes of the judges' warm parent, in scripts of callers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command.test_pipeline_ending import assert_all_end, below
from tests.command_line import PROJECT, RUN_S

pytestmark = pytest.mark.slow(15)

SCRIPT = """\
import os, sys
from multiprocessing import forkserver
print("the script runs", flush=True)
from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover

def ask():
    with ProblemReader(discover()) as problems:
        print(problems.get("softmax").name, "torch" in sys.modules, flush=True)

ask()
print(forkserver._forkserver._forkserver_pid, flush=True)
open_meanwhile = ProblemReader(discover())
open_meanwhile.check("softmax", "small")
child = os.fork()
if not child:
    ask()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
open_meanwhile.check("softmax", "small")
ask()
"""
POOLED = """from multiprocessing import Pool
from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover

def ask(name):
    with ProblemReader(discover()) as problems:
        return problems.get(name).name

if __name__ == "__main__":
    with Pool(1) as pool:
        print(*pool.map(ask, ["softmax", "rope"]))
"""
INTERRUPTED = """\
import signal
from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover

signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    with ProblemReader(discover()) as problems:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        problems.get("softmax")
except KeyboardInterrupt:
    print("interrupted")
"""
"""While the server still imports PyTorch."""
ENDLESS = """from pathlib import Path
from evaluator.engine.problem_loader import ProblemReader

with ProblemReader({"endless": Path("endless.py")}) as problems:
    print("it begins", flush=True)
    problems.get("endless")
"""


def run(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.run([sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_S)


def test_a_script_without_a_guard_runs_once_and_keeps_its_own_fork_server_as_does_its_fork(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the folder of the script was searched')", encoding="utf-8")
    finished = run(tmp_path, SCRIPT)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == ["the script runs", "softmax False", "None", "softmax False", "softmax False"]


def test_a_daemonic_worker_of_a_pool_has_processes(tmp_path: Path) -> None:
    finished = run(tmp_path, POOLED)
    assert (finished.returncode, finished.stdout.split(), finished.stderr) == (0, ["softmax", "rope"], "")


def test_processes_end_with_a_caller_that_is_killed_whatever_they_do(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("import pathlib, time\npathlib.Path('imported').touch()\ntime.sleep(1000)\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(PROJECT)}, text=True
    ) as process:
        while not (tmp_path / "imported").exists():
            assert process.poll() is None
            time.sleep(0.05)
        started = below(process)
        process.kill()
    assert_all_end(started)


def test_ctrl_c_while_a_process_starts_is_no_other_error(tmp_path: Path) -> None:
    finished = run(tmp_path, INTERRUPTED)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "interrupted\n", "")
