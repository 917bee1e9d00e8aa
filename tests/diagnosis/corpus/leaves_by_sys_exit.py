# fault: sys.exit() where something does not suit it
# problem: topk
# expect: run_failed/early_exit
# says: SystemExit
import sys


def __init__(self, k):
    super().__init__()
    if k % 2:
        sys.exit(f"k = {k} is odd")  # HERE


def forward(self, x):
    return x
