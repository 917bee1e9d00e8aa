"""Defects of submissions: each changes the text, and has fair verdicts."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.real_answers.generate import Draft

WRONG = ("incorrect/wrong_values", "incorrect/precision_loss")
UNWRITTEN = ("incorrect/unwritten_output", "incorrect/wrong_values", "incorrect/nan_or_inf")
UNDECLARED = ("build_failed/undeclared_identifier",)
REFUSED = ("build_failed/cuda_compile_error",)


@dataclass(frozen=True)
class Defect:
    """One mistake."""

    change: Callable[[Draft], Draft]
    """Returns the draft unchanged if the mistake can't be made in it."""
    verdicts: tuple[str, ...]
    """Fair verdicts, as `status/category`."""


def _cuda(pattern: str, text: str, verdicts: tuple[str, ...]) -> Defect:
    """A replacement of all matches in the CUDA source; declarations stay."""
    return Defect(lambda draft: replace(draft, cuda=re.sub(pattern, text, draft.cuda)), verdicts)


def _wrong_constant(draft: Draft) -> Draft:
    cuda = draft.cuda
    for right, wrong in draft.wrong.items():
        cuda = cuda.replace(right, wrong)
    return replace(draft, cuda=cuda)


def _const_pointer(draft: Draft) -> Draft:
    cuda = draft.cuda.replace("const float* __restrict__ x,", "float* __restrict__ x,")
    return replace(draft, cuda=cuda.replace("x.data_ptr<float>()", "x.const_data_ptr<float>()"))


def _wrong_dimension(draft: Draft) -> Draft:
    python = draft.python.replace("x.movedim(dim, -1)", "x.movedim(0, -1)")
    return replace(draft, python=python.replace(".movedim(-1, dim)", ".movedim(-1, 0)"))


RIGHT = Defect(lambda draft: draft, ("correct/ok",))
DEFECTS: dict[str, Defect] = {
    "right": RIGHT,
    "slow": RIGHT,
    "wrong constant": Defect(_wrong_constant, WRONG),
    "capped grid": _cuda(r"<<<\(unsigned\)blocks,", "<<<(unsigned)std::min<int64_t>(blocks, 65535),", UNWRITTEN),
    "wrong epsilon": _cuda(r"\(float\)eps\b", "1e-3f", WRONG),
    "wrong divisor": _cuda("result / volume", "result / count", WRONG),
    "last left out": _cuda("j < n;", "j < n - 1;", WRONG),
    "tail left out": _cuda(r"\(k \+ TILE - 1\) / TILE", "k / TILE", WRONG),
    "wrong dimension": Defect(_wrong_dimension, WRONG),
    "launch check without its header": _cuda(r"( +)return y;", r"\1C10_CUDA_KERNEL_LAUNCH_CHECK();\n\1return y;", UNDECLARED),
    "stream without its header": _cuda(
        r"<<<(.*), threads>>>",
        r"<<<\1, threads, 0, at::cuda::getCurrentCUDAStream()>>>",
        (*UNDECLARED, *REFUSED),
    ),
    "undeclared name": _cuda(r" +const (int|dim3) threads\b.*\n", "", UNDECLARED),
    "syntax error": _cuda(r"return y;", "return y", REFUSED),
    "missing argument": _cuda(r">>>\(\s*x\.data_ptr<float>\(\), ", ">>>(", REFUSED),
    "two types of a minimum": _cuda(r"<<<\(unsigned\)blocks,", "<<<(unsigned)std::min(blocks, 1 << 30),", REFUSED),
    "const pointer": Defect(_const_pointer, ("build_failed/const_pointer",)),
    "no declaration": Defect(lambda draft: replace(draft, cpp=""), ("build_failed/missing_binding",)),
    "another declaration": Defect(
        lambda draft: replace(draft, cpp=draft.cpp.replace("(torch::Tensor x", "(const torch::Tensor& x")), ("build_failed/link_error",)
    ),
}
