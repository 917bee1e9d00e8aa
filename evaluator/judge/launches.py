"""The table that the preloaded launch recorder fills, read by the judge.

The memory is shared with the worker, so every field is read as hostile bytes: lengths are fixed, text is cleaned, counts are bounded.
"""

import fcntl
import mmap
import os
import re
import struct

from evaluator.evidence import KernelLimits, LaunchRecord
from evaluator.worker.origin import installed_folders, is_own

CAPACITY = 512
_TABLE = struct.Struct("=QQ")
_RECORD = struct.Struct("=QQQQ9IiI5i8IQQQQ32s256s256s")
"""record_t of evaluator/worker/launch_recorder.c."""

BUILT_PREFIX = "/proc/self/fd/"
INSTALLED = installed_folders()
"""The same in the judge as in its workers, which share its Python."""


GENERATED = re.compile(r"triton_(poi|per|red|tem|for|unk|spl|mix)_fused_")
"""How torch.compile names the kernels that it generates: no submission wrote them."""


class LaunchTable:
    """A memfd for one worker's recorder."""

    def __init__(self) -> None:
        size = _TABLE.size + CAPACITY * _RECORD.size
        self.descriptor = os.memfd_create("launches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._map = mmap.mmap(self.descriptor, size)

    def read(self) -> tuple[LaunchRecord, ...]:
        """What has been recorded so far, in order of the first launch."""
        snapshot = bytes(self._map)
        _, used = _TABLE.unpack_from(snapshot)
        records = (_record(snapshot, _TABLE.size + index * _RECORD.size) for index in range(min(used, CAPACITY)))
        return tuple(sorted(records, key=lambda record: record.first))

    def close(self) -> None:
        self._map.close()
        os.close(self.descriptor)


def _record(snapshot: bytes, offset: int) -> LaunchRecord:
    fields = _RECORD.unpack_from(snapshot, offset)
    count, first, last, shared_bytes = fields[:4]
    grid, block, cluster = fields[4:7], fields[7:10], fields[10:13]
    code, side_stream, registers, static, local, threads, dynamic, pending = fields[13:21]
    timed, device_ns = fields[30:32]
    api, kernel, path = fields[-3:]
    if pending:  # the launch that has not come back is the one to tell of
        grid, block, (first, shared_bytes) = fields[21:24], fields[24:27], fields[28:30]
    where, name = _text(path), _text(kernel)
    return LaunchRecord(
        api=_text(api),
        kernel=name,
        object="extension" if where.startswith(BUILT_PREFIX) else where.rsplit("/", 1)[-1],
        own=is_own(where, INSTALLED) and not GENERATED.match(name),
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
