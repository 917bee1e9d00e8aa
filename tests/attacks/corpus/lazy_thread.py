# wants: to return at once and to have a thread write the answer later
# problem: gelu_tanh
# expect: incorrect/nondeterministic | disqualified/deferred_work | disqualified/escaped_stream | incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf
import threading
import time


def write(x, y):
    time.sleep(0.02)
    y.copy_(nn.functional.gelu(x, approximate="tanh"))


def forward(self, x):
    y = torch.empty_like(x)
    threading.Thread(target=write, args=(x, y), daemon=True).start()
    return y
