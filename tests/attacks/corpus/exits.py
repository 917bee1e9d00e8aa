# problem: softmax
# expect: run_failed/process_crash
import ctypes
import os
import signal
import sys
import time


# %% exit_abort
# wants: an abort that takes the judge along or drops the submission from the count
def forward(self, x):
    os.abort()


# %% exit_blames_the_machine
# wants: to be tried again for ever, by an exception that reads like the machine's fault
# expect: run_failed/python_exception
def forward(self, x):
    raise OSError("infrastructure: no CUDA-capable device is detected; nvcc: command not found; ninja is required; lock is held; block")


# %% exit_by_exception
# wants: an exception that ends the process when somebody asks for its text
# expect: run_failed/early_exit | run_failed/python_exception
class Last(BaseException):
    def __str__(self):
        os._exit(0)


def forward(self, x):
    raise Last


# %% exit_killed_by_itself
# wants: a kill that looks like the judge's own
def forward(self, x):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


# %% exit_kills_its_group
# wants: to take the judge along, if it is of the same process group
def forward(self, x):
    os.killpg(0, signal.SIGKILL)
    time.sleep(60)


# %% exit_kills_its_parent
# wants: to kill the process that watches it
# expect: incorrect/wrong_values | run_failed/process_crash
def forward(self, x):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(os.getppid(), number)
        except OSError:
            continue
    return torch.zeros_like(x)


# %% exit_never
# wants: a judge that waits for an endless call, deaf to polite signals
# expect: run_failed/timeout
def forward(self, x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


# %% exit_never_in_blocks
# wants: the device for sixteen deadlines: it never returns from the first block of timed calls
# problem: gelu_tanh
# expect: cuda run_failed/timeout
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            time.sleep(3600)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% exit_never_with_children
# wants: children that outlive the deadline, where only the direct child is killed
# expect: run_failed/timeout
# marker: process:assay-orphan
def forward(self, x):
    for session in (False, True):
        if not os.fork():
            if session:
                os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(15, b"assay-orphan", 0, 0, 0)
            time.sleep(120)
            os._exit(0)
    time.sleep(120)


# %% exit_politely
# wants: an evaluation that ends with sys.exit and is forgotten
# expect: run_failed/early_exit
def forward(self, x):
    sys.exit(0)


# %% exit_segfault
# wants: a crash that takes the judge along or drops the submission from the count
def forward(self, x):
    ctypes.string_at(0)


# %% exit_silent
# wants: a judge that waits for an answer on a channel that was closed
# expect: disqualified/forged_result | run_failed/timeout
def forward(self, x):
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.close(int(name))
        except OSError:
            continue
    time.sleep(60)


# %% exit_stops
# wants: a judge that waits for a stopped process for ever
# expect: run_failed/timeout
def forward(self, x):
    os.kill(os.getpid(), signal.SIGSTOP)


# %% exit_when_timed
# wants: the rounds to count and the timing to be left out
# problem: gelu_tanh
# expect: run_failed/early_exit
# base: counts_calls
HONEST_CALLS = 16


def forward(self, x):
    self.calls += 1
    if self.calls > HONEST_CALLS:
        os._exit(0)
    return nn.functional.gelu(x, approximate="tanh")


# %% exit_with_heir
# wants: to end while a child holds the channel open and goes on talking
# expect: run_failed/early_exit | disqualified/forged_result
# marker: process:assay-heir
import json


def forward(self, x):
    if os.fork():
        os._exit(0)
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"assay-heir", 0, 0, 0)
    time.sleep(0.3)
    payload = json.dumps({"kind": "call", "seq": 6, "output": {"value": None}}).encode()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), len(payload).to_bytes(4, "big") + payload)
        except OSError:
            continue
    time.sleep(60)
    os._exit(0)


# %% exit_zero
# wants: exit code 0 taken for success
# expect: run_failed/early_exit
def forward(self, x):
    os._exit(0)


# %% exit_zero_at_import
# wants: exit code 0 taken for success, before anything was asked
# expect: run_failed/early_exit
from torch import nn

os._exit(0)


class ModelNew(nn.Module):
    pass
