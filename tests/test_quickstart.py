"""The commands of docs/quickstart.md, run from top to bottom on the CPU, but for those that download, install or serve.

KernelBench's folder is a small problem in its form, and the model is a command that prints the answer that the document has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.commands import COMMANDS
from tests.command_line import PROJECT, RUN_S
from tests.test_docs import code_blocks, document

pytestmark = pytest.mark.slow(60)

ELSEWHERE = {
    "make demo",
    "git clone https://github.com/ScalingIntelligence/KernelBench",
    ".venv/bin/pip install -c constraints.txt -e '.[web]'",
    ".venv/bin/assay serve --db mine.db",
}
"""Commands that need the network, or do not end."""
PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)


batch_size = 128
dim = 1024


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""


def executable(path: Path, command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def test_every_command_works(tmp_path: Path) -> None:
    text = document("quickstart.md")
    (answer,) = re.findall(r"^~~~markdown\n(.*?)^~~~", text, re.MULTILINE | re.DOTALL)
    script = code_blocks(text, "python")[0]
    (tmp_path / "ask.py").write_text(script, encoding="utf-8")
    (tmp_path / "answer.md").write_text(answer, encoding="utf-8")
    problem = tmp_path / "KernelBench/KernelBench/level1/25_Swish.py"
    problem.parent.mkdir(parents=True)
    problem.write_text(PROBLEM, encoding="utf-8")
    executable(tmp_path / ".venv/bin/python", sys.executable)
    executable(tmp_path / ".venv/bin/assay", f"{sys.executable} -m assay")
    executable(tmp_path / "bin/llm", f"cat {tmp_path}/answer.md #")
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "CUDA_VISIBLE_DEVICES": "",
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
    }
    commands = [line for block in code_blocks(text, "sh") for line in block.splitlines()]
    assert set(commands) >= ELSEWHERE
    said: dict[str, str] = {}
    for command in commands:
        if command not in ELSEWHERE:
            ended = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=RUN_S, check=False
            )
            assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
            said[command] = ended.stdout
    assert "no-model" in said[".venv/bin/assay leaderboard --db small.db"]
    assert "batch_size = 64\ndim = 4096\n" in (tmp_path / "small/25_Swish.py").read_text(encoding="utf-8")
    for judged in (command for command in said if " judge " in command):
        assert "2 evaluated: 2 correct" in said[judged]
    for leaderboard in (
        ".venv/bin/assay leaderboard --db mine.db",
        ".venv/bin/assay leaderboard --overall --db mine.db",
    ):
        assert "my-model" in said[leaderboard]
    assert "25_Swish" in (tmp_path / "site/leaderboard.html").read_text(encoding="utf-8")


def test_commands_that_are_not_run_exist() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^demo:", makefile, re.MULTILINE) and "serve" in COMMANDS
    assert re.search(r"^web = ", (PROJECT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
