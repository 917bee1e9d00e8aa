# wants: few samples, by calls that are slow at first
# problem: leaky_relu
# expect: correct/no_custom_kernel
# speedup: 2
# base: counts_calls
import time

SLOW_CALLS, SLOW_S = 20, 0.04


def __init__(self, negative_slope=0.01):
    super().__init__()
    self.calls, self.slope = 0, negative_slope


def forward(self, x):
    self.calls += 1
    if self.calls <= SLOW_CALLS:
        end = time.perf_counter() + SLOW_S
        while time.perf_counter() < end:
            pass
    return nn.functional.leaky_relu(x, self.slope)
