"""Reads the table that the preloaded launch recorder fills.

The memory is shared with the worker, so every field is read as hostile bytes: lengths are fixed, text is cleaned, counts are limited.
"""

import fcntl
import mmap
import os
import re

from evaluator.results.evidence import KernelLimits, LaunchRecord
from evaluator.worker.origin import installed_folders, is_own_kernel
from evaluator.worker.recorder import RECORD, TABLE

CAPACITY = 512
BUILT_PREFIX = "/proc/self/fd/"
DRIVER_API = re.compile(r"cu(?!da)")
"""Begins the names of the driver's functions."""
INSTALLED = installed_folders()
"""Folders with Python and its packages, which the workers share."""


class LaunchTable:
    """A memfd for one worker's recorder."""

    def __init__(self) -> None:
        size = TABLE.size + CAPACITY * RECORD.size
        self.descriptor = os.memfd_create("launches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._map = mmap.mmap(self.descriptor, size)
        self.source = ""
        """Source of the submission that launches: a kernel named in it is its own, even if other code launches it."""

    def read(self) -> tuple[LaunchRecord, ...]:
        """The records so far, in order of the first launch. A kernel that was added to a graph has none before the graph is launched."""
        snapshot = bytes(self._map)
        _, used = TABLE.unpack_from(snapshot)
        records = (_record(snapshot, TABLE.size + index * RECORD.size, self.source) for index in range(min(used, CAPACITY)))
        launched = (record for record in records if record.count or record.pending)
        return tuple(sorted(launched, key=lambda record: record.first))

    def close(self) -> None:
        self._map.close()
        os.close(self.descriptor)


def _record(snapshot: bytes, offset: int, source: str) -> LaunchRecord:
    fields = RECORD.unpack_from(snapshot, offset)
    count, first, last, shared_bytes = fields[:4]
    grid, block, cluster = fields[4:7], fields[7:10], fields[10:13]
    code, side_stream, registers, static, local, threads, dynamic, pending = fields[13:21]
    timed, device_ns = fields[30:32]
    api, kernel, path = fields[-3:]
    if pending:  # report the launch that has not returned
        grid, block, (first, shared_bytes) = fields[21:24], fields[24:27], fields[28:30]
    asked, where, name = _text(api), _text(path), _text(kernel)
    return LaunchRecord(
        api=asked,
        kernel=name,
        object="extension" if where.startswith(BUILT_PREFIX) else where.rsplit("/", 1)[-1],
        own=is_own_kernel(name, where, source, INSTALLED, by_driver=DRIVER_API.match(asked) is not None),
        count=count,
        grid=grid,
        block=block,
        cluster=cluster if any(cluster) else None,
        shared_bytes=shared_bytes,
        code=code,
        first=first,
        last=last,
        pending=pending != 0,
        side_stream=side_stream != 0,
        timed=timed,
        device_ms=device_ns / 1e6,
        limits=KernelLimits(
            registers=registers, static_shared_bytes=static, local_bytes=local, max_threads=threads, max_dynamic_shared_bytes=dynamic
        )
        if registers > 0
        else None,
    )


def _text(field: bytes) -> str:
    return "".join(character for character in field.split(b"\0", 1)[0].decode(errors="replace") if character.isprintable())
