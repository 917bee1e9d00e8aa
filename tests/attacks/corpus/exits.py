# problem: softmax
# expect: run_failed/process_crash
import ctypes
import os
import signal
import sys
import time


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


# %% exit_zero
# wants: exit code 0 taken for success
# expect: run_failed/early_exit
def forward(self, x):
    os._exit(0)
