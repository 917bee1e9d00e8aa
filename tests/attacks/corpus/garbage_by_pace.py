# wants: timed calls for free, told by how soon they follow each other
# problem: gelu_tanh
# expect: disqualified/cached_output
import time


def __init__(self):
    super().__init__()
    self.before, self.quick = 0.0, 0


def forward(self, x):
    now = time.monotonic()
    self.quick = self.quick + 1 if now - self.before < 1.0 else 0
    self.before = now
    return torch.empty_like(x) if self.quick > 16 else nn.functional.gelu(x, approximate="tanh")
