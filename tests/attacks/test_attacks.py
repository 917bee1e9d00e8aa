"""The attack corpus, through the command line: no attack gets what it wants, and none leaves anything behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.results.category import Category
from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.attacks.attack import ROOT, Attack, corpus, is_there, remove

ATTACKS = corpus()
ON_CPU = [name for name, attack in ATTACKS.items() if "cpu" in attack.verdicts]
ON_CUDA = [name for name, attack in ATTACKS.items() if "cuda" in attack.verdicts]
CONFINED = [level for level in Level if level is not Level.NONE]
RUN_WITHIN_S = 1800

Records = dict[str, dict[str, Any]]
"""Record of the pipeline by name of the attack."""


def judge(names: list[str], folder: Path, *options: str) -> Records:
    """Run the pipeline over these attacks at a deadline of 10 s a stage; exactly one record for each."""
    attacks = [ATTACKS[name] for name in names]
    for attack in attacks:
        for marker in attack.markers:
            remove(marker)
    command = [sys.executable, "pipeline.py", *(attack.name for attack in attacks), "--timeout", "10"]
    command += ["--db", f"sqlite:///{folder / 'assay.db'}", "--json", str(folder / "results.jsonl"), *options]
    environment = {**os.environ, "ASSAY_TEST_SECRET": "seed=1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False, env=environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(record["submission"] for record in records) == sorted(attack.name for attack in attacks)
    return {Path(record["submission"]).stem: record for record in records}


def check(attack: Attack, record: dict[str, Any], kind: str) -> None:
    verdict = f"{record['status']}/{record['category']}"
    assert verdict in attack.verdicts[kind], f"it wants {attack.wants}; {verdict}: {record['message']}"
    if attack.speedup is not None and record["status"] == "correct":
        assert record["speedup"] <= attack.speedup, f"it wants {attack.wants}, and its speedup is {record['speedup']}"
    assert [marker for marker in attack.markers if is_there(marker)] == []


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judge(ON_CPU, tmp_path_factory.mktemp("cpu"), "--device", "cpu")


@pytest.mark.build
@pytest.mark.parametrize("name", ON_CPU)
def test_attack_fails_on_the_cpu(on_cpu: Records, name: str) -> None:
    check(ATTACKS[name], on_cpu[name], "cpu")


def test_the_disk_has_a_limit_without_a_file_system_of_ones_own(tmp_path: Path) -> None:
    trial = try_level(Level.LANDLOCK)
    if not trial.available:
        pytest.skip(trial.reason)
    record = judge(["bomb_disk"], tmp_path, "--device", "cpu", "--sandbox", Level.LANDLOCK)["bomb_disk"]
    check(ATTACKS["bomb_disk"], record, "cpu")
    assert record["category"] == Category.PROCESS_CRASH
    assert "private directory beyond the limit of 2 GiB" in record["message"]


def test_threads_of_a_worker_that_starts_cold_do_not_hide_work_left_behind(tmp_path: Path) -> None:
    trial = try_level(Level.BUBBLEWRAP)
    if not trial.available:
        pytest.skip(trial.reason)
    name = "lazy_thread_when_timed"
    check(ATTACKS[name], judge([name], tmp_path, "--device", "cpu", "--sandbox", Level.BUBBLEWRAP)[name], "cpu")


@pytest.fixture(scope="module", params=CONFINED)
def on_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    trial = try_level(request.param)
    if not trial.available:
        pytest.skip(f"{request.param}: {trial.reason}")
    yield judge(ON_CUDA, tmp_path_factory.mktemp(request.param), "--device", "cuda", "--sandbox", request.param)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_CUDA)
def test_attack_fails_on_a_gpu(on_gpu: Records, name: str) -> None:
    check(ATTACKS[name], on_gpu[name], "cuda")


@pytest.mark.parametrize("name", ATTACKS)
def test_header(name: str) -> None:
    """Every verdict exists, and only what is legal or gains nothing may be correct."""
    attack = ATTACKS[name]
    for verdicts in attack.verdicts.values():
        for verdict in verdicts:
            status, category = verdict.split("/")
            assert Category(category).status == status
        correct = {verdict for verdict in verdicts if verdict.startswith("correct/")}
        assert not correct or attack.legal or attack.speedup is not None
        assert not attack.legal or correct == verdicts
