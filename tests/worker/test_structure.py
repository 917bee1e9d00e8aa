"""Nested values to JSON and back."""

import json
import math
import sys
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from evaluator.worker import structure
from evaluator.worker.arguments import unfit
from evaluator.worker.nested import mapped
from evaluator.worker.records import RecordMaker
from evaluator.worker.structure import MAX_DEPTH, MAX_LEAVES, Other, StructureError

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from([torch.int64, torch.bfloat16])
KEYS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TREES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "tensor",
                    "dict",
                    "list",
                    "tuple",
                    "value",
                    "int",
                    "float",
                    "torch",
                    "device",
                    "array",
                    "slice",
                    "record",
                    "packed",
                    "other",
                ]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=15,
)


def no_tensor(_: object) -> Any:
    raise AssertionError("there is no tensor")


def through_json(value: object) -> Any:
    return structure.decode(json.loads(json.dumps(structure.encode(value, no_tensor))), no_tensor)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_values_come_back_with_their_types(value: object) -> None:
    back = through_json(value)
    assert repr(back) == repr(value)


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_any_tree_is_a_value_or_a_structure_error(tree: Any) -> None:
    try:
        structure.decode(tree, lambda description: description)
    except StructureError as error:
        assert str(error)


def test_what_json_has_no_form_for_comes_back() -> None:
    assert math.isnan(through_json([math.nan])[0])
    assert through_json(2**200 + 1) == 2**200 + 1
    assert through_json(torch.zeros(2, 3).shape) == (2, 3)


Pair = namedtuple("Pair", "left right")


class Kind(Enum):
    SUM = ("a", 1)


@dataclass(frozen=True)
class Setting:
    width: int
    kind: Kind


ARGUMENTS = {
    "an array": numpy.arange(6, dtype=numpy.int16).reshape(2, 3),
    "a number of NumPy": numpy.float32(2.5),
    "a slice": slice(1, None, -2),
    "a range": range(3, 9),
    "a device": torch.device("cuda:1"),
    "a size": torch.Size([2, 3]),
    "a layout": torch.channels_last,
    "bytes": b"a\0b",
    "a complex number": complex(1.5, math.inf),
    "a named tuple": Pair(1, [2, Kind.SUM]),
    "a dataclass": Setting(3, Kind.SUM),
    "a namespace": SimpleNamespace(a=1, b={"c": (1,)}),
    "an ordered dict": OrderedDict([(2, "b"), ("a", [1])]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_come_back_as_what_they_were(name: str) -> None:
    value = ARGUMENTS[name]
    tree = json.loads(json.dumps(structure.encode([value], no_tensor)))
    (back,) = structure.decode(tree, no_tensor, RecordMaker(sys.modules[__name__]))
    assert type(back) is type(value) and repr(back) == repr(value)
    assert unfit([value]) is None


def test_a_dict_of_another_class_is_no_argument_and_is_an_output() -> None:
    assert unfit([defaultdict(int, a=1)]) is not None
    assert through_json(defaultdict(int, a=1)) == {"a": 1}
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = OrderedDict(a=deep)
    assert through_json(deep) == deep


def test_a_judge_has_no_classes_for_what_a_worker_returns() -> None:
    assert through_json([Pair(1, Setting(3, Kind.SUM))]) == [(1, SimpleNamespace(width=3, kind=("a", 1)))]


def test_a_packed_sequence_keeps_its_lengths() -> None:
    packed = pack_sequence([torch.ones(2), torch.ones(5)], enforce_sorted=False)
    seen: list[torch.Tensor] = []

    def describe(tensor: torch.Tensor) -> int:
        seen.append(tensor)
        return len(seen) - 1

    with torch.device("meta"):  # as a problem's inputs are drawn on a GPU
        back = structure.decode(structure.encode(packed, describe), seen.__getitem__)
    assert [each.tolist() for each in back] == [each.tolist() for each in packed]
    assert mapped(packed, torch.neg).data.tolist() == [-1.0] * 7


def test_tensors_are_described_in_order_and_resolved_in_place() -> None:
    value = {"a": [torch.zeros(2), (torch.ones(3), 1)], "b": torch.ones(())}
    seen: list[tuple[int, ...]] = []

    def describe(tensor: torch.Tensor) -> int:
        seen.append(tuple(tensor.shape))
        return len(seen)

    tree = structure.encode(value, describe)
    assert seen == [(2,), (3,), ()]
    assert structure.decode(tree, lambda number: f"tensor {number}") == {"a": ["tensor 1", ("tensor 2", 1)], "b": "tensor 3"}


def test_a_value_of_another_type_is_told_by_its_types_name() -> None:
    class Answer:
        pass

    back = through_json([Answer()])
    assert isinstance(back[0], Other)
    assert back[0].type_name == "Answer"


@pytest.mark.parametrize(
    "tree",
    [
        None,
        1,
        [],
        {},
        {"value": 1, "int": "1"},
        {"value": [1]},
        {"value": {"a": 1}},
        {"list": {"value": 1}},
        {"tuple": "ab"},
        {"list": [1]},
        {"dict": [[{"value": 1}]]},
        {"dict": [{"value": 1}]},
        {"dict": [[{"list": []}, {"value": 1}]]},
        {"dict": [[{"tensor": {}}, {"value": 1}]]},
        {"int": 1},
        {"int": "1.5"},
        {"int": "9" * 1001},
        {"float": "1.5"},
        {"float": ["nan"]},
        {"torch": "Tensor"},
        {"torch": "torch.Tensor"},
        {"torch": "torch.__class__"},
        {"torch": ["torch.float32"]},
        {"device": "nowhere"},
        {"bytes": "?"},
        {"slice": [{"value": 1}] * 4},
        {"array": ["<f8", [3], "AAAA"]},
        {"array": ["O", [1], "AAAAAAAAAAA="]},
        {"array": ["(i,)i4", [1], ""]},
        {"array": ["<i4,<i4", [1], "AAAAAAAAAAA="]},
        {"complex": [{"int": "1" * 400}]},
        {"number": ["<f8", [-1, -1], ""]},
        {"record": ["dataclass", "A", [["not a name", {"value": 1}]]]},
        {"record": ["dataclass", "A"]},
        {"other": None},
        {"import": "os"},
    ],
    ids=repr,
)
def test_hostile_trees_are_refused(tree: Any) -> None:
    with pytest.raises(StructureError):
        structure.decode(tree, lambda description: [description])


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_has_a_limit_both_ways() -> None:
    assert through_json(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(StructureError, match="deep"):
        structure.encode(nested(MAX_DEPTH + 1), no_tensor)
    tree: Any = {"list": []}
    for _ in range(MAX_DEPTH + 1):
        tree = {"list": [tree]}
    with pytest.raises(StructureError):
        structure.decode(tree, no_tensor)


@pytest.mark.parametrize("leaf", [1, torch.zeros(())], ids=["number", "tensor"])
def test_leaves_have_a_limit(leaf: object) -> None:
    def describe(tensor: torch.Tensor) -> int:
        return 0

    structure.encode([leaf] * MAX_LEAVES, describe)
    with pytest.raises(StructureError, match="values"):
        structure.encode([leaf] * (MAX_LEAVES + 1), describe)


def test_names_of_types_are_cut() -> None:
    assert len(structure.decode({"other": "x" * 10_000}, no_tensor).type_name) == 100


def test_dtypes_have_names_and_nothing_else_of_torch_has() -> None:
    for dtype in (torch.float32, torch.bool, torch.complex64, torch.float8_e4m3fn):
        assert structure.named_dtype(structure.dtype_name(dtype)) is dtype
    for name in ("Tensor", "_inductor", "load", "", "float32 "):
        with pytest.raises(StructureError):
            structure.named_dtype(name)
