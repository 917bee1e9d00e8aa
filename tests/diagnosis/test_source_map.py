"""From generated files back to the submission."""

from typing import Any

import pytest

from evaluator.build.diagnostics.messages import summary
from evaluator.build.request import BuildRequest
from evaluator.diagnosis.source_map import SourceLine, SourceMap, located
from evaluator.results.evidence import BuildEvidence, Diagnostic

CODE = '''import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""__global__ void first(float* x) {
    int i = threadIdx.x;
    x[i] = 1.0f;
}

__global__ void second(float* x) {
    int i = threadIdx.x;
    x[i] = missing;
}"""
SIZE = 32
FILLED = f"""
__global__ void filled(float* x) {{
    __shared__ float tile[{SIZE}];
    tile[0] = "\\\\n"[0];
}}
"""
CPP = "void run(torch::Tensor x);\\n" "int other(int a)"
module = load_inline(name="m", cpp_sources=CPP, cuda_sources=CUDA + FILLED, functions=["run", "other"])
'''
GENERATED = """#include <torch/types.h>
#include <cuda.h>
__global__ void first(float* x) {
    int i = threadIdx.x;
    x[i] = 1.0f;
}

__global__ void second(float* x) {
    int i = threadIdx.x;
    x[i] = missing;
}

__global__ void filled(float* x) {
    __shared__ float tile[32];
    tile[0] = "\\n"[0];
}
"""
CUDA = GENERATED.split("\n")
CPP = [
    "#include <torch/extension.h>",
    "void run(torch::Tensor x);",
    "int other(int a)",
    'm.def("other", torch::wrap_pybind_function(other), "other");',
]


def line_of(text: list[str], line: int, first_line: int = 1) -> int | None:
    place = SourceMap(CODE, first_line).place(text, line)
    return None if place is None else place.line


@pytest.mark.parametrize(("generated", "line"), [(3, 4), (4, 5), (6, 7), (8, 9), (9, 10), (10, 11), (11, 12), (13, 15), (14, 16), (15, 17)])
def test_a_line_of_the_cuda_source(generated: int, line: int) -> None:
    assert line_of(CUDA, generated) == line


def test_lines_that_load_inline_writes_are_nowhere() -> None:
    assert line_of(CUDA, 1) is None or line_of(CUDA, 1) == 2  # beside the first line of the source
    assert line_of(CUDA, 99) is None and line_of(CUDA, 0) is None
    assert SourceMap("").place(CUDA, 5) is None


def test_short_strings_and_bindings() -> None:
    assert line_of(CPP, 2) == 20
    assert line_of(CPP, 4) == 21


def test_lines_are_counted_from_the_beginning_of_the_file() -> None:
    assert line_of(CUDA, 10, first_line=101) == 111


def test_a_declaration_is_found_by_its_name() -> None:
    assert SourceMap(CODE).declared("at::run") == SourceLine(20, CODE.split("\n")[19])
    assert SourceMap(CODE).declared("nothing") is None


def evidence(*diagnostics: Diagnostic) -> BuildEvidence:
    request = BuildRequest.model_validate(
        {"name": "m", "sources": [{"name": "cuda.cu", "text": "\n".join(CUDA)}, {"name": "main.cpp", "text": "\n".join(CPP)}]}
    )
    build = BuildEvidence(name="m", key="k", ok=False, diagnostics=diagnostics)
    return located(build, request, SourceMap(CODE))


def test_a_diagnostic_gets_its_line_and_an_excerpt() -> None:
    (found,) = evidence(Diagnostic(file="cuda.cu", line=10, column=12, severity="error", message="undefined")).diagnostics
    assert found.source_line == 11
    assert found.excerpt == "x[i] = missing;\n       ^"
    assert summary([found]) == "line 11 (cuda.cu:10): undefined"


def test_an_error_in_a_header_is_shown_where_it_was_asked_for() -> None:
    item = Diagnostic(file="/usr/x.h", line=900, column=3, severity="error", message="no", asked_file="main.cpp", asked_line=2)
    (found,) = evidence(item).diagnostics
    assert (found.source_line, found.excerpt) == (20, "void run(torch::Tensor x);")


def test_an_error_in_an_own_header_is_shown_there_whatever_its_folder_is_called() -> None:
    item = Diagnostic(file="cuda/util.cuh", line=1, severity="error", message="no", asked_file="main.cpp", asked_line=2)
    request = BuildRequest.model_validate(
        {
            "name": "m",
            "sources": [{"name": "main.cpp", "text": "\n".join(CPP)}],
            "headers": [{"name": "cuda/util.cuh", "text": "int helper(int i) {"}],
        }
    )
    (found,) = located(BuildEvidence(name="m", key="k", ok=False, diagnostics=(item,)), request, SourceMap(CODE)).diagnostics
    assert not found.foreign and summary([found]) == "cuda/util.cuh:1: no"


def test_a_missing_semicolon_is_at_the_end_of_the_line_above() -> None:
    (found,) = evidence(Diagnostic(file="cuda.cu", line=5, column=5, severity="error", message='expected a ";"')).diagnostics
    assert (found.source_line, found.excerpt) == (5, "int i = threadIdx.x;\n" + " " * 20 + "^")


@pytest.mark.parametrize(
    "message",
    ["undefined reference to `run(at::Tensor)'", "undefined symbol: _Z3runN2at6TensorE", "Entry function 'run' uses too much shared data"],
)
def test_a_message_without_a_line_is_placed_by_the_name_in_it(message: str) -> None:
    (found,) = evidence(Diagnostic(file="ld", severity="error", message=message)).diagnostics
    assert found.source_line == 20


def test_a_name_that_nothing_declares_has_no_place() -> None:
    (found,) = evidence(Diagnostic(file="ptxas", severity="error", message="Entry function 'gone' uses too much shared data")).diagnostics
    assert found.source_line is None


def test_a_file_of_one_line_repeated_costs_little() -> None:
    flood = SourceMap("}\n" * 200_000)
    assert flood.place(["}"] * 1000, 500) is not None


HEADER: Any = {"file": "/usr/include/c++/12/bits/stl.h", "line": 40, "column": 3, "message": "no"}


def test_an_error_in_a_file_of_others_is_marked() -> None:
    build = evidence(Diagnostic(severity="error", **HEADER))
    (found,) = build.diagnostics
    assert (found.foreign, found.source_line, found.excerpt) == (True, None, "")
    assert summary([found]) == "/usr/include/c++/12/bits/stl.h:40, not a file of the submission: no"


def test_warnings_about_files_of_others_are_left_out() -> None:
    own = Diagnostic(file="cuda.cu", line=10, severity="warning", message="unused")
    asked = Diagnostic(severity="warning", asked_file="main.cpp", asked_line=2, **HEADER)
    kept = evidence(Diagnostic(severity="warning", **HEADER), own, asked).diagnostics
    assert [(item.message, item.source_line, item.foreign) for item in kept] == [("unused", 11, False), ("no", 20, False)]


@pytest.mark.parametrize("file", ["ld", "ptxas", "nvcc"])
def test_what_a_tool_says_of_no_file_is_of_nobody_else(file: str) -> None:
    (found,) = evidence(Diagnostic(file=file, severity="warning", message="no")).diagnostics
    assert not found.foreign
