"""The number of judges and builds that a machine can run at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.engine.capacity import JUDGES_PER_FURTHER_GPU, MAX_JUDGES_PER_GPU, SLOT_BYTES, capacity, of_this_machine
from evaluator.machine.devices import Device, cpu
from evaluator.machine.memory import machine_bytes

GIB = 1 << 30
H200 = Device("cuda:0", "NVIDIA H200", "GPU-a", (9, 0), 140 * GIB)
SMALL = Device("cuda:0", "NVIDIA T4", "GPU-b", (7, 5), 16 * GIB)


def test_without_a_gpu_every_core_may_build_and_one_more_judge_is_there() -> None:
    fits = capacity([cpu()], 2, 24 * GIB)
    assert (fits.judges, fits.build_slots) == (3, 2)
    assert fits.slot_bytes == 6 * GIB


def test_beside_a_gpu_judge_and_worker_keep_their_cores() -> None:
    fits = capacity([H200], 16, 128 * GIB)
    assert fits.build_slots == 14
    assert 10 <= fits.judges <= MAX_JUDGES_PER_GPU


def test_further_gpus_have_more_judges_but_no_more_than_the_driver_can_start() -> None:
    judges, slots = [], []
    for count in (1, 2, 4):
        fits = capacity([replace(H200, spec=f"cuda:{number}") for number in range(count)], 16 * count, 128 * GIB * count)
        judges.append(fits.judges)
        slots.append(fits.build_slots)
    assert slots == [14, 28, 56]
    assert judges == [11, MAX_JUDGES_PER_GPU + JUDGES_PER_FURTHER_GPU, MAX_JUDGES_PER_GPU + 3 * JUDGES_PER_FURTHER_GPU]


def test_little_memory_holds_back_judges_and_compilers_but_never_all() -> None:
    fits = capacity([cpu()], 64, 8 * GIB)
    assert (fits.judges, fits.build_slots, fits.slot_bytes) == (1, 4, SLOT_BYTES)
    assert capacity([cpu()], 1, GIB // 4).judges == capacity([cpu()], 1, GIB // 4).build_slots == 1
    assert capacity([H200] * 4, 4, 4 * GIB).judges >= 4  # one each


def test_a_small_gpu_holds_few_contexts_and_yet_two() -> None:
    assert capacity([SMALL], 32, 256 * GIB).judges == 2


def test_as_many_judges_as_were_asked_for() -> None:
    assert capacity([H200], 16, 128 * GIB, judges=3).judges == 3
    assert of_this_machine([cpu()], 7).judges == 7


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/a/b\n", {"sys/fs/cgroup/a/memory.max": str(GIB), "sys/fs/cgroup/a/b/memory.max": "max\n"}, GIB),
        ("0::/a\n", {"sys/fs/cgroup/memory.max": str(GIB // 2)}, GIB // 2),
        ("0::/a\n", {"sys/fs/cgroup/unified/a/memory.max": str(GIB // 4)}, GIB // 4),
        ("5:cpu,memory:/c\n0::/\n", {"sys/fs/cgroup/memory/c/memory.limit_in_bytes": f"{GIB // 8}\n"}, GIB // 8),
        ("5:cpu:/c\n", {"sys/fs/cgroup/memory/c/memory.limit_in_bytes": f"{GIB // 8}\n"}, None),
        ("", {}, None),
    ],
)
def test_the_least_limit_of_a_control_group_counts(tmp_path: Path, groups: str, files: dict[str, str], limit: int | None) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert machine_bytes(tmp_path) == (limit or machine_bytes(tmp_path / "nothing"))
