"""CuTe DSL's errors, as 4.8.1 raises them, and its own compiler where it is installed: compiling needs no GPU."""

import importlib.util
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.source_map import SourceMap
from evaluator.dsl import cute
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence, ExceptionEvidence
from evaluator.worker.state import describe_failure
from tests.shipped import ROOT

EXAMPLES = ROOT / "submissions/leaky_relu"
UNDECLARED = """
\x1b[91m\x1b[1merror:\x1b[0m NameError in `launch`: name 'steepness' is not defined
  \x1b[94m-->\x1b[0m /tmp/private/submission.py:2
   |
 1 | right
 2 | wrong
   | \x1b[91m^\x1b[0m
  \x1b[94m= note:\x1b[0m Caused exception: name 'steepness' is not defined
"""
EARLY_EXIT = """
\x1b[91m\x1b[1merror[UNSUP_EARLY_EXIT]:\x1b[0m Early exit (return) is not allowed in `bend`.
  \x1b[94m-->\x1b[0m /tmp/private/submission.py:2:9
   |
"""
PTXAS = """\x1b[91merror:\x1b[0m PTX assembly failed

  --> /tmp/private/submission.py:2:0
   |
> 2 | wrong
    | ^
  \x1b[91merror:\x1b[0m ptxas rejected the PTX generated for this kernel while compiling it to SASS.
  \x1b[94mnote:\x1b[0m ptxas log:
        ptxas application ptx input, line 41; error   : Not a name of any known
        instruction: 'nonsense'
        ptxas fatal   : Ptx assembly aborted due to errors
  \x1b[92msuggestion:\x1b[0m read the ptxas log above"""
NVVM = """\x1b[91merror:\x1b[0m NVVM backend compilation failed
  \x1b[94mnote:\x1b[0m backend log:
        Failed to generate PTX from the compilation unit. (error 9: NVVM_ERROR_COMPILATION), libNVVM
        extra log:  Error: unsupported operation
  \x1b[92msuggestion:\x1b[0m check that CUDA_TOOLKIT_PATH is set correctly"""
COMPILED = """
import importlib.util, json, sys, torch
from pathlib import Path
from evaluator.dsl import cute as plugin
from evaluator.worker.state import describe_failure
path = Path.cwd() / "submission.py"
path.write_text(Path(sys.argv[1]).read_text().replace(*sys.argv[2:4]))
spec = importlib.util.spec_from_file_location("submission", path)
module = sys.modules["submission"] = importlib.util.module_from_spec(spec)
watch = plugin.install(None)
spec.loader.exec_module(module)
watch()
x = module.as_cute(torch.zeros(1000))
try:
    module.cute.compile(module.launch, x, x, module.cutlass.Float32(0.1), module.driver.CUstream(0))
    print(json.dumps(None))
except BaseException as error:
    print(json.dumps(describe_failure(error, str(path), on_device=False)))
print(json.dumps([entry.name for entry in Path(sys.argv[4]).iterdir()]))
"""


def build(kind: str, message: str, line: int | None = 30) -> BuildEvidence | None:
    return failed_build(ExceptionEvidence(stage="rounds", type=kind, message=message, line=line), SourceMap("right\nwrong\n", 11))


@pytest.mark.parametrize(
    ("kind", "message", "category", "line", "says"),
    [
        ("DSLUserCodeError", UNDECLARED, Category.UNDECLARED_IDENTIFIER, 12, "NameError in `launch`: name 'steepness' is not defined"),
        ("DSLUserCodeError", EARLY_EXIT, Category.CUDA_COMPILE_ERROR, 12, "Early exit (return) is not allowed in `bend`."),
        (
            *("CompilerDiagnosticError", PTXAS, Category.CUDA_COMPILE_ERROR, 12),
            "PTX assembly failed: Not a name of any known instruction: 'nonsense'",
        ),
        ("CompilerDiagnosticError", NVVM, Category.CUDA_COMPILE_ERROR, 30, "NVVM backend compilation failed: unsupported operation"),
        (
            *("CuteError", "AttributeError: module 'cutlass.cute.arch' has no attribute 'thread'", Category.UNDECLARED_IDENTIFIER, 30),
            "AttributeError: module 'cutlass.cute.arch' has no attribute 'thread'",
        ),
    ],
    ids=["undeclared", "early exit", "ptxas", "libNVVM", "tracing"],
)
def test_what_it_refuses_has_the_place_that_it_names(kind: str, message: str, category: Category, line: int, says: str) -> None:
    found = build(kind, message)
    assert found is not None
    (diagnostic,) = found.diagnostics
    assert (found.name, found.category, diagnostic.source_line, diagnostic.message) == ("cute", category, line, says)


def test_an_internal_error_counts_if_it_names_the_kernel() -> None:
    assert build("DSLRuntimeError", "error: no toolkit flavor is installed") is None
    assert build("DSLRuntimeError", UNDECLARED) is not None
    assert build("DSLCudaRuntimeError", UNDECLARED) is None


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type:
    """A module of CuTe DSL's form, which calls what it is to trace."""

    class BaseDSL:
        def _func(self, kernel: Callable[[], object]) -> object:
            return kernel()

    module = types.ModuleType(cute.TRACER)
    module.BaseDSL = BaseDSL  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, cute.TRACER, module)
    return BaseDSL


def test_errors_of_tracing_are_told_from_others(stand_in: type) -> None:
    watch = cute.install(None)
    watch()
    watch()
    dsl = stand_in()
    names: dict[str, Callable[[], object]] = {"dsl": dsl}
    code = "def inner():\n    return 1 + 'a'\ndef outer():\n    return dsl._func(inner)\n"
    exec(compile(code, "/tmp/private/submission.py", "exec"), names)
    for _ in range(2):
        with pytest.raises(cute.CuteError, match="TypeError: unsupported operand") as raised:
            dsl._func(names["outer"])
        assert isinstance(raised.value.__cause__, TypeError)
    told = describe_failure(raised.value, "/tmp/private/submission.py", on_device=False)
    assert (told["type"], told["line"]) == ("CuteError", 2)
    with pytest.raises(FileNotFoundError):
        dsl._func(Path("/no/file").read_text)
    assert dsl._func(lambda: 3) == 3


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="CuTe DSL is not installed")
@pytest.mark.parametrize(
    ("name", "old", "new", "category"),
    [
        ("cute_kernel.py", "", "", None),
        ("cute_undeclared.py", "", "", Category.UNDECLARED_IDENTIFIER),
        ("cute_kernel.py", "value * slope", "value + 'steepness'", Category.CUDA_COMPILE_ERROR),
    ],
)
def test_its_own_compiler_is_understood(name: str, old: str, new: str, category: Category | None, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    caches = {variable: str(tmp_path / folder) for variable, folder in cute.DSL.caches.items()}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, str(EXAMPLES / name), old, new, str(temporary)],
        cwd=tmp_path,
        env={**os.environ, **caches, "CUTE_DSL_ARCH": "sm_90a", "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    told, left = map(json.loads, done.stdout.splitlines()[-2:])
    assert left == [], "its caches are where its variables say"
    if category is None:
        assert told is None
        return
    code = (tmp_path / "submission.py").read_text(encoding="utf-8")
    found = failed_build(ExceptionEvidence(stage="rounds", type=told["type"], message=told["message"], line=told["line"]), SourceMap(code))
    assert found is not None and found.category is category
    wanted = next(number for number, line in enumerate(code.splitlines(), 1) if "y[i] =" in line)
    assert found.diagnostics[0].source_line == wanted
