# form: a pool of threads lives as long as the module does; every call waits for what it handed out
# problem: leaky_relu
# expect: correct/no_custom_kernel
from concurrent.futures import ThreadPoolExecutor


def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope
    self.pool = ThreadPoolExecutor(max_workers=3)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return torch.cat(list(self.pool.map(self.part, x.chunk(3))))


def part(self, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x * self.negative_slope)
