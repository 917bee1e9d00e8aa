"""Which arguments a submission receives as they are, though it is in another process."""

from enum import Enum
from typing import Any

import torch

from evaluator.worker.memory import dense, foreign_layout
from evaluator.worker.nested import leaves_of
from evaluator.worker.records import RecordMaker
from evaluator.worker.structure import MAX_GIVEN_LEAVES, StructureError, decode, encode, encode_leaf

GIVEN = (
    f"tensors, numbers, strings, up to {MAX_GIVEN_LEAVES:,} plain values, NumPy arrays, devices, dtypes, enums, and tuples, lists, dicts, "
    "dataclasses and named tuples of these"
)
"""What arguments may be."""


def unfit(value: Any) -> tuple[str, str] | None:
    """The path of what an argument can't hold, and what that is and what can be passed instead; None if it can be passed whole."""
    for path, leaf in leaves_of(value):
        if isinstance(leaf, torch.Tensor):
            if dense(leaf) is not leaf or foreign_layout(leaf):
                return path, f"a {foreign_layout(leaf) or 'sparse'} tensor; pass dense tensors, and convert them in forward()"
        elif isinstance(leaf, Enum):
            if inner := unfit(leaf.value):
                return path, inner[1]
        elif "other" in encode_leaf(leaf):
            return path, f"of type {type(leaf).__name__}, which is no data; pass {GIVEN}"
    try:
        tree = encode(value, lambda _: None, MAX_GIVEN_LEAVES)
        there = encode(decode(tree, lambda _: torch.empty(0), RecordMaker()), lambda _: None, MAX_GIVEN_LEAVES)
    except (StructureError, ValueError, TypeError, RecursionError) as error:
        return "", f"not passed whole: {error}; pass {GIVEN}"
    return None if tree == there else ("", f"of type {type(value).__name__}, which arrives as another; pass {GIVEN}")
