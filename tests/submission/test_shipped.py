"""The shipped submissions, through the command line, each with the verdict that it says it deserves."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.results.category import Status
from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.shipped import ROOT, Key, expectations

pytestmark = pytest.mark.slow(90)

COMPILED_ON_CPU = {
    "submissions/softmax/const_pointer.py",
    "submissions/softmax/undeclared_identifier.py",
    "submissions/leaky_relu/missing_header.py",
    "submissions/gelu_tanh/vectorized.py",
}
"""CUDA submissions that nvcc compiles where there is no GPU; all of them would take it a quarter of an hour on two cores."""
NEEDS_NO_NVCC = {
    "submissions/softmax/no_cpp_sources.py",
    "submissions/responses/softmax_cut_off.txt",
    "submissions/responses/softmax_three_tries.txt",
}
"""CUDA submissions that fail before there is anything to compile."""


FOR_A_GPU = {
    "submissions/gelu_tanh/torch_compiled.py",
    "submissions/gelu_tanh/triton_in_compiled.py",
    "submissions/gelu_tanh/load_files.py",
}
"""What torch.compile or nvcc would take long to compile, with no other verdict than the rest has."""


def judged_on_cpu(name: str) -> bool:
    if name in FOR_A_GPU:
        return False
    return name in COMPILED_ON_CPU | NEEDS_NO_NVCC or "cuda_sources" not in (ROOT / name).read_text(encoding="utf-8")


DEMO = {
    f"submissions/{name}" for name in re.findall(r"^DEMO_CPU := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
}
"""Those that `make demo` judges. All of them are judged at night."""
CPU = {key: verdicts for key, verdicts in expectations("cpu").items() if judged_on_cpu(key[0])}
CUDA = expectations("cuda")


def judge(keys: list[Key], folder: Path, *options: str, env: dict[str, str] | None = None) -> dict[Key, dict[str, Any]]:
    """Run the pipeline over these submissions; the records by submission and block."""
    command = [sys.executable, "pipeline.py", *dict.fromkeys(name for name, _ in keys), "--every-block", "--timeout", "20"]
    command += ["--db", f"sqlite:///{folder / 'assay.db'}", "--json", str(folder / "results.jsonl"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False, env=env)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return {(record["submission"], record["block"]): record for record in records}


def check(records: dict[Key, dict[str, Any]], key: Key, verdicts: set[str]) -> None:
    record = records[key]
    assert f"{record['status']}/{record['category']}" in verdicts, record["message"]
    assert record["message"] or record["category"] == "ok"
    assert (record["speedup"] is not None) == (record["status"] == "correct")


@pytest.fixture(scope="module")
def on_cpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[Key, dict[str, Any]]:
    """The records of those that this run asks for."""
    functions = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {item.callspec.params["key"] for item in functions if item.originalname == "test_without_a_gpu"}
    return judge([key for key in CPU if key in asked], tmp_path_factory.mktemp("cpu"), env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


@pytest.mark.build
@pytest.mark.parametrize("key", [pytest.param(key, marks=() if key[0] in DEMO else pytest.mark.nightly) for key in CPU], ids=str)
def test_without_a_gpu(on_cpu: dict[Key, dict[str, Any]], key: Key) -> None:
    uncompiled = key[0] in COMPILED_ON_CPU and shutil.which("nvcc") is None
    check(on_cpu, key, {"not_evaluated/no_device"} if uncompiled else CPU[key])


@pytest.fixture(scope="module", params=[level for level in Level if level is not Level.NONE])
def on_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[Key, dict[str, Any]]:
    trial = try_level(request.param)
    if not trial.available:
        pytest.skip(f"{request.param}: {trial.reason}")
    return judge(list(CUDA), tmp_path_factory.mktemp(request.param), "--device", "cuda", "--sandbox", request.param)


@pytest.mark.gpu
@pytest.mark.parametrize("key", CUDA, ids=str)
def test_on_a_gpu(on_gpu: dict[Key, dict[str, Any]], key: Key) -> None:
    check(on_gpu, key, CUDA[key])


def test_every_response_is_in_the_manifest() -> None:
    named = {name for name, block in CUDA if block is not None}
    assert named == {path.relative_to(ROOT).as_posix() for path in (ROOT / "submissions").rglob("*") if path.suffix in (".txt", ".md")} - {
        "submissions/README.md"
    }


@pytest.mark.parametrize(("kind", "variable"), [("cpu", "DEMO_CPU"), ("cuda", "DEMO_GPU")])
def test_the_demo_shows_every_status(kind: str, variable: str) -> None:
    listed = re.search(rf"^{variable} := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed
    names = {f"submissions/{name}" for name in listed[1].replace("\\", " ").split()}
    expected = [verdicts for (name, _), verdicts in expectations(kind).items() if name in names]
    assert len(expected) >= len(names) >= 12
    assert {verdict.split("/")[0] for verdicts in expected for verdict in verdicts} == {str(status) for status in Status}
