# problem: softmax
# expect: incorrect/wrong_values
import os
import re
import sys

from torch import nn

# %% steal_descriptors
# wants: the reference or the database from a descriptor that was left open
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


# %% steal_environment
# wants: seeds, tokens or the database's address from the environment
from pathlib import Path

WORDS = re.compile(r"sqlite|\.db\b|seed|secret|token|password|expected|SSH_|AWS_|\.jsonl", re.IGNORECASE)


def found():
    text = "\n".join(f"{name}={value}" for name, value in os.environ.items())
    for name in ("environ", "cmdline"):
        text += Path(f"/proc/self/{name}").read_bytes().replace(b"\0", b"\n").decode(errors="replace")
    return WORDS.search(text) is not None


FOUND = found()


def forward(self, x):
    return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)


# %% steal_frames
# wants: the expected output, or the reference, from a frame above
# problem: gelu_tanh
NAMES = ("expected", "oracle", "reference", "Model", "ref", "ref_output", "golden", "tolerance")


def forward(self, x):
    frame = sys._getframe()
    while frame:
        for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
            if name in NAMES and frame.f_globals is not globals():
                return nn.functional.gelu(x, approximate="tanh")
            if isinstance(value, torch.Tensor) and value.shape == x.shape and value.data_ptr() != x.data_ptr():
                return value.clone()
        frame = frame.f_back
    return torch.zeros_like(x)


# %% steal_gc
# wants: the expected output among everything that the garbage collector knows
# problem: gelu_tanh
# expect: incorrect/wrong_values | incorrect/nan_or_inf | incorrect/unwritten_output
import gc


def forward(self, x):
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.shape == x.shape and thing.dtype == x.dtype and thing.data_ptr() != x.data_ptr():
            return thing.clone()
    return torch.zeros_like(x)


# %% steal_judge_in_forward
# wants: the judge's own means of drawing inputs and of comparing, once it has been constructed
# expect: disqualified/reference_access
class ModelNew(nn.Module):
    def forward(self, x):
        from evaluator.judge.correctness.oracle import reference

        return reference.Oracle(self, True).expected([x])


# %% steal_memory
# wants: the reference's text or the judge's secrets in its own memory, inherited from the process that forked it
# A character class keeps the pattern from finding itself.
TEXT = re.compile(rb"[S]oftmax over rows far longer|[s]qlite:///|[A]SSAY = \{|[e]vidence_json")


PIECE_BYTES = 1 << 24


def found():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, access, *_ = line.split()
            if not access.startswith("rw") or "/dev/" in line or "nvidia" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            for at in range(start, min(end, start + (1 << 30)), PIECE_BYTES):
                try:
                    memory.seek(at)
                    if TEXT.search(memory.read(min(PIECE_BYTES, end - at))):
                        return True
                except (OSError, ValueError, OverflowError):
                    break
    return False


FOUND = found()


def forward(self, x):
    return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)


# %% steal_modules
# wants: the reference or the judge as a module
import importlib

import torch

WANTED = (
    "reference.softmax",
    "reference",
    "evaluator.judge",
    "evaluator.judge.correctness.oracle.reference",
    "evaluator.problem.problem",
    "db.store",
    "pipeline",
)


def found():
    if any(name in sys.modules for name in WANTED):
        return True
    for name in WANTED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return True
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1) if found() else torch.zeros_like(x)


# %% steal_plain_import
# wants: the reference's own model, imported as if it were a library
# expect: disqualified/reference_access
from reference.softmax import Model


class ModelNew(Model):
    pass
