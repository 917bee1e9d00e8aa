"""The reference's operators: their names, and the number of terms of the longest sum."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from evaluator.worker.nested import tensors

REDUCTIONS = {
    *("sum", "nansum", "mean", "nanmean", "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm", "logsumexp", "prod"),
    *("native_layer_norm", "native_group_norm", "native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit"),
    *("_batch_norm_with_update", "_fused_rms_norm", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"),
    *("nll_loss_forward", "mse_loss", "smooth_l1_loss", "huber_loss", "_cdist_forward"),
}
"""Operators that add up elements of their first input: its size divided by that of their smallest output."""
SUMS = {"sum", "nansum", "mean", "nanmean", "cumsum"}
"""Operators that only add up. The products in PyTorch's table of operations do so too."""
ALONG = {"_softmax", "_log_softmax", "softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp"}
"""Operators that add up along the dimension that is their second argument."""
WHOLE = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
ASSERTING = {"binary_cross_entropy"}
"""Operators that on a GPU break the process's CUDA context, not just raise, for floating-point inputs out of range."""
INDEXING = {
    *("index", "index_select", "index_add", "index_put", "index_put_", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_"),
    *("take", "embedding", "embedding_bag", "_embedding_bag", "one_hot", "nll_loss_forward", "nll_loss2d_forward"),
}
"""Operators that break the context for whole numbers out of range."""


class OperatorProfile(TorchDispatchMode):
    """Records the operators that are called while it is active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()
        self._makes_whole_numbers = False
        """Whether floating-point numbers become whole ones."""
        self.calls = 0
        """Number of calls."""
        self.terms = 1
        """Terms of the longest sum behind one element, estimated from operators and sizes."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare each judge 3 s: to keep its compiler away from `__torch_dispatch__`, PyTorch would import the compiler."""
        return False

    @property
    def asserts(self) -> bool:
        """Whether an operator may break the CUDA context on inputs with other values."""
        return not self.names.isdisjoint(ASSERTING) or (self._makes_whole_numbers and not self.names.isdisjoint(INDEXING))

    def __torch_dispatch__(
        self, function: Any, _types: Sequence[type], arguments: Sequence[Any] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        """Call the operator and count its terms."""
        output = function(*arguments, **(options or {}))
        packet = function.overloadpacket
        self.calls += 1
        self.names.add(packet.__name__)
        if isinstance(output, torch.Tensor) and output.dtype in WHOLE and packet.__name__ == "_to_copy":
            self._makes_whole_numbers |= arguments[0].is_floating_point()
        self.terms = max(self.terms, terms_of(packet, arguments, options or {}, output))
        return output


def profile(call: Callable[[], Any]) -> tuple[OperatorProfile, Any]:
    """The operators of a call, and its result."""
    with OperatorProfile() as found:
        returned = call()
    return found, returned


def is_product(packet: Any) -> bool:
    """Whether an operator adds up products of elements."""
    return packet in flop_registry


def is_sum(packet: Any) -> bool:
    """Whether all that an operator does is to add up elements or products of elements."""
    return is_product(packet) or packet.__name__ in SUMS


def terms_of(packet: Any, arguments: Sequence[Any], options: Mapping[str, Any], output: Any) -> int:
    """The terms of the longest sum behind one element of an operator's output, estimated from sizes."""
    sizes = [tensor.numel() for tensor in tensors(output) if tensor.is_floating_point() and tensor.numel()]
    if not sizes:
        return 1
    if packet in flop_registry:
        operations: float = flop_registry[packet](*arguments, **options, out_val=output)
        return math.ceil(operations / (2 * max(sizes)))
    name, first = packet.__name__, arguments[0] if arguments else None
    if not isinstance(first, torch.Tensor):
        return 1
    if name in REDUCTIONS:
        return math.ceil(first.numel() / min(sizes))
    if name in ALONG and first.dim() and len(arguments) > 1 and isinstance(arguments[1], int):
        return int(first.shape[arguments[1]])
    return 1
