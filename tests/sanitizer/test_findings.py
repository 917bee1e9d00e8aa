"""From places in compiled files to lines of what was handed in."""

import pytest

from evaluator.build.request import BuildRequest, SourceFile
from evaluator.sanitizer.findings import MAX_FINDINGS, MAX_LOOKED_AT, Located, Sources, findings
from evaluator.sanitizer.log import CALLED, DevicePlace, ToolReport

HEADER = "#include <torch/types.h>\n#include <cuda.h>\n"
CUDA = """\
__global__ void scaled(const float* x, float* y, long n) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    y[i + 1] = 2 * x[i];
}
"""
OTHER = """\
__global__ void shifted(const float* x, float* y, long n) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    y[i] = x[i + 1];
}
"""
CODE = f'import torch\n\nFIRST = """\n{CUDA}"""\nSECOND = """\n{OTHER}"""\nclass ModelNew: ...\n'
FIRST_LINE = 11


def request(name: str, text: str) -> BuildRequest:
    return BuildRequest(name=name, sources=(SourceFile(name="cuda.cu", text=HEADER + text),))


SOURCES = Sources([request("first", CUDA), request("second", OTHER)], CODE, FIRST_LINE, "submission.py")


def line_of(text: str) -> int:
    return CODE.splitlines().index(text) + FIRST_LINE


def report(
    place: DevicePlace, *others: DevicePlace, message: str = "Invalid __global__ write of size 4 bytes", severity: str = "error"
) -> ToolReport:
    return ToolReport(severity, message, place, others, ("by thread (0,0,0) in block (0,0,0)",))


def test_a_line_is_that_of_the_submission() -> None:
    (found,) = findings("memcheck", [report(DevicePlace("", "scaled(const float *, float *, long)", "cuda.cu", 5))], SOURCES)
    assert (found.source_line, found.excerpt) == (line_of("    y[i + 1] = 2 * x[i];"), "y[i + 1] = 2 * x[i];")
    assert found.own and (found.file, found.line) == ("cuda.cu", 5)
    assert found.detail == "by thread (0,0,0) in block (0,0,0)"


def test_of_files_of_the_same_name_the_one_with_the_kernel_is_taken() -> None:
    (found,) = findings("memcheck", [report(DevicePlace("", "shifted(const float *, float *, long)", "cuda.cu", 5))], SOURCES)
    assert found.source_line == line_of("    y[i] = x[i + 1];")


def test_a_line_of_the_submissions_own_file_is_that_line() -> None:
    (found,) = findings("memcheck", [report(DevicePlace("", "triton_kernel", "submission.py", 3))], SOURCES)
    assert (found.source_line, found.excerpt) == (FIRST_LINE + 2, 'FIRST = """')


def test_a_kernel_of_a_library_has_no_line_and_comes_last() -> None:
    library = report(DevicePlace("", "void at::native::fill<float>(float *)", "Fill.cu", 20))
    own = report(DevicePlace("", "scaled(const float *, float *, long)"))
    first, second = findings("initcheck", [library, own], SOURCES)
    assert (first.kernel, first.own, first.source_line) == ("scaled(const float *, float *, long)", True, None)
    assert (second.own, second.source_line, second.line) == (False, None, 20)


def test_lines_that_are_not_there_are_nobodys() -> None:
    for place in (
        DevicePlace("", "scaled()", "cuda.cu", 9999),
        DevicePlace("", "", "cuda.cu", 0),
        DevicePlace("", "k", "submission.py", 10**9),
    ):
        (found,) = findings("memcheck", [report(place)], SOURCES)
        assert found.source_line is None


def test_reports_of_many_threads_are_one_finding() -> None:
    place = DevicePlace("", "scaled(const float *, float *, long)", "cuda.cu", 5)
    other = DevicePlace("", "scaled(const float *, float *, long)", "cuda.cu", 4)
    found = findings("memcheck", [report(place)] * 30 + [report(other)], SOURCES)
    assert [finding.count for finding in found] == [30, 1]
    threads = (DevicePlace(f"Write Thread ({number},0,0)", "k", "cuda.cu", 4) for number in range(9))
    hazards = [report(place, thread, message="Potential WAW hazard") for thread in threads]
    assert [finding.count for finding in findings("racecheck", hazards, SOURCES)] == [9]


def test_what_is_in_a_header_is_told_with_the_line_that_called_it() -> None:
    inside = DevicePlace("", "__cuda_sm70_warpsync")
    wrapper = DevicePlace(CALLED, "__syncwarp(unsigned int)", "sm_30_intrinsics.hpp", 110)
    caller = DevicePlace(CALLED, "scaled(const float *, float *, long)", "cuda.cu", 5)
    (found,) = findings("synccheck", [report(inside, wrapper, caller, message="Barrier error detected. Invalid arguments")], SOURCES)
    assert found.source_line == line_of("    y[i + 1] = 2 * x[i];")
    assert found.kernel == caller.kernel and found.own
    assert [other.file for other in found.others] == ["sm_30_intrinsics.hpp"]


def test_both_accesses_of_a_race_have_their_lines() -> None:
    place = DevicePlace("", "scaled(const float *, float *, long)", "cuda.cu", 5)
    racing = DevicePlace("Read access", place.kernel, "cuda.cu", 4)
    (found,) = findings("racecheck", [report(place, racing, message="Write access that races", severity="warning")], SOURCES)
    assert [other.source_line for other in found.others] == [line_of("    const long i = blockIdx.x * 256L + threadIdx.x;")]
    assert found.severity == "warning"


def test_a_flood_is_bounded() -> None:
    reports = [report(DevicePlace("", f"kernel_{number}()", "cuda.cu", number)) for number in range(500)]
    assert len(findings("memcheck", reports, SOURCES)) == MAX_FINDINGS


def test_looking_up_a_flood_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = Sources([request("large", CUDA + "// x\n" * 400_000)], CODE, FIRST_LINE, "submission.py")
    asked: list[DevicePlace] = []
    locate = Sources._locate

    def counted(self: Sources, place: DevicePlace) -> Located:
        asked.append(place)
        return locate(self, place)

    monkeypatch.setattr(Sources, "_locate", counted)
    frames = [DevicePlace(CALLED, f"f{number}", "large.cu", number) for number in range(16)]
    flood = [report(DevicePlace("", "f", "large.cu", number), *frames) for number in range(2000)]
    assert len(findings("memcheck", flood, sources)) == MAX_FINDINGS
    assert len(asked) == len(set(asked)) <= MAX_LOOKED_AT + len(frames)


def test_sources_beyond_measure_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.sanitizer.findings.MAX_SOURCES_CHARS", len(HEADER + CUDA) + 10)
    sources = Sources([request("first", CUDA), request("second", CUDA)], CODE, FIRST_LINE, "submission.py")
    assert len(sources._files) == 1
