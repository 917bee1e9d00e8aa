"""The corpus of faulty submissions, through the command line: each gets its category, its line and its words."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evaluator.results.category import CATEGORIES, Category, Status
from tests.command_line import PROJECT
from tests.diagnosis.fault import Fault, corpus

FAULTS = corpus()
HAS_NVCC = shutil.which("nvcc") is not None
ON_CPU = [name for name, fault in FAULTS.items() if "cpu" in fault.verdicts and (HAS_NVCC or not fault.needs_nvcc)]
ON_CUDA = [name for name, fault in FAULTS.items() if "cuda" in fault.verdicts]
LEAST_RIGHT_LINES = 0.95
RUN_WITHIN_S = 3600
MEASURED_ELSEWHERE = {
    *(category for category, info in CATEGORIES.items() if info.status in (Status.DISQUALIFIED, Status.NOT_EVALUATED)),
    *(Category.OK, Category.DEGENERATE_PROBLEM, Category.BUILD_TIMEOUT),
}
"""Categories of the attacks and of the judge's own troubles, what is right, what is a problem's fault, and what takes five minutes to be
seen."""

Records = dict[str, dict[str, Any]]
"""Record of the pipeline by name of the file."""


def judge(names: list[str], folder: Path, *options: str) -> Records:
    """Run the pipeline over copies of these at the small case, in other shapes too, at 10 s a call; exactly one record for each."""
    place = folder / "faults"
    place.mkdir()
    for name in names:
        (place / name).write_bytes(FAULTS[name].data)
    command = [sys.executable, str(PROJECT / "pipeline.py"), "faults", "--case", "small", "--strict-shapes", "--timeout", "10"]
    done = subprocess.run(
        [*command, "--db", "sqlite:///faults.db", "--json", "results.jsonl", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
        env={**os.environ, "ASSAY_CACHE": os.environ.get("ASSAY_CACHE", str(folder / "cache"))},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {record["submission"].split("/")[-1].removesuffix(":1"): record for record in records}
    assert sorted(found) == sorted(names) and len(records) == len(names)
    return found


def check(fault: Fault, record: dict[str, Any], kind: str) -> None:
    said = f"{record['status']}/{record['category']}: {record['message']}\n{record['feedback']}"
    assert f"{record['status']}/{record['category']}" == fault.verdicts[kind], said
    for words in fault.says:
        assert any(words in record[field] for field in ("message", "hint", "feedback")), f"{words!r} is not in {said}"
    assert "/tmp/" not in record["feedback"] and str(PROJECT) not in record["feedback"]


def has_its_line(fault: Fault, record: dict[str, Any]) -> bool:
    return fault.line is None or record["line"] == fault.line


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judge(ON_CPU, tmp_path_factory.mktemp("cpu"), "--device", "cpu")


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judge(ON_CUDA, tmp_path_factory.mktemp("cuda"), "--device", "cuda")


@pytest.mark.build
@pytest.mark.parametrize("name", ON_CPU)
def test_fault_on_the_cpu(on_cpu: Records, name: str) -> None:
    check(FAULTS[name], on_cpu[name], "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_CUDA)
def test_fault_on_a_gpu(on_cuda: Records, name: str) -> None:
    check(FAULTS[name], on_cuda[name], "cuda")


@pytest.mark.build
def test_lines_on_the_cpu(on_cpu: Records) -> None:
    wrong = {name: on_cpu[name]["line"] for name in ON_CPU if not has_its_line(FAULTS[name], on_cpu[name])}
    marked = sum(FAULTS[name].line is not None for name in ON_CPU)
    assert len(wrong) <= (1 - LEAST_RIGHT_LINES) * marked, wrong


@pytest.mark.gpu
def test_lines_on_a_gpu(on_cuda: Records) -> None:
    wrong = {name: on_cuda[name]["line"] for name in ON_CUDA if not has_its_line(FAULTS[name], on_cuda[name])}
    marked = sum(FAULTS[name].line is not None for name in ON_CUDA)
    assert len(wrong) <= (1 - LEAST_RIGHT_LINES) * marked, wrong


@pytest.mark.parametrize("name", FAULTS)
def test_header(name: str) -> None:
    fault = FAULTS[name]
    assert fault.verdicts.keys() <= {"cpu", "cuda"} and fault.fault
    for verdict in fault.verdicts.values():
        status, _, category = verdict.partition("/")
        assert Category(category).status == status


def test_every_category_of_faults_has_several() -> None:
    counts = Counter(Category(verdict.split("/")[1]) for fault in FAULTS.values() for verdict in set(fault.verdicts.values()))
    few = {category: counts[category] for category in Category if category not in MEASURED_ELSEWHERE and counts[category] < 3}
    assert few == {}
    assert len(FAULTS) >= 45


def test_no_two_are_alike() -> None:
    faults = [fault.fault for fault in FAULTS.values()]
    assert len(set(faults)) == len(faults)
    assert len({fault.data for fault in FAULTS.values()}) == len(faults)
