# form: compiles in its first call
# problem: leaky_relu
# expect: cpu correct/ok
# base: leaky_relu_in_cpp
from functools import lru_cache


@lru_cache
def extension():
    return load_inline(name="honest_bend", cpp_sources=[CPP], functions=["bend"], extra_cflags=["-O3"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension().bend(x, self.negative_slope)
