"""PyTorch's number types without conversions to CUDA's and Thrust's types, for nvcc's passes over sources that use none of those.

`c10::Half`, `c10::BFloat16` and `c10::complex` bring `cuda_fp16.h`, `cuda_bf16.h` and `thrust/complex.h` into every CUDA source: a quarter
of the text that its passes read. The types themselves stay, since PyTorch's signatures name them.
"""

import re
from collections.abc import Callable, Iterable

from evaluator.build.fast.identifiers import Identifiers

FILES = tuple(
    f"{folder}/{name}.h"
    for folder in ("torch/headeronly/util", "c10/util")
    for name in ("Half", "Half-inl", "BFloat16", "BFloat16-inl", "complex", "complex_math")
)
"""PyTorch's headers of these types, in any release."""
_ASKS_FOR_CUDA = re.compile(r"^#(?:ifdef |if (?P<open>\(?)defined\()__CUDA(?:CC|_ARCH)__\)?", re.MULTILINE)
"""Matches a directive whose first condition is that nvcc compiles."""
_NAMES_ONE = re.compile(r"complex|thrust|half|bfloat|bf16|fp\d|float(?:4_|8|16)|(?-i:ATen)", re.IGNORECASE)
"""Matches a word that may involve such a type, directly or through other PyTorch headers."""


def without_conversions(read: Callable[[str], str]) -> dict[str, str]:
    """The existing FILES, by path, without their parts for nvcc. One standard header stays, since sources use its macros (`FLT_MAX`).
    `read` raises FileNotFoundError for a missing header."""
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

    `parts` of the cut-down headers use such types themselves, as AT_DISPATCH does. `macros` are those that the conversions define; None if
    not known.
    """
    return (
        macros is not None
        and not any(True for _ in parts)
        and not identifiers.used & macros
        and not any(map(_NAMES_ONE.search, identifiers.used))
    )
