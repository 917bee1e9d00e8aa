# fault: forward() takes a lock twice
# problem: gelu_tanh
# expect: run_failed/timeout
# says: did not end within
import threading

lock = threading.Lock()


def forward(self, x):
    with lock:
        return self.finish(x)


def finish(self, x):
    with lock:
        return torch.nn.functional.gelu(x, approximate="tanh")
