"""PyTorch's number types without their conversions to CUDA's and Thrust's own, for nvcc's passes over sources that name none of them.

`c10::Half`, `c10::BFloat16` and `c10::complex` bring `cuda_fp16.h`, `cuda_bf16.h` and `thrust/complex.h` into every CUDA source, a quarter
of the text that its passes read. The types themselves stay, since signatures of PyTorch's name them.
"""

import re
from collections.abc import Callable, Iterable

from evaluator.build.fast.identifiers import Identifiers

FILES = tuple(
    f"{folder}/{name}.h"
    for folder in ("torch/headeronly/util", "c10/util")
    for name in ("Half", "Half-inl", "BFloat16", "BFloat16-inl", "complex", "complex_math")
)
"""PyTorch's headers of these types, in one release or another."""
_ASKS_FOR_CUDA = re.compile(r"^#(?:ifdef |if (?P<open>\(?)defined\()__CUDA(?:CC|_ARCH)__\)?", re.MULTILINE)
"""Begins a directive whose first condition is that nvcc compiles."""
_NAMES_ONE = re.compile(r"complex|thrust|half|bfloat|bf16|fp\d|float(?:4_|8|16)|(?-i:ATen)", re.IGNORECASE)
"""In a word of a source: it may have to do with such a type, by itself or by way of other headers of PyTorch's."""


def without_conversions(read: Callable[[str], str]) -> dict[str, str]:
    """Those of FILES that there are, by path, without what is for nvcc alone, of which a standard header stays whose
    macros (`FLT_MAX`) sources like to take from it. `read` raises FileNotFoundError for a header that is missing."""
    found: dict[str, str] = {}
    for name in FILES:
        try:
            text = read(name)
        except FileNotFoundError:
            continue
        cut = _ASKS_FOR_CUDA.sub(lambda match: f"#if {match['open'] or ''}0", text)
        if cut != text:
            found[name] = f"#include <cfloat>\n{cut}"
    return found


def unnamed(identifiers: Identifiers, parts: Iterable[int], macros: frozenset[str] | None) -> bool:
    """Whether a source of these words means the same with the files of `without_conversions`.

    `parts` of the cut-down headers make types of their own accord, as AT_DISPATCH does; `macros` are those that the conversions bring,
    None where they are not known.
    """
    return (
        macros is not None
        and not any(True for _ in parts)
        and not identifiers.used & macros
        and not any(map(_NAMES_ONE.search, identifiers.used))
    )
