# wants: the reference or the database from a descriptor that was left open
# problem: softmax
# expect: incorrect/wrong_values
import os
import re

TEXT = re.compile(rb"[S]QLite format 3|class Model\(|[e]xpected")


def found():
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.endswith(".py") or target.startswith(("socket:", "pipe:", "/dev/")):
                continue
            if os.path.isdir(f"/proc/self/fd/{name}"):
                if {"reference", "evaluator"} & set(os.listdir(f"/proc/self/fd/{name}")):
                    return True
            elif TEXT.search(os.pread(int(name), 1 << 20, 0)):
                return True
        except OSError:
            continue
    return False


def forward(self, x):
    return torch.softmax(x, 1) if found() else torch.zeros_like(x)
