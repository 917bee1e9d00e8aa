# wants: new namespaces and a mount of its own, in a child that may fail without harm
# problem: softmax
# expect: incorrect/wrong_values
import ctypes
import os

NEW_USER, NEW_MOUNT = 0x10000000, 0x20000


def gained():
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if not child:
        os._exit(0 if libc.unshare(NEW_USER | NEW_MOUNT) == 0 and libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def forward(self, x):
    return torch.softmax(x, 1) if gained() else torch.zeros_like(x)
