"""Notes from reading a submission's text."""

import pytest

from evaluator.diagnosis.notes.static_notes import MAX_CODE_CHARS, ROWS, notes, uncommented
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
    "2048 threads": (submission(KERNEL.replace("255) / 256, 256", "2047) / 2048, 2048")), 11, "launched with 2048 threads per block"),
    "much shared memory": (submission(KERNEL.replace("256>>>", "256, 65536>>>")), 11, "requests 65536 bytes of dynamic shared memory"),
    "a barrier for some": (
        submission(KERNEL.replace("    if (i < n)", "    if (threadIdx.x < 32) {\n        __syncthreads();\n    }\n    if (i < n)")),
        8,
        "under a condition on threadIdx",
    ),
    "an early return": (
        submission(KERNEL.replace("    if (i < n)", "    if (i >= n) return;\n    __syncthreads();\n    if (i < n)")),
        7,
        "a return before a __syncthreads()",
    ),
    "shared memory without a barrier": (
        submission(KERNEL.replace("    int i", "    __shared__ float tile[256];\n    int i")),
        5,
        "shared memory without a __syncthreads()",
    ),
    "no bounds check": (submission(KERNEL.replace("if (i < n) ", "")), 5, "has no bounds check"),
    "no maximum": (submission(KERNEL.replace("scale", "softmax").replace("2.0f * in[i]", "expf(in[i])")), 5, "subtracting the maximum"),
    "a size of the case": (submission(KERNEL.replace("i < n", "i < 393216")), 7, "393216 is a size of this case"),
    "a constant": (submission("constexpr int64_t N = 4096;" + KERNEL), 4, "4096 is a size of this case"),
    "half precision": (submission(KERNEL.replace("2.0f * in[i]", "__half2float(__half(in[i]))")), 7, "half precision"),
    "half's own name": (submission("#include <cuda_fp16.h>" + KERNEL.replace("2.0f", "half(2)")), 7, "half precision"),
    "fast math": (submission(KERNEL.replace("2.0f * in[i]", "__expf(in[i])")), 7, "approximate function: __expf"),
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


@pytest.mark.parametrize(
    "code",
    [
        submission(KERNEL.replace("255) / 256, 256", "1023) / 1024, dim3(32, 32)")),
        submission(KERNEL.replace("if (i < n)", "/* 393216 */ if (i < n)  // __expf, __half")),
        submission(KERNEL.replace("scale", "softmax").replace("2.0f * in[i]", "expf(in[i] - fmaxf(in[0], in[i]))")),
        submission(forward="return ops.softmax(x)  # not torch.softmax(x)"),
        submission() + "def check(x):\n    return torch.softmax(x, 1).item()\n",
        "import triton\n@triton.jit(debug=True)\ndef kernel(x): pass\nclass ModelNew: ...\n",
        "x = 1\n" * MAX_CODE_CHARS,
    ],
    ids=["block of 1024", "comments", "maximum", "own function", "outside of ModelNew", "kernel of a DSL", "too long"],
)
def test_no_note(code: str) -> None:
    assert notes(code, sizes={393216}) == ()


def test_every_row_is_tested() -> None:
    told = [note.text for code, *_ in CASES.values() for note in notes(code)]
    assert [row for row in ROWS if not any(row.text.partition("{")[0] in text for text in told)] == []


def test_notes_count_lines_of_the_file() -> None:
    assert notes(submission(forward="return ops.run(x).cpu()"), first_line=101)[0].line == 120


def test_comments_become_blanks_of_their_length() -> None:
    code = "a /* b */ c // d\n * e\n#include <f>\nx = 2 *y  # g\n"
    assert uncommented(code) == "a         c     \n    \n#include <f>\nx = 2 *y     \n".replace("\n    \n", "\n" + " " * 4 + "\n")


def test_notes_on_shipped_submissions_are_on_lines_that_there_are() -> None:
    for path in FOLDER.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        assert all(note.line is None or 1 <= note.line <= code.count("\n") + 1 for note in notes(code, sizes={4096})), path


KERNEL_OF = "__global__ void k() {"
BOMBS = (
    *(
        "__global__ ",
        "__global__ void softmax(",
        "__global__ void softmax() {",
        "<<<",
        "<<<1, ",
        "<<<(1",
        "f(1,",
        "cuda_fp16 ",
        "/*",
        "torch.",
        " @ ",
    ),
    *(
        f"{KERNEL_OF}{part}"
        for part in ("if(", "if (threadIdx.x) {", "for (threadIdx", "return ", "__shared__ ", "blockIdx ", "x[", "exp", "{")
    ),
    *("class ModelNew\n", "class ModelNew:\n    def forward", "    def forward(self): return x.\n"),
)


@pytest.mark.slow
@pytest.mark.parametrize("part", BOMBS)
def test_reading_takes_time_that_grows_with_the_code_alone(part: str) -> None:
    opening = part.partition("{")[0] + "{" if part.startswith(KERNEL_OF) else ""
    repeated = part.removeprefix(KERNEL_OF) if opening else part
    assert growth(notes, lambda size: opening + repeated * size, 3000) < GROWS_LIKE_ITSELF
