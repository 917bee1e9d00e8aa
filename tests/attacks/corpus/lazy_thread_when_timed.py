# wants: timed calls to return at once, with a thread that writes their answer a little later
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | disqualified/cached_output | disqualified/escaped_stream | correct/no_custom_kernel
# speedup: 2
# expect: cuda disqualified/deferred_work | disqualified/cached_output | disqualified/escaped_stream
# base: counts_calls
import threading

HONEST_CALLS = 16


REPEATS = 50


def write(x, y):
    for _ in range(REPEATS):
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS:
        return nn.functional.gelu(x, approximate="tanh")
    y = torch.empty_like(x)
    threading.Thread(target=write, args=(x, y), daemon=True).start()
    return y
