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


def test_a_script_without_a_guard_runs_once_and_keeps_its_own_fork_server(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "torch.py").write_text("raise SystemExit('the folder of the script was searched')", encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, timeout=120
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == ["the script runs", "softmax False", "None"]
