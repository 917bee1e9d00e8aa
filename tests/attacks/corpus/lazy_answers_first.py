# wants: to answer a timed call before computing, and to compute while the judge prepares the next one
# problem: gelu_tanh
# expect: disqualified/deferred_work | disqualified/forged_result
import gc
import sys

REPEATS = 50


def asked():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and "kind" in request:
            return request
        frame = frame.f_back
    return {}


def answer_now(request, y):
    """Send the answer that the worker would send later, and see to it that it doesn't."""
    channel = next(thing for thing in gc.get_objects() if type(thing).__name__ == "Channel")
    honest = type(channel).send
    tensor = {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}
    honest(channel, {"kind": "time", "seq": request["seq"], "ms": 0.001, "output": {"tensor": tensor}})

    def once(self, message, *rest, **named):
        type(channel).send = honest
        if message.get("seq") != request["seq"]:
            honest(self, message, *rest, **named)

    type(channel).send = once


def __init__(self):
    super().__init__()
    self.answered = None


def forward(self, x):
    request = asked()
    if request.get("kind") == "time" and self.answered != request["seq"]:
        self.answered = request["seq"]
        answer_now(request, x)
    for _ in range(REPEATS):
        y = nn.functional.gelu(x, approximate="tanh")
    return y
