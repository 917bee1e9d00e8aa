"""A run whose options come from a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import PROJECT, RUN_S, Bench, submission

FILE = """\
[tool.assay]
db = "sqlite:///results.db"
reference = ["problems"]
device = "cpu"
jobs = 1
"""


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "COLUMNS": "200", "ASSAY_CACHE": str(folder / "cache")}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=RUN_S)


@pytest.mark.slow(15)
def test_a_run_says_what_holds_from_which_file_and_reads_none_beside_submissions(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    file = bench.write("pyproject.toml", FILE)
    bench.write("work/double/right.py", submission())
    bench.write("work/double/assay.toml", "no-sandbox = true\ntimout = 3")
    judged = run(tmp_path / "work", str(PROJECT / "pipeline.py"), "double", "--timeout", "20")
    assert judged.returncode == 0, judged.stderr
    assert f"Options from {file}: db, reference, device, jobs\n" in judged.stdout
    assert "sandbox: none" not in judged.stdout and "1 evaluated: 1 correct" in judged.stdout
    assert bench.database.exists()
    for words in (["-m", "db", "list", "--json"], ["-m", "assay", "list", "--json"]):
        listed = run(tmp_path / "work", *words)
        assert [row["submission"] for row in json.loads(listed.stdout)] == ["double/right.py"], listed.stderr
    inside = run(tmp_path / "work/double", str(PROJECT / "pipeline.py"), "right.py")
    assert (inside.returncode, inside.stdout, inside.stderr.count("\n")) == (2, "", 1)
    assert "double/assay.toml: no option 'timout'; nearest: timeout" in inside.stderr
