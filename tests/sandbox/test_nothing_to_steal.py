"""A worker holds nothing worth stealing: a submission that searches all it can reach finds no secret that the judge has.

The secrets are made to be recognised: marks in texts, seeds with known digits, and expected values that spell a word. Each
kind is also put where the submission can find it, to show that it would.
"""

import re
import secrets
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.judge.context import JudgeContext
from evaluator.judge.correctness.inputs import round_inputs
from evaluator.judge.evaluate import evaluate
from evaluator.judge.workers import launcher
from evaluator.results.result import Result
from evaluator.sandbox import Level, Zygote
from evaluator.sandbox.level_choice import try_level
from tests.judge.conftest import make_job, own_cpu
from tests.sandbox.conftest import CONFINED

pytestmark = pytest.mark.slow(25)

SEARCHER = Path(__file__).with_name("searcher.py").read_text(encoding="utf-8")
MARKED = '''\
"""{mark}"""

import struct

import torch
from torch import nn

ABOVE, BELOW = struct.unpack("<2f", b"Zan?" + b"Zib?")


class Model(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, ABOVE, BELOW)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
'''


def mark(kind: str) -> str:
    return f"Zanzibar-{kind}-{secrets.token_hex(4)}"


def known_seed() -> int:
    """48 bits, the first 32 of them known to the searcher."""
    return int.from_bytes(b"Zanz" + secrets.token_bytes(2), "big")


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A problem in a marked folder with a database, in a judge with a marked environment, and a marked process beside it."""
    folder = tmp_path_factory.mktemp(mark("path"))
    folder.joinpath("marked.py").write_text(MARKED.format(mark=mark("source")))
    database = sqlite3.connect(folder / "assay.db")
    database.execute("CREATE TABLE evaluations (message TEXT)")
    database.execute("INSERT INTO evaluations VALUES (?)", [mark("database")])
    database.commit()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_TOKEN", mark("variable"))
        command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(3600)", mark("argument"), str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as beside:
            assert beside.stdout is not None and beside.stdout.readline()
            yield folder / "marked.py"
            beside.kill()
    database.close()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def start(level: Level, cache: Path, **env: str) -> Iterator[JudgeContext]:
    """A judge's context as the engine makes it, with `env` in the warm parent."""
    trial = try_level(level)
    if not trial.available:
        pytest.skip(f"{level}: {trial.reason}")
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=cache, level=level)
    with Zygote.start((WORKER_MODULE,), level, {**WARM_ENVIRONMENT, **env}) as zygote:
        yield make_context(options, zygote)
    Path(tempfile.gettempdir(), f"assay-{options.device.unique_id}.lock").unlink(missing_ok=True)


@pytest.fixture(scope="module", params=CONFINED)
def context(request: pytest.FixtureRequest, problem: Path, cache: Path) -> Iterator[JudgeContext]:
    yield from start(request.param, cache)


@pytest.fixture(scope="module")
def planted_context(problem: Path, cache: Path) -> Iterator[JudgeContext]:
    """A warm parent with a secret in its environment."""
    yield from start(Level.NAMESPACES, cache, PLANTED=mark("planted"))


@pytest.fixture(autouse=True)
def known_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeds of the rounds' inputs; that of the construction is told to the worker."""
    monkeypatch.setattr(round_inputs, "fresh_seed", known_seed)


def search(context: JudgeContext, problem: Path, code: str = SEARCHER) -> tuple[list[str], dict[str, int]]:
    """What the searcher found, and how much of each kind it looked at."""
    result: Result = evaluate(context, make_job(code, "marked", 900.0, problem), lambda _: None)
    exception = result.evidence.exception
    assert exception is not None and exception.type == "FoundError", result.model_dump_json()
    *found, looked = exception.message.splitlines()
    return found, {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", looked)}


def timed(code: str) -> str:
    changed = code.replace("WHILE_TIMED = False", "WHILE_TIMED = True")
    assert changed != code
    return changed


def test_after_an_answer_was_compared_nothing_is_found(context: JudgeContext, problem: Path) -> None:
    found, looked = search(context, problem)
    assert found == []
    assert looked["memory"] > 100 << 20 and looked["descriptors"] > 3 and looked["files"] > 0


@pytest.mark.parametrize("context", CONFINED[:1], indirect=True)
def test_beside_the_baseline_nothing_is_found(context: JudgeContext, problem: Path) -> None:
    found, looked = search(context, problem, timed(SEARCHER))
    assert found == []
    assert looked["memory"] > 100 << 20


def test_what_a_judge_gave_away_would_be_found_but_no_problem(
    planted_context: JudgeContext, problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable, a folder, seeds, a descriptor that was left open. A folder of modules that holds the problem is not shown."""
    tmp_path.chmod(0o755)
    tmp_path.joinpath("notes.txt").write_text(mark("file"))
    tmp_path.joinpath(mark("name")).mkdir()
    for place in (problem, *problem.parents[:2]):
        place.chmod(place.stat().st_mode | stat.S_IROTH | (stat.S_IXOTH if place.is_dir() else 0))
    monkeypatch.setattr(launcher, "fresh_seed", known_seed)
    keeping = SEARCHER.replace("calls = 0\n", "calls = 0\nkept = os.open('/etc/passwd', os.O_RDONLY)\n", 1)
    giving = replace(planted_context, readonly=(*planted_context.readonly, str(tmp_path), str(problem.parent)))
    found, _ = search(giving, problem, keeping)
    assert any("memory" in line and "Zanzibar-planted" in line for line in found), found
    for kind in ("file", "name"):
        assert any(f"Zanzibar-{kind}" in line for line in found), (kind, found)
    assert any("znaZ" in line for line in found), found
    assert any(line.endswith("is /etc/passwd") for line in found), found
    assert len(found) < 40, "none is left out"
    assert not any("Zanzibar-source" in line or "Zanzibar-path" in line for line in found), found


def test_expected_values_would_be_found(planted_context: JudgeContext, problem: Path) -> None:
    answering = SEARCHER.replace(" if WHILE_TIMED else torch.zeros_like(x)", "")
    assert answering != SEARCHER
    found, _ = search(planted_context, problem, answering)
    assert any("an?Z" in line or "ib?Z" in line for line in found), found
