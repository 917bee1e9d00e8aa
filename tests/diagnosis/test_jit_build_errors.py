"""Kernels that are refused while the submission runs: messages of Triton 3.7, NVRTC 13.0 and Numba 0.68, mostly of shipped submissions."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.diagnosis import diagnose
from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.source_map import SourceMap
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence, Evidence, ExceptionEvidence

SUBMISSIONS = Path(__file__).parents[2] / "submissions"

TRITON = """at 4:56:
def bend(x, y, n, slope, block: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(value > 0, value, value * steepness), mask=at < n)
                                                        ^
NameError('steepness is not defined')"""
TRITON_POWER = """at 2:61:
def softmax_row(x, y, columns: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * columns + tl.arange(0, columns)
                                                   ^
arange's range must be a power of 2"""
TRITON_CALLED = """at 4:21:
def bend(x, y, n, slope, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, helper(value, slope), mask=at < n)
                     ^
at 2:15:
def helper(v, slope):
    return v * steepness
               ^
NameError('steepness is not defined')"""
NVRTC = """/tmp/tmpx8/abc0f9.cubin.cu(6): error: identifier "steepness" is undefined
          y[i] = v > 0.0f ? v : v * steepness;
                                    ^

1 error detected in the compilation of "/tmp/tmpx8/abc0f9.cubin.cu".
"""
PYTORCHS = """Kernel compilation failed:
bend.cu(3): error: a value of type "const float *" cannot be used to initialize an entity of type "float *"
      float* in = x;
                  ^

1 error detected in the compilation of "bend.cu".
"""
NVRTC_HEADER = """k.cu(1): catastrophic error: could not open source file "torch/extension.h" (no directories in search list)
  #include <torch/extension.h>
                              ^

1 catastrophic error detected in the compilation of "k.cu".
Compilation terminated.
"""
NUMBA = """Failed in cuda mode pipeline (step: nopython frontend)
NameError: name 'steepness' is not defined
During: Pass nopython_type_inference"""
NUMBA_PLACE = """Failed in cuda mode pipeline (step: nopython frontend)
\x1b[1mUnknown attribute 'nothing' of type array(float64, 1d, C)

File "submission.py", line 2:
def k2(x, y):
    y[0] = x.nothing
    ^

During: typing of get attribute at /tmp/submission.py (2)\x1b[0m
"""
INTERPRETER = """NameError("name 'steepness' is not defined")"""


def exception(kind: str, message: str, line: int | None = 30, stage: str = "rounds") -> ExceptionEvidence:
    return ExceptionEvidence(stage=stage, type=kind, message=message, line=line)


def build(kind: str, message: str, code: str, line: int | None = 30, first_line: int = 1) -> BuildEvidence | None:
    return failed_build(exception(kind, message, line), SourceMap(code, first_line))


@pytest.mark.parametrize(
    ("name", "kind", "message", "marked"),
    [
        ("leaky_relu/triton_undeclared.py", "CompilationError", TRITON, "value * steepness"),
        ("softmax/triton_block_of_any_size.py", "CompilationError", TRITON_POWER, "tl.arange(0, columns)"),
        ("leaky_relu/cupy_undeclared.py", "CompileException", NVRTC, "v * steepness"),
        ("leaky_relu/compile_kernel_const_pointer.py", "RuntimeError", PYTORCHS, "float* in = x;"),
        ("leaky_relu/numba_undeclared.py", "TypingError", NUMBA, "value * steepness"),
    ],
)
def test_a_shipped_mistake_has_its_category_and_line(name: str, kind: str, message: str, marked: str) -> None:
    code = (SUBMISSIONS / name).read_text(encoding="utf-8")
    wanted = re.search(r"^# expect: cuda build_failed/(\w+)", code, re.MULTILINE)
    found = build(kind, message, code, first_line=11)
    assert found is not None and wanted is not None
    (diagnostic,) = found.diagnostics
    lines = [number for number, line in enumerate(code.split("\n"), 11) if marked in line and "Wrong:" not in line]
    assert (found.category, diagnostic.source_line) == (Category(wanted[1]), lines[0])
    assert marked in diagnostic.excerpt


def test_a_caret_stands_below_the_column() -> None:
    code = (SUBMISSIONS / "leaky_relu/triton_undeclared.py").read_text(encoding="utf-8")
    for kind, message in (("CompilationError", TRITON), ("CompileException", NVRTC)):
        found = build(kind, message, code)
        assert found is not None
        line, caret = found.diagnostics[0].excerpt.split("\n")
        assert line[caret.index("^") :].startswith("steepness")


def test_of_functions_that_call_each_other_the_innermost_is_named() -> None:
    code = '"""."""\n\n\ndef helper(v, slope):\n    return v * steepness\n\n\ndef bend(x):\n    helper(x)\n'
    found = build("CompilationError", TRITON_CALLED, code)
    assert found is not None
    assert (found.category, found.diagnostics[0].source_line) == (Category.UNDECLARED_IDENTIFIER, 5)


def test_of_strings_that_have_the_line_the_one_with_it_in_its_place_is_named() -> None:
    kernel = '"""\nextern "C" __global__ void bend() {\n%s    float* in = x;\n}\n"""\n'
    code = f"A = {kernel % '    int a;'}\nB = {kernel % ''}"
    found = build("RuntimeError", PYTORCHS, code)
    assert found is not None
    assert (found.category, found.diagnostics[0].source_line) == (Category.CONST_POINTER, code[: code.rindex("float* in")].count("\n") + 1)


def test_numbas_own_place_is_taken_where_it_has_one() -> None:
    found = build("TypingError", NUMBA_PLACE, "def k2(x, y):\n    y[0] = x.nothing\n", first_line=5)
    assert found is not None
    (diagnostic,) = found.diagnostics
    assert (found.category, diagnostic.source_line) == (Category.CUDA_COMPILE_ERROR, 6)
    assert (diagnostic.message, diagnostic.excerpt) == ("Unknown attribute 'nothing' of type array(float64, 1d, C)", "y[0] = x.nothing")


def test_a_name_that_no_interpreter_knows_is_what_a_compiler_would_refuse() -> None:
    found = build("InterpreterError", INTERPRETER, "", line=12)
    assert found is not None
    assert (found.category, found.diagnostics[0].source_line) == (Category.UNDECLARED_IDENTIFIER, 12)
    assert build("InterpreterError", "ValueError('shapes')", "") is None


def test_no_worker_blames_the_machine() -> None:
    found = build("CompileException", NVRTC_HEADER, 'SOURCE = """#include <torch/extension.h>"""')
    assert found is not None
    assert (found.category, found.diagnostics[0].source_line) == (Category.MISSING_HEADER, 1)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("RuntimeError", "CUDA error: invalid argument"),
        ("ValueError", TRITON),
        ("CompileException", "said nothing"),
        ("CompilationError", "said nothing"),
    ],
)
def test_other_exceptions_are_no_builds(kind: str, message: str) -> None:
    assert build(kind, message, "") is None


def test_the_verdict_is_the_failed_builds() -> None:
    found = build("CompilationError", TRITON, "x = 1")
    assert found is not None
    raised = Evidence(stage="rounds", builds=(found,), exception=exception("CompilationError", TRITON))
    verdict = diagnose(raised)
    assert verdict.category is Category.UNDECLARED_IDENTIFIER
    assert "NameError('steepness is not defined')" in verdict.message


MESSAGES = (TRITON, TRITON_CALLED, NVRTC, PYTORCHS, NVRTC_HEADER, NUMBA, NUMBA_PLACE, INTERPRETER)
KINDS = ("CompilationError", "CompileException", "RuntimeError", "TypingError", "InterpreterError", "PTXASError")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(MESSAGES) | st.text(max_size=60), max_size=4),
    st.integers(0, 400),
    st.text(max_size=80),
)
def test_any_message_is_read(kind: str, parts: list[str], cut: int, code: str) -> None:
    found = build(kind, "\n".join(parts)[cut:], code, line=None)
    assert found is None or BuildEvidence.model_validate_json(found.model_dump_json()) == found
