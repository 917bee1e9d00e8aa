"""Notes on a submission's Python: whether its kernels are built and called, and what forward() does beside them."""

from collections.abc import Iterator

from evaluator.diagnosis.notes import python_reader
from evaluator.diagnosis.notes.note import Note, ParsedSubmission

COMPUTES = frozenset(
    (
        *("softmax", "log_softmax", "matmul", "mm", "bmm", "einsum", "linear", "conv1d", "conv2d", "conv3d", "baddbmm", "addmm", "@"),
        *("relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "exp", "log", "sqrt", "rsqrt", "pow", "norm", "where", "embedding"),
        *("sum", "mean", "var", "std", "amax", "amin", "max", "min", "argmax", "topk", "sort", "cumsum", "cross_entropy", "nll_loss"),
        *("layer_norm", "rms_norm", "batch_norm", "group_norm", "scaled_dot_product_attention", "dropout", "interpolate"),
        *("add", "mul", "div", "sub", "max_pool2d", "avg_pool2d"),
    )
)
"""Calls of PyTorch that compute."""
NOT_TORCH = ("math", "np", "numpy", "operator", "itertools", "self._ops", "_C")
SYNCHRONIZES = frozenset(("cpu", "item", "tolist", "numpy", "synchronize", "nonzero"))


def no_kernel(parsed: ParsedSubmission) -> Iterator[Note]:
    builds = [call for call in parsed.script.calls if python_reader.makes_kernel(call.name) and call.name != "torch.load"]
    if not builds and not parsed.kernels and not parsed.script.decorated:
        yield Note(None, "it has no kernel: it neither builds an extension nor defines a kernel in a DSL")


def never_called(parsed: ParsedSubmission) -> Iterator[Note]:
    for name, line in parsed.script.functions:
        if name not in parsed.script.used:
            yield Note(line, f"`{name}` is bound but never called in Python")


def computes_in_python(parsed: ParsedSubmission) -> Iterator[Note]:
    bound = {name for name, _ in parsed.script.functions}
    for call in parsed.script.forward:
        root, _, last = call.name.rpartition(".")
        if last not in COMPUTES or last in bound or root.rsplit(".", 1)[-1] in parsed.script.extensions or root.startswith(NOT_TORCH):
            continue
        yield Note(call.line, f"forward() computes with PyTorch's `{call.name}`, which is not an own kernel{parsed.ran}")


def synchronizes(parsed: ParsedSubmission) -> Iterator[Note]:
    for call in parsed.script.forward:
        if call.name.rsplit(".", 1)[-1] in SYNCHRONIZES:
            yield Note(call.line, f"forward() synchronizes with the device in `{call.name}`")


def builds_in_forward(parsed: ParsedSubmission) -> Iterator[Note]:
    for call in parsed.script.forward:
        if call.name.rsplit(".", 1)[-1] == "load_inline":
            yield Note(call.line, "forward() builds its extension: build it once, when the module is loaded")
