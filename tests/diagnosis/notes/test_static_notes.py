"""Notes from reading, and the readers of Python and C++ below them."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.diagnosis.notes import cpp_reader, python_reader
from evaluator.diagnosis.notes.note import ParsedSubmission, Ran
from evaluator.diagnosis.notes.static_notes import FINDERS, notes
from tests.diagnosis.growth import GROWS_LIKE_ITSELF, growth
from tests.shipped import FOLDER

KERNEL = """
__global__ void scale(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""


def submission(cuda: str = KERNEL, forward: str = "return ops.run(x)") -> str:
    """A submission whose CUDA begins on line 4."""
    return (
        "from torch import nn\nfrom torch.utils.cpp_extension import load_inline\n\n"
        f'CUDA = r"""{cuda}"""\n'
        'ops = load_inline(name="ops", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])\n\n'
        f"class ModelNew(nn.Module):\n    def forward(self, x):\n        {forward}\n"
    )


def test_nothing_strikes_in_a_sound_submission() -> None:
    assert notes(submission()) == ()


CASES: dict[str, tuple[str, int | None, str]] = {
    "no kernel": ("import torch\nclass ModelNew:\n    def forward(self, x):\n        return x + 1\n", None, "it has no kernel"),
    "never launched": (
        submission(KERNEL + "__global__ void other(float* x) { if (x) x[0] = 1; }\n"),
        15,
        "`other` is defined and never launched",
    ),
    "never called": (submission(forward="return x"), 16, "`run` is bound but never called"),
    "2048 threads": (submission(KERNEL.replace("255) / 256, 256", "2047) / 2048, 2048")), 11, "launched with 2048 threads per block"),
    "a block of 33 × 32": (
        submission(KERNEL.replace("scale<<<", "dim3 block(33, 32);\n    scale<<<").replace(", 256>>>", ", block>>>")),
        11,
        "`block` has 1056 threads",
    ),
    "much shared memory": (submission(KERNEL.replace("256>>>", "256, 65536>>>")), 11, "requests 65536 bytes of dynamic shared memory"),
    "a barrier for some": (
        submission(KERNEL.replace("    if (i < n)", "    if (threadIdx.x < 32) {\n        __syncthreads();\n    }\n    if (i < n)")),
        8,
        "under a condition on threadIdx",
    ),
    "an early return": (
        submission(KERNEL.replace("    if (i < n)", "    if (i >= n) return;\n    __syncthreads();\n    if (i < n)")),
        7,
        "returns before a __syncthreads()",
    ),
    "shared memory without a barrier": (
        submission(KERNEL.replace("    int i", "    __shared__ float tile[256];\n    int i")),
        5,
        "shared memory without a __syncthreads()",
    ),
    "no bounds check": (submission(KERNEL.replace("if (i < n) ", "")), 5, "has no bounds check"),
    "no maximum": (submission(KERNEL.replace("scale", "softmax").replace("2.0f * in[i]", "expf(in[i])")), 5, "subtracting the maximum"),
    "a size of the case": (submission(KERNEL.replace("i < n", "i < 393216")), 7, "393216 is a size of this case"),
    "half precision": (submission(KERNEL.replace("2.0f * in[i]", "__half2float(__half(in[i]))")), 7, "half precision"),
    "fast math": (submission(KERNEL.replace("2.0f * in[i]", "__expf(in[i])")), 7, "approximate functions: __expf"),
    "PyTorch computes": (submission(forward="return torch.softmax(ops.run(x), 1)"), 20, "PyTorch's `torch.softmax`"),
    "a product by an operator": (submission(forward="return ops.run(x) @ x"), 20, "PyTorch's `@`"),
    "no error check": (submission(KERNEL.replace("    C10_CUDA_KERNEL_LAUNCH_CHECK();\n", "")), 11, "cudaGetLastError"),
    "waiting": (submission(forward="return ops.run(x).cpu()"), 20, "synchronizes with the device"),
    "building in forward": (
        submission(forward="return load_inline(name='x', cpp_sources='', functions=[]).run(ops.run(x))"),
        20,
        "builds its extension",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_note(name: str) -> None:
    code, line, words = CASES[name]
    found = notes(code, sizes={393216, 4096})
    assert [note.line for note in found if words in note.text] == [line], found


def test_a_function_of_its_own_extension_is_none_of_pytorchs() -> None:
    bound = submission(KERNEL.replace(" run(", " softmax(")).replace('["run"]', '["softmax"]').replace("ops.run", "ops.softmax")
    assert notes(bound) == ()
    by_attribute = "from torch.utils.cpp_extension import load_inline\nclass ModelNew:\n    def __init__(self):\n"
    by_attribute += (
        "        self.kernels = load_inline('m', 'x')\n    def forward(self, x):\n        return self.kernels.gelu(x) + x.sum()\n"
    )
    assert [note.text for note in notes(by_attribute)] == ["forward() computes with PyTorch's `x.sum`, which is not an own kernel"]


def test_every_finder_is_tested() -> None:
    parsed = [ParsedSubmission(script, frozenset({393216}), Ran()) for code, *_ in CASES.values() if (script := python_reader.read(code))]
    assert [finder for finder in FINDERS if not any(any(finder(each)) for each in parsed)] == []


def test_notes_count_lines_of_the_file() -> None:
    assert notes(submission(forward="return ops.run(x).cpu()"), first_line=101)[0].line == 120


def test_a_maximum_that_a_function_of_the_kernels_takes_is_one() -> None:
    naive = KERNEL.replace("scale", "softmax").replace("2.0f * in[i]", "expf(in[i] - shift(in, n))")
    loop = "for (int i = 1; i < n; ++i) most = MAX(most, in[i]);"
    helper = f"__device__ float shift(const float* in, int n) {{ float most = in[0]; {loop} return most; }}\n"
    assert "without subtracting the maximum" in notes(submission(helper.replace("MAX", "least") + naive))[0].text
    assert notes(submission(helper.replace("MAX", "fmaxf") + naive)) == ()


def test_what_really_ran_stands_beside_the_note() -> None:
    (note,) = notes(submission(forward="return torch.softmax(ops.run(x), 1)"), ran=Ran(own_launches=7, own_share=0.125))
    assert note.text.endswith("; 7 launches of own kernels were observed, taking 12.5 % of a call's device time")
    (untimed,) = notes(submission(forward="return torch.softmax(ops.run(x), 1)"), ran=Ran(own_launches=0))
    assert untimed.text.endswith("; 0 launches of own kernels were observed")


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_submissions_are_read(path: Path) -> None:
    """Every kernel of theirs is found, none of the launched ones is called unlaunched, and notes are on lines that there are."""
    code = path.read_text(encoding="utf-8")
    script = python_reader.read(code)
    if script is None:
        return
    defined = [kernel.name for source in script.sources for kernel in source.kernels]
    assert len(defined) == len(re.findall(r'^\s*(?:static |extern "C" |template.*> )?__global__', code, re.MULTILINE))
    for note in notes(code):
        assert "never launched" not in note.text
        assert note.line is None or 1 <= note.line <= code.count("\n") + 1


def test_tokens_skip_comments_and_keep_lines() -> None:
    found = list(cpp_reader.tokens('a /* b\n c */ d // e\n"f /* g" R"x(h)" )x" #no\n#define i \\\n j\nk\'l\' 0x1F 1.5e-3f'))
    assert [(token.text, token.line) for token in found if token.kind != "mark"] == [
        *(("a", 1), ("d", 2), ('"f /* g"', 3), ('R"x(h)" )x"', 3), ("no", 3), ("#define i \\\n j", 4), ("k", 6), ("'l'", 6)),
        *(("0x1F", 6), ("1.5e-3f", 6)),
    ]


def test_kernels_with_bounds_templates_and_declarations() -> None:
    source = cpp_reader.read(
        "template <int N> __global__ void __launch_bounds__(256, 2) f(float* x);\n"
        "template <int N> __global__ __launch_bounds__(256) void f(float* x) { x[0] = N; }\n"
        "static __global__ void g() {}\nvoid h() { f<4><<<dim3(1, 2), 256, 0, stream>>>(x); cudaLaunchKernelEx(&c, g, x); }"
    )
    assert [(kernel.name, kernel.line, bool(kernel.body)) for kernel in source.kernels] == [
        ("f", 1, False),
        ("f", 2, True),
        ("g", 3, False),
    ]
    assert source.launches[0] == cpp_reader.Launch("f", 4, ("dim3(1,2)", "256", "0", "stream"))
    assert "g" in [launch.kernel for launch in source.launches]


@pytest.mark.parametrize(
    "text",
    [
        "__global__",
        "__global__ void f(",
        "<<<",
        "x<<<1",
        '"',
        "/*",
        "(" * 3000,
        'R"(' * 60_000,
        '"' + '\\"' * 100_000,
        "<<<" * 60_000,
        "__global__ void f(" * 10_000,
        "__global__ " * 20_000,
        "f<<<1, " + "9" * 9000 + ">>>",
        "__global__ void f() {" * 300,
        "a" * 100_000,
    ],
)
def test_anything_can_be_read_in_no_time(text: str) -> None:
    start = time.monotonic()
    cpp_reader.read(text)
    notes(submission(text.replace('"', "'")))
    notes("x = [" + "'torch::'," * 20_000 + "]\nclass ModelNew: ...\n")
    notes("x" + ".y" * 50_000 + "()\nclass ModelNew: ...\n")
    assert time.monotonic() - start < 10


LAUNCHED = "k<<<1, b>>>();"
BOMBS: dict[str, Callable[[int], str]] = {
    "conditions": lambda size: submission("__global__ void k() {" + "if(" * size),
    "conditions on threads": lambda size: submission("__global__ void k() {" + "if (threadIdx.x) { __syncthreads();" * size),
    "barriers": lambda size: submission("__global__ void k() {" + "if (threadIdx.x) {" * size + "__syncthreads();" * size),
    "blocks": lambda size: submission(f"__global__ void k() {{}} {LAUNCHED}" + "dim3 b(" * size),
    "nested bounds": lambda size: submission("__global__ __launch_bounds__(" * size),
    "bounds": lambda size: submission("__global__ __launch_bounds__(1) " * size),
    "calls": lambda size: submission("__global__ void k() {} " + "cudaLaunchKernel((" * size),
    "sources": lambda size: "".join(f"s = '__global__ k{number}() {{ x; }}'\n" for number in range(size)) + submission(),
    "decorators": lambda size: f"@a{'.x' * size}\ndef f(): pass\n" + submission(),
}


@pytest.mark.parametrize("name", BOMBS)
def test_reading_takes_time_that_grows_with_the_code_alone(name: str) -> None:
    made = BOMBS[name]
    assert growth(notes, made, 1500) < GROWS_LIKE_ITSELF


def test_what_is_read_of_all_sources_together_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_reader, "MAX_TOKENS", 1000)
    many = python_reader.read("".join("s = 'torch::empty()'\n" for _ in range(900)))
    assert many is not None and len(many.sources) == python_reader.MAX_SOURCES
    large = python_reader.read(("s = '" + "torch::x " * 150 + "'\n") * 20)
    assert large is not None and sum(len(source.tokens) for source in large.sources) == 1000
    assert python_reader.read("x = 1\n" * python_reader.MAX_CODE_CHARS) is None


def test_no_kernel_reaches_into_the_next() -> None:
    source = cpp_reader.read("__global__ void f(int a) { if (a) { __global__ void g(int b, __global__ void h() { x; } }")
    assert [(kernel.name, len(kernel.parameters), len(kernel.body)) for kernel in source.kernels] == [("f", 2, 5), ("g", 3, 0), ("h", 0, 2)]
    nested = cpp_reader.read("__global__ void f() {" * 60 + "x;" * 1000)
    assert len(nested.kernels) == 60 and sum(len(kernel.body) for kernel in nested.kernels) < len(nested.tokens)


@pytest.mark.parametrize("text", ["__global__ alignas(4) alignas;", "__global__ __launch_bounds__(", "__global__ alignas(4) alignas(4"])
def test_specifiers_without_a_name_make_no_kernel(text: str) -> None:
    assert cpp_reader.read(text).kernels == ()


def test_brackets_are_matched_by_kind() -> None:
    found = tuple(cpp_reader.tokens("( { ( ) ] [ } ) ) ( ["))
    assert cpp_reader.closings(found) == (7, 6, 3, 11, 11, 11, 11, 11, 11, 11, 11)


@pytest.mark.parametrize(
    "code",
    [
        f"@({'+'.join(['a'] * 1500)})\ndef f(): pass\n",
        f"@a{'.x' * 1500}\ndef f(): pass\n",
        f"load(functions=[0x{'f' * 4000}])\n",
        "load(functions=[1.5, b'x', None, ...])\n",
        f"x = {'-' * 900}1\n",
    ],
    ids=["deep decorator", "long decorator", "giant number", "no names", "deep expression"],
)
def test_strange_python_is_read(code: str) -> None:
    script = python_reader.read(code)
    assert script is not None and (script.functions, script.decorated) == ((), False)
    assert isinstance(notes(code), tuple)


@pytest.mark.parametrize(
    "decorator",
    [
        "triton.jit",
        "triton.jit(debug=True)",
        "triton.autotune(configs=[], key=[])",
        "cuda.jit",
        "numba.cuda.jit(fastmath=True)",
        "cute.kernel",
    ],
)
def test_triton_functions_are_seen(decorator: str) -> None:
    script = python_reader.read(f"import triton\n@{decorator}\ndef kernel(x): pass\n")
    assert script is not None and script.decorated
