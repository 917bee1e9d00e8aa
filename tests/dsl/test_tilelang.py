"""TileLang's errors, as 0.1.15 raises them, and its own compiler where it is installed: tracing needs no GPU."""

import importlib.util
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.source_map import SourceMap
from evaluator.dsl import tilelang
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence, ExceptionEvidence
from evaluator.worker.state import describe_failure
from tests.shipped import ROOT

FAILING = ROOT / "submissions/leaky_relu/tilelang_undeclared.py"
PASSES = "InternalError: The layout for fragment C_local is not known\n  --> /tmp/private/submission.py:2:5\n   |\n 2 | wrong\n   | ^"
TRACED = """
import importlib.util, json, sys, torch
from pathlib import Path
from evaluator.dsl import tilelang
from evaluator.worker.state import describe_failure
path = Path.cwd() / "submission.py"
path.write_text(Path(sys.argv[1]).read_text().replace("@tilelang.jit", '@tilelang.jit(target={"kind": "cuda", "arch": "sm_90"})'))
spec = importlib.util.spec_from_file_location("submission", path)
module = sys.modules["submission"] = importlib.util.module_from_spec(spec)
watch = tilelang.install(None)
spec.loader.exec_module(module)
watch()
try:
    module.bend.compile(torch.zeros(1000), 0.1)
except BaseException as error:
    print(json.dumps(describe_failure(error, str(path), on_device=False)))
"""


def build(kind: str, message: str, code: str, line: int | None) -> BuildEvidence | None:
    return failed_build(ExceptionEvidence(stage="rounds", type=kind, message=message, line=line), SourceMap(code, 11))


def test_what_tracing_refuses_has_the_line_that_raised_it() -> None:
    found = build("TileLangError", "NameError: name 'steepness' is not defined", "a\nb\n", 12)
    assert found is not None
    assert (found.name, found.category, found.diagnostics[0].source_line) == ("tilelang", Category.UNDECLARED_IDENTIFIER, 12)
    assert build("NameError", "name 'steepness' is not defined", "a\nb\n", 12) is None


def test_what_a_pass_refuses_has_the_line_that_it_names() -> None:
    found = build("TileLangError", PASSES, "right\nwrong\n", 30)
    assert found is not None
    (diagnostic,) = found.diagnostics
    assert (found.category, diagnostic.source_line, diagnostic.excerpt) == (Category.CUDA_COMPILE_ERROR, 12, "wrong")
    assert diagnostic.message == "InternalError: The layout for fragment C_local is not known"


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """A module of TileLang's form, whose compiler calls what it is given."""

    class JITImpl:
        def compile(self, kernel: object) -> object:
            return kernel()  # type: ignore[operator]

    module = types.ModuleType(tilelang.JIT)
    module.JITImpl = JITImpl  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, tilelang.JIT, module)
    yield JITImpl


def test_the_kernels_own_errors_are_told_from_the_machines(stand_in: type) -> None:
    watch = tilelang.install(None)
    watch()
    watch()
    names: dict[str, object] = {}
    exec(compile("def kernel():\n    return steepness\n", "/tmp/private/submission.py", "exec"), names)
    with pytest.raises(tilelang.TileLangError, match="NameError: name 'steepness' is not defined") as raised:
        stand_in().compile(names["kernel"])
    told = describe_failure(raised.value, "/tmp/private/submission.py", on_device=False)
    assert (told["type"], told["line"]) == ("TileLangError", 2)
    with pytest.raises(FileNotFoundError):
        stand_in().compile(Path("/no/nvcc").read_text)
    assert stand_in().compile(lambda: 3) == 3


@pytest.mark.skipif(importlib.util.find_spec("tilelang") is None, reason="TileLang is not installed")
def test_tilelangs_own_errors_are_read(tmp_path: object) -> None:
    import json

    done = subprocess.run(
        [sys.executable, "-c", TRACED, str(FAILING)], cwd=str(tmp_path), capture_output=True, text=True, timeout=300, check=False
    )
    told = json.loads(done.stdout.splitlines()[-1])
    code = FAILING.read_text(encoding="utf-8")
    found = failed_build(ExceptionEvidence(stage="rounds", type=told["type"], message=told["message"], line=told["line"]), SourceMap(code))
    assert found is not None and found.category is Category.UNDECLARED_IDENTIFIER
    wanted = next(number for number, line in enumerate(code.splitlines(), 1) if "* steepness" in line)
    assert found.diagnostics[0].source_line == wanted
