"""The cores that are timed on, and the processes that are pinned to them."""

import ast
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.engine.warm_parents import WORKER_MODULE
from evaluator.judge.context import JudgeContext
from evaluator.judge.device.cpu_affinity import judge_core, read_cores, remaining, siblings, timing_cores
from evaluator.judge.evaluate import evaluate
from evaluator.results.display.figures import cores_text
from evaluator.sandbox import Level, Zygote
from tests.judge.conftest import Judge, make_job

ALL = tuple(sorted(os.sched_getaffinity(0)))
LAST = ALL[-1]
FIRST = "sys/fs/cgroup/cpu,cpuacct"
"""Where version 1 of control groups has its folders."""


def machine(root: Path, cores: list[str], files: dict[str, str] | None = None) -> Path:
    """A machine that tells of these cores, each a list of its threads; and these files."""
    for core in cores:
        for number in read_cores(core):
            folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
            folder.mkdir(parents=True)
            (folder / "core_cpus_list").write_text(core + "\n")
    for name, text in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_one_thread_of_each_core_and_only_allowed_ones(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"])
    assert timing_cores(range(12), root) == (1, 2, 3, 4, 5), "the first one is the judge's"
    assert timing_cores({0, 1, 2, 3, 4, 8, 20}, root) == (1, 2, 3, 4, 20), "of which nothing is known is a core"


def test_few_cores_leave_one_to_the_workers(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,4", "1,5", "2,6", "3,7"])
    assert timing_cores(range(8), root) == (3,)
    assert timing_cores({1, 4, 5}, root) == (4,)
    assert timing_cores({6}, root) == (6,)


def test_the_judge_has_another_core_where_there_is_one(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,4", "1,5", "2,6", "3,7"])
    assert judge_core((3,), range(8), root) == (0,)
    assert judge_core((0, 1), range(8), root) == (2,)
    assert judge_core((0,), {0, 4}, root) == (0,), "the other thread of the workers' core is no other core"
    assert judge_core((), range(8), root) == (), "workers that are kept to no cores leave none"


def test_older_kernels_have_another_name_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/cpu/cpu1/topology"
    folder.mkdir(parents=True)
    (folder / "thread_siblings_list").write_text("0-1\n")
    assert siblings(1, tmp_path) == {0, 1}
    (folder / "core_cpus_list").write_text("nonsense")
    assert siblings(1, tmp_path) == {0, 1}


def test_others_are_kept_off_whole_cores(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,4", "1,5", "2,6", "3,7"])
    assert remaining((0, 1), range(8), root) == (2, 3, 6, 7)
    assert remaining((0, 1, 2, 3), range(8), root) == (), "there is no other place for them"
    assert remaining((), range(8), root) == ()


@pytest.mark.parametrize(
    ("groups", "files", "count"),
    [
        ("0::/a/b\n", {"sys/fs/cgroup/a/cpu.max": "550000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 5),
        ("0::/a\n", {"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ("3:cpu,cpuacct:/c\n", {f"{FIRST}/c/cpu.cfs_quota_us": "600000", f"{FIRST}/c/cpu.cfs_period_us": "100000"}, 6),
        ("3:cpu:/\n", {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 7),
        ("0::/\n", {}, 7),
    ],
)
def test_no_more_cores_than_a_control_group_gives_the_time_of(tmp_path: Path, groups: str, files: dict[str, str], count: int) -> None:
    root = machine(tmp_path, list("01234567"), {"proc/self/cgroup": groups} | files)
    assert len(timing_cores(range(8), root)) == count


def test_lists_of_cores() -> None:
    assert read_cores(" 0-3,8\n") == (0, 1, 2, 3, 8) and read_cores("5,1,1") == (1, 5)
    for text in ("", "a", "3-1", "1-", "-1", "1,,2", "1;2", "999999"):
        with pytest.raises(ValueError, match="is no list of cores"):
            read_cores(text)
    assert cores_text((3, 0, 1, 2, 8)) == "0-3,8"


@settings(deadline=None)
@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_is_read_as_it_is_written(cores: set[int]) -> None:
    assert set(read_cores(cores_text(cores))) == cores


TELLS_WHERE = """
import os, threading, torch

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.told = False

    def forward(self, x):
        if not self.told:
            self.told = True
            print("cores", sorted(os.sched_getaffinity(0)), "threads", torch.get_num_threads(), flush=True)
            for thread in (0, threading.main_thread().native_id):
                try:
                    os.sched_setaffinity(thread, WANTED)
                    print("moved", flush=True)
                except PermissionError:
                    print("refused", flush=True)
        return torch.softmax(x, 1)
"""


def escaping(wanted: tuple[int, ...] = ALL) -> str:
    return f"WANTED = {list(wanted)}\n{TELLS_WHERE}"


def test_a_bench_of_the_processor_has_the_machines_cores(context: JudgeContext) -> None:
    assert context.cores == timing_cores() and set(context.cores) <= set(ALL)
    assert context.environment.settings["threads"] == len(context.cores)


@pytest.mark.slow
def test_both_sides_are_kept_to_their_cores_and_the_record_says_which(judge: Judge, context: JudgeContext) -> None:
    result = judge(escaping(), context=replace(context, cores=(LAST,)))
    timing = result.evidence.timing
    assert timing is not None, result.message
    assert (timing.cores, timing.strayed) == ((LAST,), False)
    seen = re.findall(r"cores (\[.*\]) threads (\d+)", result.evidence.stdout)
    assert seen and all((ast.literal_eval(cores), int(count)) == ([LAST], 1) for cores, count in seen)
    assert "refused" in result.evidence.stdout and "moved" not in result.evidence.stdout
    assert sorted(os.sched_getaffinity(0)) == list(ALL), "the judge has its own back"


@pytest.mark.slow(15)
@pytest.mark.skipif(len(ALL) < 2, reason="one core is all there is")
def test_who_leaves_where_nothing_holds_it_is_found_out(context: JudgeContext) -> None:
    with Zygote.start(modules=(WORKER_MODULE,), level=Level.NONE) as zygote:
        free = replace(context, zygote=zygote, cores=(LAST,))
        for code, strayed in ((escaping(), True), (escaping((LAST,)), False)):
            timing = evaluate(free, make_job(code), lambda _: None).evidence.timing
            assert timing is not None and (timing.cores, timing.strayed) == ((LAST,), strayed)
