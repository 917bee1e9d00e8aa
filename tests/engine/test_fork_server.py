"""Processes of the judges' warm parent, in scripts of callers."""

import os
import subprocess
import sys
from pathlib import Path

from tests.command_line import PROJECT

SCRIPT = """\
import sys
from multiprocessing import forkserver
print("the script runs", flush=True)
from evaluator.engine.fork_server import CONTEXT
from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover
with ProblemReader(discover()) as problems:
    print(problems.get("softmax").name, "torch" in sys.modules)
print(forkserver._forkserver._forkserver_pid)
"""
FORKED = """\
import os
from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover

def ask():
    with ProblemReader(discover()) as problems:
        print(problems.get("softmax").name, flush=True)

ask()
child = os.fork()
if not child:
    ask()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
ask()
"""


def run(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.run([sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_a_script_without_a_guard_runs_once_and_keeps_its_own_fork_server(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the folder of the script was searched')", encoding="utf-8")
    finished = run(tmp_path, SCRIPT)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == ["the script runs", "softmax False", "None"]


def test_a_fork_of_the_caller_has_a_server_of_its_own(tmp_path: Path) -> None:
    finished = run(tmp_path, FORKED)
    assert (finished.returncode, finished.stdout.split(), finished.stderr) == (0, ["softmax"] * 3, "")
