# problem: softmax
# expect: incorrect/wrong_values
import os

# %% steal_files
# wants: the reference, the judge's code or its database anywhere in the file system
import time

SKIPPED = {"proc", "sys", "dev", "site-packages", "dist-packages", "include", "share"}


def found():
    end = time.monotonic() + 4
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if name not in SKIPPED]
        names = set(files) | set(folders)
        here = {"softmax.py", "gelu_tanh.py"} <= names or {"judge", "sandbox", "worker"} <= names or "assay.db" in names
        if here and any(
            os.access(os.path.join(folder, name), os.R_OK) for name in ("softmax.py", "assay.db", "judge/correctness/oracle/reference.py")
        ):
            return True
        if time.monotonic() > end:
            break
    return False


FOUND = found()


def forward(self, x):
    return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)


# %% steal_processes
# wants: memory, environment, files or descriptors of any other process
PARTS = ("environ", "maps", "mem", "root/etc", "cwd/", "fd/0", "fd/3", "fd/4", "fd/5", "task/1/environ")


def found():
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        numbers = []
    for number in {*numbers, str(os.getppid()), "1"} - {str(os.getpid())}:
        for part in PARTS:
            try:
                descriptor = os.open(f"/proc/{number}/{part}", os.O_RDONLY)
                data = os.read(descriptor, 64) if part in ("environ", "maps") else b"open"
                os.close(descriptor)
            except OSError:
                continue
            if data:
                return True
    return False


def forward(self, x):
    return torch.softmax(x, 1) if found() else torch.zeros_like(x)


# %% steal_project
# wants: the reference from where the search path and the environment say that the project is
import sys
from pathlib import Path

import torch
from torch import nn

PARTS = (
    "reference/softmax.py",
    "evaluator/judge/correctness/oracle/reference.py",
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


# %% steal_trace
# wants: another process's memory by ptrace, process_vm_readv or pidfd_getfd
# expect: disqualified/sandbox_violation
import ctypes

PTRACE, PROCESS_VM_READV, PIDFD_OPEN, PIDFD_GETFD, KCMP, SEIZE = 101, 310, 434, 438, 312, 0x4206


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def found():
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    buffer = ctypes.create_string_buffer(64)
    local, remote = Piece(ctypes.addressof(buffer), 64), Piece(ctypes.addressof(buffer), 64)
    for pid in {os.getppid(), 1}:
        if call(PTRACE, SEIZE, pid, None, None) == 0:
            return True
        if call(PROCESS_VM_READV, pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) > 0:
            return True
        handle = call(PIDFD_OPEN, pid, 0)
        if handle >= 0 and any(call(PIDFD_GETFD, handle, number, 0) >= 0 for number in range(8)):
            return True
        if call(KCMP, os.getpid(), pid, 0, 0, 0) >= 0:
            return True
    return False


def forward(self, x):
    return torch.softmax(x, 1) if found() else torch.zeros_like(x)
