"""Submissions of unusual but honest form: no judge may refuse one.

Each file of `corpus/` names its problem and, for each device on which its form makes sense, the verdict that it deserves; what a problem
of `problems/` is there for is its answer's form.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").glob("*.py"))
MIN_CORPUS = 32
OK, LIBRARY = "correct/ok", "correct/no_custom_kernel"

Records = dict[str, dict[str, Any]]


def expectations(kind: str) -> dict[str, set[str]]:
    """`status/category` that may come out, by file name, of the submissions that make sense on this kind of device (cuda or cpu)."""
    found: dict[str, set[str]] = {}
    for path in CORPUS:
        line = re.search(rf"^# expect: {kind} (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if line:
            found[path.name] = {verdict.strip() for verdict in line[1].split("|")}
    return found


CPU, CUDA = expectations("cpu"), expectations("cuda")


def judge(names: list[str], folder: Path, *options: str, env: dict[str, str] | None = None) -> Records:
    """Run the pipeline over these files of the corpus; the records by file name."""
    paths = [str((HERE / "corpus" / name).relative_to(ROOT)) for name in names]
    command = [sys.executable, "pipeline.py", *paths, "--reference", str(HERE / "problems"), "--timeout", "60"]
    command += ["--db", f"sqlite:///{folder / 'assay.db'}", "--json", str(folder / "results.jsonl"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False, env=env)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return {Path(record["submission"]).name: record for record in records}


def check(records: Records, name: str, verdicts: set[str]) -> None:
    record = records[name]
    assert f"{record['status']}/{record['category']}" in verdicts, record["message"]
    assert record["runtime_ms"] > 0 and record["speedup"] > 0


@pytest.fixture(scope="session")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judge(list(CPU), tmp_path_factory.mktemp("honest"), "--device", "cpu", env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


@pytest.mark.build
@pytest.mark.parametrize("name", CPU)
def test_no_honest_submission_is_refused(on_cpu: Records, name: str) -> None:
    check(on_cpu, name, CPU[name])


@pytest.fixture(scope="session", params=[level for level in Level if level is not Level.NONE])
def on_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Records:
    trial = try_level(request.param)
    if not trial.available:
        pytest.skip(f"{request.param}: {trial.reason}")
    return judge(list(CUDA), tmp_path_factory.mktemp(request.param), "--device", "cuda", "--sandbox", request.param)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CUDA)
def test_no_honest_submission_is_refused_on_a_gpu(on_gpu: Records, name: str) -> None:
    check(on_gpu, name, CUDA[name])


def test_the_corpus_is_as_large_as_it_should_be_and_every_file_says_what_it_deserves() -> None:
    assert len(CORPUS) >= MIN_CORPUS
    assert {path.name for path in CORPUS} == {*CPU, *CUDA}
    assert all(verdicts <= {OK, LIBRARY} for verdicts in (*CPU.values(), *CUDA.values()))
