"""PyTorch's operators that an own kernel replaces: the kernel's text, and the Python text that calls it.

In both texts NAME stands for the kernel's name. A kernel's other placeholders are filled in from the operator's row.
"""

from dataclasses import dataclass, field
from pathlib import Path

KERNELS = Path(__file__).with_name("kernels")
ROW_THREADS = {"THREADS": "512"}
"""Threads of a block that computes a whole row; a power of two."""


@dataclass(frozen=True)
class Operator:
    """One PyTorch operator, as a function, a module, or both."""

    name: str
    file: str
    """The kernel's file name, without suffix."""
    python: str
    """Defines `own_NAME` for functions, and `OwnCLASS` for a module."""
    fill: dict[str, str] = field(default_factory=dict)
    """Text by placeholder of the kernel."""
    functions: tuple[str, ...] = ()
    """Their names below torch and torch.nn.functional."""
    module: str | None = None
    """Its name below torch.nn."""
    levels: tuple[int, ...] = (1, 2, 3)
    """KernelBench levels in which it is replaced."""
    wrong: str = ""
    """VALUE with a wrong constant."""

    def kernel(self, slow: bool) -> str:
        """The CUDA text, or that of the slow version."""
        return (KERNELS / f"{self.file}{'_slow' if slow else ''}.cu").read_text(encoding="utf-8")


def _elementwise(name: str, value: str, module: str | None = None, wrong: str = "", **defaults: float) -> Operator:
    """VALUE is a term of v and the parameters, which have the same names in the function, the module and the kernel."""
    names = list(defaults)
    python = f"""
def own_{name}(x{"".join(f", {key}={value}" for key, value in defaults.items())}, inplace=False):
    return kernels.NAME(x.contiguous(){"".join(f", {key}" for key in names)})
"""
    if module:
        python += f"""

class Own{module}(nn.{module}):
    def forward(self, x):
        return kernels.NAME(x.contiguous(){"".join(f", self.{key}" for key in names)})
"""
    fill = {
        "VALUE": value,
        " KERNEL_PARAMETERS": "".join(f", float {key}" for key in names),
        " HOST_PARAMETERS": "".join(f", double {key}" for key in names),
        " PASSED": "".join(f", (float){key}" for key in names),
    }
    return Operator(name, "elementwise", python, fill, (name,), module, wrong=wrong)


def _reduction(name: str, start: str, following: str, value: str = "result", result: str = "y") -> Operator:
    fill = {"START": start, "NEXT": following, "VALUE": value}
    return Operator(name, "reduce", _reduction_python(name, result), fill, (name,), levels=(1,))


def _reduction_python(name: str, result: str) -> str:
    return f"""
def own_{name}(x, dim, keepdim=False):
    dim %= x.dim()
    y = kernels.NAME(x.contiguous(), math.prod(x.shape[:dim]), x.shape[dim], math.prod(x.shape[dim + 1 :]))
    y = y.view(*x.shape[:dim], *([1] if keepdim else []), *x.shape[dim + 1 :])
    return {result}
"""


def _row(name: str, file: str, levels: tuple[int, ...], **fill: str) -> Operator:
    """An operator along one dimension, which becomes the last one."""
    python = f"""
def own_{name}(x, dim):
    return kernels.NAME(x.movedim(dim, -1).contiguous()).movedim(-1, dim)
"""
    return Operator(name, file, python, ROW_THREADS | fill, (name,), levels=levels)


def _norm(name: str, module: str, sizes: str, parameters: str = "self.weight, self.bias") -> Operator:
    python = f"""
class Own{module}(nn.{module}):
    def forward(self, x):
        spatial = math.prod(x.shape[2:])
        return kernels.NAME(x.contiguous(), {parameters}, {sizes}, self.eps)
"""
    return Operator(name, "norm", python, ROW_THREADS, module=module, levels=(1, 2))


def _pool(kind: str, dimensions: int, start: str, following: str, value: str) -> Operator:
    module = f"{kind}Pool{dimensions}d"
    python = f"""
class Own{module}(nn.{module}):
    def forward(self, x):
        def triple(size, filling):
            return [filling] * {3 - dimensions} + (list(size) if isinstance(size, tuple) else [size] * {dimensions})

        sizes = [triple(self.kernel_size, 1), triple(self.stride, 1), triple(self.padding, 0), triple(getattr(self, "dilation", 1), 1)]
        y = kernels.NAME(x.contiguous().view(-1, *[1] * {3 - dimensions}, *x.shape[2:]), *sizes)
        return y.view(*x.shape[:2], *y.shape[{4 - dimensions} :])
"""
    fill = {"START": start, "NEXT": following, "VALUE": value}
    return Operator(module.lower(), "pool", python, fill, module=module, levels=(1,))


MATMUL = """
def own_matmul(a, b):
    rows = a.reshape(1, -1, a.shape[-1]) if b.dim() == 2 else a
    y = kernels.NAME(rows.contiguous(), b.contiguous().view(-1, *b.shape[-2:]))
    return y.view(*a.shape[:-1], b.shape[-1])
"""
DEPTHWISE = """
class OwnConv2d(nn.Conv2d):
    def forward(self, x):
        if self.groups != self.out_channels or self.groups != self.in_channels or self.bias is not None:
            return super().forward(x)
        return kernels.NAME(x.contiguous(), self.weight, list(self.stride), list(self.padding), list(self.dilation))
"""
ARG = {"argmax": "v > best", "argmin": "v < best"}
ELEMENTWISE = (
    _elementwise("relu", "v > 0.0f ? v : 0.0f", "ReLU", wrong="v > 0.0f ? v : 0.01f * v"),
    _elementwise("leaky_relu", "v > 0.0f ? v : negative_slope * v", "LeakyReLU", negative_slope=0.01),
    _elementwise("sigmoid", "1.0f / (1.0f + expf(-v))", "Sigmoid"),
    _elementwise("tanh", "tanhf(v)", "Tanh"),
    _elementwise("gelu", "0.5f * v * (1.0f + erff(v * 0.70710678f))", "GELU", wrong="0.5f * v * (1.0f + erff(v * 0.7f))"),
    _elementwise("selu", "1.05070099f * (v > 0.0f ? v : 1.67326324f * expm1f(v))", "SELU"),
    _elementwise(
        "hardsigmoid", "fminf(fmaxf(v / 6.0f + 0.5f, 0.0f), 1.0f)", "Hardsigmoid", wrong="fminf(fmaxf(0.2f * v + 0.5f, 0.0f), 1.0f)"
    ),
    _elementwise("softplus", "v > 20.0f ? v : log1pf(expf(v))", "Softplus"),
    _elementwise("elu", "v > 0.0f ? v : alpha * expm1f(v)", "ELU", alpha=1.0),
    _elementwise("hardtanh", "fminf(fmaxf(v, min_val), max_val)", "Hardtanh", min_val=-1.0, max_val=1.0),
    _elementwise("mish", "v * tanhf(v > 20.0f ? v : log1pf(expf(v)))", "Mish"),
    _elementwise("hardswish", "v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f", "Hardswish"),
)
POOLS = tuple(
    _pool(kind, dimensions, *row)
    for kind, row in {"Max": ("-INFINITY", "fmaxf(result, v)", "result"), "Avg": ("0.0f", "result + v", "result / volume")}.items()
    for dimensions in (1, 2, 3)
)
OPERATORS = (
    *ELEMENTWISE,
    *POOLS,
    _reduction("sum", "0.0f", "result + v"),
    _reduction("mean", "0.0f", "result + v", "result / n"),
    _reduction("max", "-INFINITY", "fmaxf(result, v)", result="(y,)"),
    _reduction("min", "INFINITY", "fminf(result, v)", result="(y,)"),
    *(Operator(name, "arg", _reduction_python(name, "y"), {"BETTER": better}, (name,), levels=(1,)) for name, better in ARG.items()),
    _row("softmax", "softmax", (1, 2), VALUE="expf(v) / sum"),
    _row("log_softmax", "softmax", (1, 2), VALUE="v - logf(sum)"),
    _row("cumsum", "scan", (1,)),
    _norm("layer_norm", "LayerNorm", "math.prod(self.normalized_shape), 1, 0, 1"),
    _norm("group_norm", "GroupNorm", "x[0].numel() // self.num_groups, self.num_groups, self.num_channels // self.num_groups, spatial"),
    _norm("instance_norm", "InstanceNorm2d", "spatial, x.shape[1], 1, spatial", "x.new_empty(0), x.new_empty(0)"),
    Operator("matmul", "matmul", MATMUL, functions=("matmul", "bmm"), levels=(1,)),
    Operator("depthwise", "depthwise", DEPTHWISE, module="Conv2d", levels=(1,)),
)
