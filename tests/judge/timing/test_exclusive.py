"""Two pipelines at once on one device never time at the same moment."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from db.store import Store
from tests.shipped import ROOT

pytestmark = pytest.mark.slow(20)

SLEEPING = """
import time, torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        begin = time.monotonic()
        time.sleep(0.01)
        print("called", begin, time.monotonic(), flush=True)
        return torch.softmax(x, 1)
"""
CALL = re.compile(r"^called ([0-9.]+) ([0-9.]+)$", re.MULTILINE)
FEWEST_CALLS = 10


def start(folder: Path, name: str) -> subprocess.Popen[bytes]:
    """A pipeline of its own, over two submissions that tell when they are called."""
    for number in range(2):
        (folder / f"{name}{number}.py").write_text(SLEEPING + f"# {name}{number}\n")
    paths = [str(folder / f"{name}{number}.py") for number in range(2)]
    command = [sys.executable, "pipeline.py", *paths, "--problem", "softmax", "--device", "cpu", "--case", "small", "--jobs", "2"]
    command += ["--db", f"sqlite:///{folder / name}.db"]
    environment = {**os.environ, "ASSAY_CACHE": str(folder / "cache")}
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)


def calls(folder: Path, name: str, number: int) -> list[tuple[float, float]]:
    """When the submission was called: what it printed, as far as that was kept."""
    with Store.open(f"sqlite:///{folder / name}.db", read_only=True) as store:
        stored = store.get(number)
    assert stored is not None and stored.result.speedup is not None
    return [(float(begin), float(end)) for begin, end in CALL.findall(stored.result.evidence.stdout)]


def test_two_pipelines_never_call_at_the_same_moment(tmp_path: Path) -> None:
    running = [start(tmp_path, name) for name in ("one", "other")]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()
    of_each = [calls(tmp_path, name, number) for name in ("one", "other") for number in (1, 2)]
    assert all(len(found) >= FEWEST_CALLS for found in of_each)
    spans = sorted((found[0][0], found[-1][1]) for found in of_each)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans)), "each has the device from its first call to its last"
