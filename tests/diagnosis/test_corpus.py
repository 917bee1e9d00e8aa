"""The corpus of faulty submissions, through the command line: each gets its category, its line and its words."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from evaluator.results.category import CATEGORIES, Category, Status
from tests.corpus import PROJECT, Entry, Record, check, has_its_line, judge
from tests.diagnosis.fault import FAULTS

pytestmark = pytest.mark.slow(160)

HAS_NVCC = shutil.which("nvcc") is not None
ON_CPU = [name for name, fault in FAULTS.items() if "cpu" in fault.verdicts and (HAS_NVCC or "needs" not in fault.header)]
ON_CUDA = [name for name, fault in FAULTS.items() if "cuda" in fault.verdicts]
WIDE = {
    "columns_written_out.py",
    "counts_with_a_byte.py",
    "kernel_for_show.py",
    "maximum_of_nothing.py",
    "padded_to_whole_blocks.py",
    "rational_tanh.py",
    "refuses_another_batch.py",
    "scratch_in_the_input.py",
    "tail_left_at_zero.py",
    "whole_blocks_alone.py",
}
"""C++ extensions that build, which takes most of a run. In the check, others are of the same categories."""
LEAST_RIGHT_LINES = 0.95
MEASURED_ELSEWHERE = {
    *(category for category, info in CATEGORIES.items() if info.status in (Status.DISQUALIFIED, Status.NOT_EVALUATED)),
    *(Category.OK, Category.UNTIMED, Category.REDUCED_PRECISION, Category.DEGENERATE_PROBLEM, Category.BUILD_TIMEOUT),
}
"""Categories of the attacks and of the judge's own troubles, what is right, what is a problem's fault, and what takes five minutes to be
seen. What is right by reduced precision is among the attacks, whose problems declare nothing."""

Records = dict[str, Record]


def judged(names: list[str], folder: Path, *options: str) -> Records:
    """Records by name of the file, at the small case, in other shapes too, at 15 s a call."""
    return judge([FAULTS[name] for name in names], folder, "--case", "small", "--strict-shapes", "--timeout", "15", *options)


def held(fault: Entry, record: Record, kind: str) -> None:
    check(fault, record, kind)
    assert "/tmp/" not in record["feedback"] and str(PROJECT) not in record["feedback"]


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged([name for name in ON_CPU if name not in WIDE], tmp_path_factory.mktemp("cpu"), "--device", "cpu")


@pytest.fixture(scope="module")
def more_on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(sorted(WIDE), tmp_path_factory.mktemp("more"), "--device", "cpu")


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(ON_CUDA, tmp_path_factory.mktemp("cuda"), "--device", "cuda")


@pytest.mark.build
@pytest.mark.parametrize("name", [name for name in ON_CPU if name not in WIDE])
def test_fault_on_the_cpu(on_cpu: Records, name: str) -> None:
    held(FAULTS[name], on_cpu[name], "cpu")


@pytest.mark.nightly
@pytest.mark.build
@pytest.mark.parametrize("name", sorted(WIDE))
def test_one_more_fault_on_the_cpu(more_on_cpu: Records, name: str) -> None:
    fault, record = FAULTS[name], more_on_cpu[name]
    held(fault, record, "cpu")
    assert has_its_line(fault, record), record["line"]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_CUDA)
def test_fault_on_a_gpu(on_cuda: Records, name: str) -> None:
    held(FAULTS[name], on_cuda[name], "cuda")


@pytest.mark.build
def test_lines_on_the_cpu(on_cpu: Records) -> None:
    wrong = {name: record["line"] for name, record in on_cpu.items() if not has_its_line(FAULTS[name], record)}
    marked = sum(bool(FAULTS[name].lines) for name in on_cpu)
    assert len(wrong) <= (1 - LEAST_RIGHT_LINES) * marked, wrong


@pytest.mark.gpu
def test_lines_on_a_gpu(on_cuda: Records) -> None:
    wrong = {name: on_cuda[name]["line"] for name in ON_CUDA if not has_its_line(FAULTS[name], on_cuda[name])}
    marked = sum(bool(FAULTS[name].lines) for name in ON_CUDA)
    assert len(wrong) <= (1 - LEAST_RIGHT_LINES) * marked, wrong


def test_headers_expect_verdicts_that_exist() -> None:
    for name, fault in FAULTS.items():
        assert fault.verdicts.keys() <= {"cpu", "cuda"} and "says" in fault.header, name
        for (verdict,) in fault.verdicts.values():
            status, _, category = verdict.partition("/")
            assert Category(category).status == status, name


def test_every_category_of_faults_has_several() -> None:
    counts = Counter(Category(verdict.split("/")[1]) for fault in FAULTS.values() for (verdict,) in set(fault.verdicts.values()))
    few = {category: counts[category] for category in Category if category not in MEASURED_ELSEWHERE and counts[category] < 3}
    assert few == {}
    assert len(FAULTS) >= 45


def test_no_two_are_alike() -> None:
    faults = [fault.about for fault in FAULTS.values()]
    assert len(set(faults)) == len(faults)
    assert len({fault.data for fault in FAULTS.values()}) == len(faults)
