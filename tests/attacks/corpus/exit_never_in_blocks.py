# wants: the device for sixteen deadlines: it never returns from the first block of timed calls
# problem: gelu_tanh
# expect: cuda run_failed/timeout
import sys
import time


def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            time.sleep(3600)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")
