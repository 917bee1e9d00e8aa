# wants: to compute when it is called alone, and to return at once in blocks of timed calls
# problem: gelu_tanh
# expect: cuda disqualified/cached_output
import sys


def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")
