# form: prints 50 MB while it is loaded, and some in every call, to both streams
# problem: sum_reduction
# expect: correct/no_custom_kernel
import sys

for number in range(50):
    print(f"table {number}: " + "0123456789abcdef" * 65536)


def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    print("summing", tuple(x.shape), flush=True)
    print("along", self.dim, "\udce9\x1b[31m".encode(errors="replace"), file=sys.stderr)
    return x.sum(self.dim, keepdim=True)
