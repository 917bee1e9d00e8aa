# wants: half the memory traffic by writing over the input, in timed calls only
# problem: leaky_relu
# expect: incorrect/mutated_input | disqualified/cached_output
import sys


def timed():
    frame = sys._getframe()
    while frame:
        if "time" in frame.f_code.co_name and frame.f_code.co_filename.endswith("worker/handlers/timing.py"):
            return True
        frame = frame.f_back
    return False


def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    return nn.functional.leaky_relu(x, self.slope, inplace=timed())
