# fault: os._exit() ends the process
# problem: gelu_tanh
# expect: run_failed/early_exit
# says: exit code 7
import os


def forward(self, x):
    if x.numel() > 1:
        os._exit(7)
    return x
