"""Shared objects as descriptors that no process can change."""

import fcntl
import os

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def sealed_copy(data: bytes, name: str) -> int:
    """A read-only descriptor of a sealed memory file with this content, at offset 0; the caller closes it.

    Not a descriptor of the cache's file: a process of the same user could make that writable, open it again, and change it for all.
    """
    writable = os.memfd_create(name[:200], os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(writable), "wb") as file:
            file.write(data)
        fcntl.fcntl(writable, fcntl.F_ADD_SEALS, _SEALS)
        return os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writable)
