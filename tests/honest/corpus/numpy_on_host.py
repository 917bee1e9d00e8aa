# form: computes in NumPy, in float64, on the memory of the tensor that it is given, and returns NumPy's memory
# problem: rms_norm
# expect: cpu correct/no_custom_kernel
import numpy


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    rows, weight = x.numpy().astype(numpy.float64), self.norm.weight.numpy().astype(numpy.float64)
    scale = numpy.sqrt(numpy.square(rows).mean(axis=1, keepdims=True) + self.norm.eps)
    return torch.from_numpy((rows / scale * weight).astype(numpy.float32))
