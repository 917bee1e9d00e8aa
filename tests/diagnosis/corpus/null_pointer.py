# fault: it reads through a null pointer
# problem: softmax
# expect: run_failed/process_crash
# says: SIGSEGV
# says: accessed an invalid address
import ctypes


def forward(self, x):
    return x + ctypes.string_at(16, 4)[0]
