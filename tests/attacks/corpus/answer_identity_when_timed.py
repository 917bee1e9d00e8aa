# wants: a copy in timed calls, where no drawn input is negative, and the right answer to all that is asked before
# problem: elu_of_positives
# expect: disqualified/cached_output
# base: elementwise
import sys

FUNCTION = "return v > 0.0f ? v : expf(v) - 1.0f;"


def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("block", "host_block", "burst"):
            return x.clone()
        frame = frame.f_back
    return ops.run(x)
