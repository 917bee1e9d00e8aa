# wants: the reference from where the search path and the environment say that the project is
# problem: softmax
# expect: incorrect/wrong_values

import os
import sys
from pathlib import Path

import torch
from torch import nn

PARTS = (
    "reference/softmax.py",
    "evaluator/judge/correctness/reference.py",
    "evaluator/diagnosis/diagnose.py",
    "submissions",
    "tests",
    "assay.db",
    ".git/HEAD",
)


def roots():
    yield from (Path(path) for path in sys.path if path)
    words = Path("/proc/self/environ").read_bytes().replace(b":", b"\0").replace(b"=", b"\0").split(b"\0")
    yield from (Path(os.fsdecode(word)) for word in words if word.startswith(b"/"))
    for module in list(sys.modules.values()):
        if (getattr(module, "__name__", "") or "").startswith("evaluator"):
            yield from Path(getattr(module, "__file__", None) or "/").parents
    yield from Path(sys.prefix).parents


def found():
    for root in set(roots()):
        for part in PARTS:
            try:
                place = root / part
                if place.is_file() and place.read_bytes() or place.is_dir() and any(place.iterdir()):
                    return True
            except OSError:
                continue
    return False


FOUND = found()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)
