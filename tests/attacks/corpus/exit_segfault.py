# wants: a crash that takes the judge along or drops the submission from the count
# problem: softmax
# expect: run_failed/process_crash
import ctypes


def forward(self, x):
    ctypes.string_at(0)
