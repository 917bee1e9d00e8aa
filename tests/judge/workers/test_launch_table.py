"""The launch table is memory that a worker writes: any bytes in it are read, none are believed beyond their form."""

import os
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.judge.workers.launch_table import CAPACITY, LaunchTable
from evaluator.results.evidence import Evidence, KernelLimits
from evaluator.worker import recorder

HEADER = struct.Struct("=QQ")
RECORD = struct.Struct("=QQQQ9IiI5i8IQQQQ32s256s256s")


@pytest.fixture
def table() -> Iterator[LaunchTable]:
    made = LaunchTable()
    yield made
    made.close()


def record(
    count: int = 1, first: int = 0, kernel: bytes = b"softmax", path: bytes = b"/proc/self/fd/9", code: int = 0, **more: Any
) -> bytes:
    api = more.get("api", b"cudaLaunchKernel")
    limits = more.get("limits", (0, 0, 0, 0, 0))
    asked = more.get("asked", (0, 0, 0, 0, 0, 0, 0, 0, 0, 0))  # pending, grid, block, unused, position, shared memory
    return RECORD.pack(
        count,
        first,
        11,
        4096,
        2,
        3,
        1,
        256,
        1,
        1,
        *more.get("cluster", (0, 0, 0)),
        code,
        0,
        *limits,
        *asked,
        *more.get("clock", (0, 0)),
        api,
        kernel,
        path,
    )


def write(table: LaunchTable, used: int, *records: bytes) -> None:
    os.pwrite(table.descriptor, HEADER.pack(used, used) + b"".join(records), 0)


def test_the_layout_is_the_recorders() -> None:
    assert (recorder.TABLE.size, recorder.RECORD.size) == (HEADER.size, RECORD.size) == (16, 4 * 8 + 24 * 4 + 4 * 8 + 32 + 256 + 256)


def test_a_record_is_read_field_by_field(table: LaunchTable) -> None:
    write(table, 2, record(5, 7, code=9), record(1, 3, b"at_kernel", b"/usr/lib/libtorch_cuda.so"))
    other, own = table.read()
    assert (own.kernel, own.object, own.own, own.count, own.first) == ("softmax", "extension", True, 5, 7)
    assert (own.grid, own.block, own.shared_bytes, own.code) == ((2, 3, 1), (256, 1, 1), 4096, 9)
    assert (other.kernel, other.object, other.own) == ("at_kernel", "libtorch_cuda.so", False)
    assert (own.last, own.pending, own.cluster, own.limits) == (11, False, None, None)


def test_times_on_the_device_are_read_in_milliseconds(table: LaunchTable) -> None:
    write(table, 2, record(clock=(3, 1_500_000)), record(first=1))
    timed, untimed = table.read()
    assert (timed.timed, timed.device_ms) == (3, 1.5)
    assert (untimed.timed, untimed.device_ms) == (0, 0.0)


def test_limits_and_clusters_are_read_where_they_are_known(table: LaunchTable) -> None:
    write(table, 1, record(limits=(40, 1024, 16, 512, 49152), cluster=(4, 1, 1)))
    (launch,) = table.read()
    assert launch.cluster == (4, 1, 1)
    assert launch.limits == KernelLimits(
        registers=40, static_shared_bytes=1024, local_bytes=16, max_threads=512, max_dynamic_shared_bytes=49152
    )


def test_a_launch_that_is_waited_for_is_told_of_instead_of_the_first(table: LaunchTable) -> None:
    write(table, 1, record(3, 1, asked=(1, 9, 8, 7, 32, 2, 1, 0, 41, 512)))
    (launch,) = table.read()
    assert (launch.pending, launch.count, launch.first, launch.last) == (True, 3, 41, 11)
    assert (launch.grid, launch.block, launch.shared_bytes) == ((9, 8, 7), (32, 2, 1), 512)


@pytest.mark.parametrize(("source", "own"), [("def bend(x): ...", True), ("def other(x): ...", False), ("", False)])
def test_a_kernel_that_the_source_names_is_its_own_whoever_launches_it(table: LaunchTable, source: str, own: bool) -> None:
    table.source = source
    write(table, 1, record(kernel=b"submission::bend(float*)", path=b"/usr/lib/libffi.so.8", api=b"cuLaunchKernel"))
    assert table.read()[0].own is own


@pytest.mark.parametrize("used", [2**64 - 1, CAPACITY + 1])
def test_a_count_of_records_beyond_the_table_is_bounded(table: LaunchTable, used: int) -> None:
    write(table, used)
    assert len(table.read()) <= CAPACITY


def test_text_is_cleaned(table: LaunchTable) -> None:
    write(table, 1, record(kernel=b"a\x1b[31m\nb\xff\xfe\r\x7fc\0hidden", path=b"/tmp/x\n\xe2\x80\xae.so", api=b"\xff" * 32))
    (launch,) = table.read()
    assert launch.kernel.startswith("a[31mb")
    assert all(text.isprintable() for text in (launch.kernel, launch.object, launch.api))
    assert "hidden" not in launch.kernel


def test_text_without_an_end_stops_at_its_field(table: LaunchTable) -> None:
    write(table, 1, record(kernel=b"k" * 256, path=b"/tmp/" + b"p" * 251))
    (launch,) = table.read()
    assert (launch.kernel, launch.object) == ("k" * 256, "p" * 251)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=3000))
def test_any_bytes_are_evidence_that_can_be_stored(table: LaunchTable, data: bytes) -> None:
    os.pwrite(table.descriptor, HEADER.pack(0, 2**64 - 1) + data, 0)
    evidence = Evidence(launches=table.read())
    assert Evidence.model_validate_json(evidence.model_dump_json()) == evidence


def test_a_holder_of_the_table_can_not_shrink_it(table: LaunchTable) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(table.descriptor, 0)
    assert table.read() == ()
