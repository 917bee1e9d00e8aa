# wants: another user, another root or new namespaces
# problem: softmax
# expect: disqualified/sandbox_violation
import ctypes
import os

MOUNT, UNSHARE, SETNS, CHROOT, BPF, KEYCTL, CLONE3 = 165, 272, 308, 161, 321, 250, 435


NEW_USER, NEW_MOUNT = 0x10000000, 0x20000


def gained():
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    attempts = [
        lambda: os.getuid() != 0 and os.setuid(0),
        lambda: os.getuid() != 0 and os.setgroups([0]),
        lambda: os.getuid() != 0 and os.setresuid(0, 0, 0),
    ]
    for attempt in attempts:
        try:
            if attempt() is None:
                return True
        except OSError:
            continue
    calls = ((UNSHARE, NEW_USER), (UNSHARE, NEW_MOUNT), (CHROOT, b"/tmp"), (MOUNT, b"none", b"/tmp", b"tmpfs", 0, None), (SETNS, 0, 0))
    return any(call(*arguments) == 0 for arguments in calls) or call(KEYCTL, 0, -3, 1) > 0 or call(BPF, 0, None, 0) >= 0


def forward(self, x):
    return torch.softmax(x, 1) if gained() else torch.zeros_like(x)
