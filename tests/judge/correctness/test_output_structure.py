"""The structure that the worker reports, against the reference's."""

import math
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch.nn.utils.rnn import pack_sequence

from evaluator.judge.correctness.output_structure import (
    MAX_OUTPUTS,
    ClaimedTensor,
    MismatchError,
    form_of,
    has_plain_values,
    match,
    read_claim,
)
from evaluator.results.category import Category
from evaluator.worker import structure
from evaluator.worker.memory import memory_order
from evaluator.worker.nested import tensors_of
from evaluator.worker.procedure import written
from evaluator.worker.protocol import ProtocolError
from evaluator.worker.state import description
from tests.worker.test_structure import TREES

Pair = namedtuple("Pair", "values indices")


def claim(value: Any) -> tuple[Any, int]:
    """The structure that an honest worker reports for this value, as the judge reads it."""

    def describe(tensor: torch.Tensor) -> dict[str, Any]:
        return {"shape": list(tensor.shape), "dtype": structure.dtype_name(tensor.dtype), "device": tensor.device.type}

    return read_claim({"output": structure.encode(value, describe)})


def mismatch(returned: Any, expected: Any) -> tuple[Category, str]:
    with pytest.raises(MismatchError) as caught:
        list(match(claim(returned)[0], expected, "cpu"))
    return caught.value.category, str(caught.value)


X, Y, K = torch.zeros(2, 3), torch.zeros(4), torch.zeros(2, dtype=torch.int64)


@pytest.mark.parametrize(
    "value",
    [
        {"a": X, "b": (Y, {"c": K})},
        (X, 3, "mean", None, True, 2.5),
        (),
        torch.zeros(()),
        (X, math.nan, math.inf),
        Pair(X, K),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_same_form_matches(value: Any) -> None:
    claimed, count = claim(value)
    matched = list(match(claimed, value, "cpu"))
    expected = [tensor for _, tensor in tensors_of(value)]
    assert count == len(matched) == len(expected)
    assert [one.shape for one in matched] == [tuple(tensor.shape) for tensor in expected]
    assert [one.number for one in matched] == list(range(count))


@pytest.mark.parametrize(
    ("value", "plain"),
    [((torch.zeros(2), None), False), ({"a": [torch.zeros(2)]}, False), ((torch.zeros(2), 1.5), True), ([torch.zeros(2), "x"], True)],
)
def test_a_form_has_the_shapes_without_the_memory_and_tells_of_plain_values(value: Any, plain: bool) -> None:
    form = form_of(value)
    assert has_plain_values(form) is plain
    pairs = list(zip(tensors_of(form), tensors_of(value), strict=True))
    assert pairs and all(one.is_meta and (name, one.shape) == (other_name, other.shape) for (name, one), (other_name, other) in pairs)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [([X, K], (X, K)), ([X, K], Pair(X, K)), ((X, K), [X, K]), ([X, (Y, [K])], (X, [Y, (K,)])), ({"a": [X, Y]}, {"a": (X, Y)})],
)
def test_a_list_answers_a_tuple_and_a_tuple_a_list(returned: Any, expected: Any) -> None:
    claimed, count = claim(returned)
    assert [(one.number, one.shape) for one in match(claimed, expected, "cpu")] == [
        (number, tuple(tensor.shape)) for number, (_, tensor) in enumerate(tensors_of(expected))
    ]
    assert count == len(list(tensors_of(expected)))


def test_a_dict_in_another_order_is_matched_by_its_keys() -> None:
    claimed, _ = claim({"b": Y, "a": X})
    assert [one.number for one in match(claimed, {"a": X, "b": Y}, "cpu")] == [1, 0]


@pytest.mark.parametrize(
    ("returned", "expected", "words"),
    [
        (X, (X,), "a tensor; the reference returns a tuple of 1"),
        ([X, Y, Y], (X, Y), "a list of 3; the reference returns a tuple of 2"),
        ([X, Y], {"a": X, "b": Y}, "a list of 2; the reference returns a dict"),
        ((X,), (X, Y), "a tuple of 1"),
        ({"a": X}, {"b": X}, "keys 'a'"),
        ({"a": X, "b": X}, {"a": X}, "keys 'a', 'b'"),
        ({"a": (X, None)}, {"a": (X, Y)}, "['a'][1] is None"),
        (1.5, X, "a float"),
        (object(), X, "a object"),
        (X, None, "a tensor; the reference returns None"),
        ((X, 2), (X, 3), "the reference returns 3"),
        ((X, True), (X, 1), "the reference returns 1"),
        ((X, math.nan), (X, 1.0), "the reference returns 1.0"),
        ((X, 1.0001), (X, 1.0), "the reference returns 1.0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_structure_is_told_with_its_place(returned: Any, expected: Any, words: str) -> None:
    category, message = mismatch(returned, expected)
    assert category is Category.WRONG_STRUCTURE
    assert words in message


@pytest.mark.parametrize(
    ("returned", "words"),
    [(217.001, ""), (-0.5, "[1] is -0.5; the reference returns 217.0"), (217, "[1] is a int; the reference returns 217.0")],
)
def test_a_plain_float_may_err_as_float32_does(returned: float, words: str) -> None:
    claimed, _ = claim((X, returned))
    if not words:
        assert len(list(match(claimed, (X, 217.0), "cpu"))) == 1
    else:
        category, message = mismatch((X, returned), (X, 217.0))
        assert category is Category.WRONG_STRUCTURE and words in message


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (torch.zeros(2, 1), X),
        (torch.zeros(1, 2, 3), X),
        (torch.zeros(()), torch.zeros(1)),
    ],
    ids=lambda value: str(tuple(value.shape)),
)
def test_shapes_never_broadcast(returned: torch.Tensor, expected: torch.Tensor) -> None:
    category, message = mismatch((Y, returned), (Y, expected))
    assert category is Category.WRONG_SHAPE
    assert message.startswith(f"[1] has shape ({', '.join(map(str, returned.shape))}); the reference's is (")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.bfloat16, torch.int32, torch.complex64])
def test_another_dtype_is_told(dtype: torch.dtype) -> None:
    name = structure.dtype_name(dtype)
    assert mismatch(X.to(dtype), X) == (Category.WRONG_DTYPE, f"the output has dtype {name}; the reference's is float32")


@pytest.mark.parametrize(
    ("dtype", "device", "category", "said"),
    [
        ("float31", "cpu", Category.WRONG_DTYPE, "float31"),
        ("float32", "cuda", Category.WRONG_DEVICE, "the output is on cpu; the inputs are on cuda"),
    ],
)
def test_an_unknown_dtype_and_another_device_are_told(dtype: str, device: str, category: Category, said: str) -> None:
    claimed, _ = read_claim({"output": {"tensor": {"shape": [2, 3], "dtype": dtype, "device": "cpu"}}})
    with pytest.raises(MismatchError, match=said) as caught:
        list(match(claimed, X, device))
    assert caught.value.category is category


def test_shape_is_told_before_dtype_and_structure_before_both() -> None:
    assert mismatch(torch.zeros(5, dtype=torch.int8), X)[0] is Category.WRONG_SHAPE
    assert mismatch((torch.zeros(5, dtype=torch.int8), 1), (X,))[0] is Category.WRONG_STRUCTURE


@pytest.mark.parametrize(
    ("value", "order"),
    [
        (torch.rand(3, 4), None),
        (torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last), [0, 2, 3, 1]),
        (torch.rand(3, 8)[:, ::2], None),
        (torch.rand(3, 1).expand(3, 4), None),
        (torch.rand(0, 4).t(), None),
    ],
)
def test_an_answer_keeps_its_layout_where_it_is_dense(value: torch.Tensor, order: list[int] | None) -> None:
    assert memory_order(value) == order
    described = tensor(shape=list(value.shape), order=order)
    claimed, _ = read_claim({"output": described})
    assert torch.equal(claimed.restored(claimed.laid_out(value).contiguous()), value)
    assert order is None or claimed.laid_out(value).is_contiguous()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (written(torch.eye(3).to_sparse()), "has the layout sparse"),
        (torch.eye(3).to_mkldnn(), "has the layout mkldnn"),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "has the layout nested"),
        (torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8), "has the layout quantized"),
        (torch.rand(3, 1).expand(3, 3), "is not written out"),
        (torch._neg_view(torch.eye(3)), "is not written out"),
    ],
)
def test_an_answer_is_dense_and_written_out(value: torch.Tensor, words: str) -> None:
    assert_refused(value, words)


@pytest.mark.slow
def test_an_answer_is_not_jagged() -> None:
    """PyTorch imports for seconds before it makes such a tensor."""
    assert_refused(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged), "has the layout nested")


def assert_refused(value: torch.Tensor, words: str) -> None:
    claimed, _ = read_claim({"output": structure.encode(value, description)})
    with pytest.raises(MismatchError, match=f"{words}; return a dense tensor, as the reference does") as caught:
        list(match(claimed, torch.eye(3), "cpu"))
    assert caught.value.category is Category.WRONG_STRUCTURE


def tensor(**changes: Any) -> dict[str, Any]:
    return {"tensor": {"shape": [2, 3], "dtype": "float32", "device": "cpu"} | changes}


@pytest.mark.parametrize(
    "output",
    [
        None,
        tensor(shape=[-1, 3]),
        tensor(shape=[1 << 48]),
        tensor(shape=[2.0, 3]),
        tensor(shape=[True]),
        tensor(shape="23"),
        tensor(shape=[1] * 65),
        tensor(dtype=7),
        tensor(device=["cpu"]),
        tensor(order=[0, 0]),
        tensor(order=[False, True]),
        tensor(layout=7),
        {"tensor": None},
        {"tensor": {}},
        {"list": [tensor()] * (MAX_OUTPUTS + 1)},
    ],
    ids=lambda output: repr(output)[:60],
)
def test_malformed_claims_are_errors_of_the_protocol(output: Any) -> None:
    with pytest.raises(ProtocolError, match="structure"):
        read_claim({"output": output})
    with pytest.raises(ProtocolError):
        read_claim({"kind": "call"})


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_any_claim_is_refused_read_or_a_mismatch(tree: Any) -> None:
    try:
        claimed, _ = read_claim({"output": tree})
        list(match(claimed, (X, {"a": Y}), "cpu"))
    except (ProtocolError, MismatchError) as error:
        assert len(str(error)) < 2000


def test_names_that_the_worker_chose_are_cut() -> None:
    claimed, _ = read_claim({"output": {"tensor": {"shape": [2, 3], "dtype": "d" * 9999, "device": "e" * 9999}}})
    assert isinstance(claimed, ClaimedTensor)
    assert (len(claimed.dtype_name), len(claimed.device)) == (40, 40)
    keys = {"dict": [[{"value": "k" * 100_000}, {"other": "t" * 100_000}]]}
    with pytest.raises(MismatchError) as caught:
        list(match(read_claim({"output": keys})[0], X, "cpu"))
    assert len(str(caught.value)) < 400


@dataclass
class Answer:
    left: torch.Tensor
    right: list[torch.Tensor]


@pytest.mark.parametrize(
    "returned", [Answer(X, [Y]), {"left": X, "right": (Y,)}, SimpleNamespace(left=X, right=[Y])], ids=["own", "dict", "plain"]
)
def test_only_the_fields_of_a_dataclass_count(returned: Any) -> None:
    reference = Answer(X, [Y])
    assert [one.shape for one in match(claim(returned)[0], form_of(reference), "cpu")] == [(2, 3), (4,)]
    assert mismatch(Answer(X, [X]), form_of(reference))[0] is Category.WRONG_SHAPE
    assert mismatch({"left": X}, form_of(reference))[0] is Category.WRONG_STRUCTURE


def test_a_packed_sequence_answers_another() -> None:
    packed = pack_sequence([torch.ones(5), torch.ones(2)])
    assert [one.shape for one in match(claim(packed)[0], form_of(packed), "cpu")] == [(7,)]
    assert mismatch(pack_sequence([torch.ones(5), torch.ones(3)]), form_of(packed))[0] is Category.WRONG_SHAPE
