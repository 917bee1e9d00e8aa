"""What a failure with cut-down headers proves, by real compilers with small headers: where there is a proof, the whole headers fail with
the same messages; where only the whole headers know better, there is none."""

from collections.abc import Iterable
from typing import Any

import pytest

from evaluator.build.toolchain import Toolchain
from tests.build.fast.small_world import SmallWorld

TORCH = "#include <torch/extension.h>\n"
NAME = "undeclared name"

PROVED = {
    "a macro whose header is missing": (NAME, "void f() {\n  C10_CUDA_KERNEL_LAUNCH_CHECK();\n}\n"),
    "the same twice": (NAME, "void f() {\n  C10_CUDA_KERNEL_LAUNCH_CHECK();\n}\nvoid g() {\n  C10_CUDA_KERNEL_LAUNCH_CHECK();\n}\n"),
    "a variable": (NAME, "int f(at::Tensor x) {\n  return x.size(0) + tile_width_of_block;\n}\n"),
    "two variables": (NAME, "int f(int x) {\n  int y = x + block_size_x;\n  return y * elements_per_thread;\n}\n"),
    "a member of a namespace": (NAME, "at::Tensor f(at::Tensor x) {\n  return at::fast_gelu_of_mine(x);\n}\n"),
    "a method": (NAME, "int f(at::Tensor x) {\n  return x.elements_in_total();\n}\n"),
    "behind a macro of PyTorch's that both have": (NAME, "void f(at::Tensor x) {\n  BOTH(x);\n  unknown_helper_call(x);\n}\n"),
    "in a template of its own": (
        NAME,
        "template <class T> T f(T x) {\n  return x + undeclared_epsilon_value;\n}\nint g() { return f(1); }\n",
    ),
}


OF_NVCC = frozenset(
    (
        "a macro whose header is missing",
        "two variables",
        "a member of a namespace",
        "a method",
        "a function",
        "a macro",
        "a type, and an error that follows",
        "a macro that declares its argument",
        "a name that an own macro pastes",
        "what an own macro stands for",
        "the second of two",
        "a template beside an overload",
        "the same, in front of a brace that is missing",
        "a type, behind a bracket that a header opens",
        "a type, beside a raw string",
    )
)
"""One case of each message of nvcc's and each reason. The others, which g++ compiles too, are compiled by nvcc nightly."""


def with_nvcc(cases: Iterable[str]) -> list[Any]:
    """The cases, without those that g++ alone reports so."""
    return [case if case in OF_NVCC else pytest.param(case, marks=pytest.mark.nightly) for case in cases if "g++" not in case]


@pytest.fixture(scope="module")
def cpp(machine: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> SmallWorld:
    assert machine.cxx is not None
    return SmallWorld(tmp_path_factory.mktemp("cpp"), machine.cxx.command, ".cpp")


@pytest.fixture(scope="module")
def cuda(cuda_machine: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> SmallWorld:
    assert cuda_machine.nvcc is not None
    return SmallWorld(tmp_path_factory.mktemp("cuda"), cuda_machine.nvcc.command, ".cu")


@pytest.mark.parametrize("case", PROVED)
def test_proof_means_that_the_whole_headers_say_the_same(case: str, cpp: SmallWorld) -> None:
    proof, text = PROVED[case]
    tried = cpp.try_both(TORCH + text)
    assert tried.same, tried.whole.output
    assert tried.proof == proof, tried.cut.output


@pytest.mark.build
@pytest.mark.parametrize("case", with_nvcc(PROVED))
def test_so_it_is_with_nvcc(case: str, cuda: SmallWorld) -> None:
    proof, text = PROVED[case]
    tried = cuda.try_both(TORCH + text)
    assert tried.same, tried.whole.output
    assert tried.proof == proof, tried.cut.output


def test_name_that_is_missing_in_an_own_header(cpp: SmallWorld) -> None:
    tried = cpp.try_both(f'{TORCH}#include "own.h"\n', "inline int f() {\n  return number_of_warps_in_block;\n}\n")
    assert tried.same
    assert tried.proof == NAME


RANK = "at::rank<int>(x)"
USE_FRESH = "{\n  Thing(fresh);\n  return fresh.value;\n}"
DEVICE_ALONE = "#ifdef __CUDA_ARCH__\n#define USE(name) int y = name\n#else\n#define USE(name) int name = 0\n#endif\n"
# What the whole headers know is told in the key.
ONLY_WHOLE = {
    "a function": "at::Tensor f(at::Tensor x) { return at::softmax_of(x); }",
    "a macro": "void f(int x) { CHECK(x); }",
    "a type": "int f() { at::Thing x; return x.value; }",
    "a type, and an error that follows": "void f() { torch::nn::Linear x; x.features = 1; }",
    "a global type": "int f(PyThing* x) { return x->count; }",
    "an enumerator": "int f() { return WHOLE_ONLY; }",
    "a template, read as a comparison": "int f(at::Tensor x) { return at::item_of<int>(x); }",
    "a template by way of a using-directive": "using namespace at;\nint f(Tensor x) { return item_of<int>(x); }",
    "a name by way of a using-directive": "using namespace at;\nTensor f(Tensor x) { return softmax_of(x); }",
    "a name by way of another namespace": "at::Tensor f(at::Tensor x) { return torch::zeros_like(x); }",
    "an overload": "int f(at::Tensor x) { return at::rank(x, 1.0); }",
    "a specialization": "int f() { return at::TypeOf<float>::value; }",
    "a member of a base": "struct Own : at::Module { int f() { return parameters; } };",
    "a friend that only an argument finds": "int f() { at::Options x; return device_of(x); }",
    "a macro that declares its argument": "int f() {\n  DECLARE(freshly_declared);\n  return freshly_declared;\n}",
    "a macro that pastes a name together": "int f() {\n  MAKE(my_, variable);\n  return my_variable;\n}",
    "a macro of headers that pasted a name": "int f() { return relu_operator(); }",
    "a name that an own macro pastes": "#define GLUE(a, b) a##b\nint f() { return GLUE(relu_, operator)(); }",
    "a macro that opens a brace": "int f(int x) BEGIN_GUARD\n  return x;\n}",
    "a macro that own text asks for": "#ifdef SMALL_WHOLE\nint hidden_by_macro;\n#endif\nint f() { return hidden_by_macro; }",
    "a macro that own text asks for by value": "#if SMALL_WHOLE == 1\nint hidden;\n#endif\nint f() {\n  return hidden;\n}",
    "what an own macro stands for": "#define SIZE WHOLE_ONLY\nint f() { return SIZE; }",
    "the second of two": "int f(at::Tensor x) {\n  int a = unknown_to_everybody;\n  return at::item_of<int>(x) + a;\n}",
    "the first of two": "int f(at::Tensor x) {\n  at::softmax_of(x);\n  return unknown_to_everybody;\n}",
    "a type, in a namespace that is opened again": "namespace at {\nint f() {\n  Thing(fresh);\n  return fresh.value;\n}\n}",
    "a type, in a namespace with an attribute": f'namespace [[deprecated("x")]] at {{\nint f() {USE_FRESH}\n}}',
    "a type, in a specialization": f"template <> struct at::TypeOf<char> {{ int f() {USE_FRESH} }};",
    "a type, in a class that is named so": f"struct __attribute__((packed)) at::Later {{ int f() {USE_FRESH} }};",
    "a type, in a function that is named so": f"int at::later() {USE_FRESH}",
    "a template beside an overload": f"int f(at::Tensor x) {{ return {RANK}; }}",
    "the same, beside a raw string behind a backslash": f'const char* y = R\\ \n"(a ` (b\n)";\nint f(at::Tensor x) {{ return {RANK}; }}',
    "the same, beside names with a dollar": f"struct $1 {{}};\nint f(at::Tensor x) {{ $1 y; return {RANK}; }}",
    "the same, beside a bit-field": f"int f(at::Tensor x) {{ struct {{ int y : 3 __attribute__((packed)); }} z; return {RANK}; }}",
    "the same, beside numbers of a header": f"int f(at::Tensor x) {{ int y[] = {{ 1\n#include <small/more.h>\n\nx.dim(), {RANK} }}; }}",
    "the same, between brackets of headers": (
        f"#include <small/opens.h>\n}}\nint f(at::Tensor x) {{ return {RANK}; }}\nnamespace {{\n#include <small/closes.h>\n"
    ),
    "the same, in front of a brace that is missing": f"int f(at::Tensor x) {{ return {RANK}; }}\nint g() {{\n",
    "a name that g++ suggests": "at::Tensor f(at::Tensor x) {\n  return at::zeros_lik(x);\n}",
    "a global name that g++ suggests": "int f(PyThang* x) { return 1; }",
    "a macro that g++ suggests": "void f(int x) { CHECKS(x); }",
    "a type, in a file that calls itself another": '#line 7 "main.cpp"\nint f() { at::Thing x; return x.value; }',
    "a type, behind a bracket that a header opens": "#include <small/opens.h>\nOPERATOR(x, y)\n}",
    "a type, between digraphs": "int f() <%\n  at::Thing x;\n  return x.value;\n%>\n",
    "a type, beside a raw string": 'const char* text = R"(a (b\n)";\nint f() { at::Thing x; return x.value; }',
    "a type, beside an attribute with words of its own": "[[vendor::loop(parallel for)]] int f(at::Thing x) { return x.value; }",
    "a macro, behind a name that is explained below": "int f() { CHECK(later_on); return 0; }\nint later_on;",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ONLY_WHOLE)
def test_what_only_the_whole_headers_know_is_no_proof(case: str, cpp: SmallWorld) -> None:
    tried = cpp.try_both(f"{TORCH}{ONLY_WHOLE[case]}\n")
    assert tried.cut.code != 0
    assert not tried.same, "the case shows nothing"
    assert tried.proof is None, tried.cut.output


@pytest.mark.parametrize("header", ["#define RESULT CHECK(1)\n", "#pragma once\n#define RESULT at::Thing().value\n"])
def test_nor_is_it_behind_an_own_header(header: str, cpp: SmallWorld) -> None:
    tried = cpp.try_both(f'{TORCH}#include "own.h"\nint f() {{ RESULT; return 0; }}\n', header)
    assert tried.cut.code != 0
    assert tried.whole.code == 0
    assert tried.proof is None


@pytest.mark.build
def test_nor_is_what_only_the_device_has(cuda: SmallWorld) -> None:
    tried = cuda.try_both(f"{TORCH}{DEVICE_ALONE}__global__ void f() {{\n  USE(only_on_device);\n}}\n")
    assert tried.cut.code != 0
    assert tried.whole.code == 0
    assert tried.proof is None


@pytest.mark.build
@pytest.mark.parametrize("case", with_nvcc(ONLY_WHOLE))
def test_nor_is_it_with_nvcc(case: str, cuda: SmallWorld) -> None:
    tried = cuda.try_both(f"{TORCH}{ONLY_WHOLE[case]}\n")
    assert tried.cut.code != 0
    assert not tried.same, "the case shows nothing"
    assert tried.proof is None, tried.cut.output
