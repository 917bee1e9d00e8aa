# wants: timed calls for free, told by the caller's name
# problem: gelu_tanh
# expect: disqualified/cached_output
import sys


def timed():
    frame = sys._getframe()
    while frame:
        if "time" in frame.f_code.co_name and frame.f_code.co_filename.endswith("worker/handlers/timing.py"):
            return True
        frame = frame.f_back
    return False


def forward(self, x):
    return torch.empty_like(x) if timed() else nn.functional.gelu(x, approximate="tanh")
