"""The verdict of one evaluation: a category and a message, with advice on common compiler messages."""

import re
from dataclasses import dataclass

from evaluator.results.category import CATEGORIES, Category, Status

ADVICE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), advice)
    for pattern, advice in (
        (r"calling a __host__ function", "Mark the function __device__ (or __host__ __device__), or call a CUDA function instead."),
        (r'identifier "(?:__half2?|half2?|__half\w*)" is undefined', "Include <cuda_fp16.h>."),
        (r'identifier "(?:__nv_bfloat162?|nv_bfloat16)" is undefined', "Include <cuda_bf16.h>."),
        (
            r"load_inline\(\) missing .*'cpp_sources'",
            'Pass cpp_sources too: the prototype of each function that functions= names, as in "torch::Tensor f(torch::Tensor x);".',
        ),
        (
            r"load_inline\(\) got an unexpected keyword argument",
            "Its arguments: name, cpp_sources, cuda_sources, functions, extra_cflags, extra_cuda_cflags, extra_ldflags, verbose.",
        ),
        (r"must be configured", "Launch the kernel: kernel<<<grid, block>>>(arguments)."),
        (
            r"uses too much shared data",
            "A block may have 48 KiB of static shared memory: use smaller tiles, or dynamic memory with cudaFuncSetAttribute.",
        ),
        (r"argument types are: \(.*float.*double|argument types are: \(.*double.*float", "Write 0.0f for a float: 0.0 is a double."),
        (
            r"expected (?:a |an )?[\"'].*;|expected .* before",
            "A semicolon or a bracket is missing on this line, or at the end of the line above.",
        ),
        (r"expected '\}' at end of input|end of (?:input|file)|at end of source", "A brace is not closed, or the source was cut off."),
        (r"'(?:max|min|sort|accumulate|fill|transform|reduce|iota)' is not a member of 'std'", "Include <algorithm> or <numeric>."),
        (r"no match for 'operator", "The operands have no such operator: check the types in the message, and the calls on this line."),
        (r"too (?:many|few) arguments", "Compare the call with the declaration: their numbers of arguments differ."),
        (r"cannot find -l", "Link only libraries that PyTorch and CUDA include."),
        (
            r"undefined (?:symbol|reference)",
            "Define the function with exactly the declared signature: types, const and namespace are part of its name.",
        ),
        (r"multiple definition", "Keep one definition, or mark the functions static or inline."),
        (r"no instance of (?:overloaded )?function|no matching function", "Give the arguments the types of one of the declarations."),
        (
            r"does not define module export function",
            "Pass functions=[...] to load_inline(), or name the module TORCH_EXTENSION_NAME in PYBIND11_MODULE.",
        ),
        (r"more than one instance of overloaded function", "Cast the arguments, so that only one overload fits."),
    )
)
"""Patterns of messages, with advice. The first match counts."""
STAGES = {
    "load": "loading the file",
    "construct": "constructing ModelNew",
    "rounds": "forward()",
    "timing": "forward() while timed",
    "shapes": "forward()",
}
"""The worker's action in each stage, in words."""


@dataclass(frozen=True)
class Verdict:
    """The category of an evaluation, a message with the reason, and a hint for the repair."""

    category: Category
    message: str
    hint: str = ""
    """By default the advice on a compiler's message, or else its category's."""

    def __post_init__(self) -> None:
        advice = advice_on(self.message) if self.category.status is Status.BUILD_FAILED else ""
        object.__setattr__(self, "hint", self.hint or advice or CATEGORIES[self.category].hint)


def doing(stage: str) -> str:
    """The worker's action in a stage, in words."""
    return STAGES.get(stage, stage)


def advice_on(message: str) -> str:
    """The advice on a message of a compiler, linker or loader; empty if there is none."""
    return next((advice for pattern, advice in ADVICE if pattern.search(message)), "")
