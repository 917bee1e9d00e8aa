"""The comparison's own kernels against PyTorch's operators: on threads of the host, and on a GPU."""

import ctypes
import logging
import math
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness import compare, compare_cuda
from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.judge.correctness.compare_cuda import Measured
from evaluator.judge.correctness.output_scale import Sums
from evaluator.results.distributions import Rule

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Emulator = Callable[..., Measured]
"""Compares tensors, given the number of rows and perhaps one scale for all."""

DTYPES = list(compare_cuda.NAMES)
SPECIALS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-310, -1e-41, 6e-8, 1.0]
TRAPS = ("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error")
"""A GPU stops at an address that is no multiple of what is read; so shall the host."""
SOURCES = Path(__file__).parents[1]


def draw(shape: tuple[int, ...], dtype: torch.dtype, wide: torch.dtype = torch.float64, share: float = 0.0, offset: int = 0) -> Tensors:
    """Candidate, reference and oracle, with specials in a share of the places of each, that begin `offset` elements into their memory.

    Rows are of three magnitudes in turn, and the candidate errs in proportion, so that the wrong row's scale makes another error.
    """
    generator = torch.Generator().manual_seed(sum(shape))
    magnitude = (10.0 ** (torch.arange(shape[0]) % 3)).view(-1, *[1] * (len(shape) - 1)).double()
    exact = magnitude * torch.randn(shape, dtype=torch.float64, generator=generator)
    off = exact + 0.01 * magnitude * torch.randn(shape, generator=generator)
    parts = []
    for values, kind in ((off, dtype), (exact, dtype), (exact, wide)):
        memory = torch.zeros(offset + exact.numel(), dtype=kind)
        part = memory[offset:].view(shape).copy_(values)
        there = torch.rand(shape, generator=generator) < share
        chosen = torch.randint(len(SPECIALS), shape, generator=generator)
        part[there] = torch.tensor(SPECIALS, dtype=torch.float64)[chosen].to(kind)[there]
        parts.append(part)
    return parts[0], parts[1], parts[2]


def figures_of(comparison: Comparison) -> Measured:
    return Measured(
        comparison._max_error,
        comparison._reference_error,
        comparison._squared_error,
        comparison._squared_oracle,
        comparison._nonfinite_mismatch,
        comparison._reference_mismatch,
    )


def by_torch(tensors: Tensors, by_row: bool) -> Measured:
    """The figures that a comparison finds with PyTorch's operators."""
    least, compare.LEAST_FUSED_ELEMENTS = compare.LEAST_FUSED_ELEMENTS, 1 << 62
    try:
        comparison = Comparison("", tensors[0].shape, tensors[0].dtype, Rules(by_row))
        comparison.measure(OutputPiece(0, *tensors))
    finally:
        compare.LEAST_FUSED_ELEMENTS = least
    return figures_of(comparison)


def assert_same(found: Measured, expected: Measured) -> None:
    """Counts have to be equal, sums and what depends on a scale but for the order of summation."""
    for name, value in vars(expected).items():
        assert getattr(found, name) == (value if isinstance(value, int) else pytest.approx(value, rel=1e-12, abs=0)), (
            name,
            found,
            expected,
        )


def rows_of(tensors: Tensors, by_row: bool) -> int:
    return len(tensors[0]) if by_row else 1


@pytest.fixture(scope="session")
def emulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[torch.dtype, torch.dtype], ctypes.CDLL]]:
    """The kernels for two dtypes, built for the host."""
    folder, built = tmp_path_factory.mktemp("emulators"), dict[tuple[torch.dtype, torch.dtype], ctypes.CDLL]()

    def build(value: torch.dtype, oracle: torch.dtype) -> ctypes.CDLL:
        if (value, oracle) not in built:
            library = folder / f"{compare_cuda.NAMES[value]}_{compare_cuda.NAMES[oracle]}.so"
            options = ["-std=c++20", "-O1", "-fPIC", "-shared", "-pthread", "-Wall", "-Werror", "-Wno-unknown-pragmas", *TRAPS]
            kernels = f'-DKERNELS="{compare_cuda.SOURCE}"'
            source = SOURCES / "device_on_host.cpp"
            subprocess.run(
                ["g++", *options, kernels, *compare_cuda.definitions(value, oracle), str(source), "-o", str(library)], check=True
            )
            built[value, oracle] = ctypes.CDLL(str(library))
        return built[value, oracle]

    yield build


@pytest.fixture
def emulated(emulators: Callable[[torch.dtype, torch.dtype], ctypes.CDLL]) -> Emulator:
    """Measures tensors on the host as on a GPU of one multiprocessor."""

    def measure(tensors: Tensors, rows: int, scale: float | None = None) -> Measured:
        library = emulators(tensors[0].dtype, tensors[2].dtype)
        work = compare_cuda.Measurement(tensors, rows, 1, scale)
        for name, blocks in work.launches:
            assert library.launch(name.encode(), blocks, ctypes.byref(work.plan)) == 0
        return work.measured()

    return measure


@pytest.mark.build
def test_source_and_host_agree_on_sizes(emulators: Callable[[torch.dtype, torch.dtype], ctypes.CDLL]) -> None:
    layout = (ctypes.c_uint64 * 4).in_dll(emulators(torch.float32, torch.float64), "LAYOUT")
    assert list(layout) == [compare_cuda.THREADS, compare_cuda.TILE, ctypes.sizeof(compare_cuda.KernelArguments), 8 * compare_cuda.FIGURES]


@pytest.mark.build
@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("shape", [(1, 17), (7, 33), (300, 16), (3, 300), (3, 10_003), (2, 4096), (2, 4095)])
def test_figures_are_pytorchs(emulated: Emulator, shape: tuple[int, ...], by_row: bool, share: float) -> None:
    tensors = draw(shape, torch.float32, share=share)
    assert_same(emulated(tensors, rows_of(tensors, by_row)), by_torch(tensors, by_row))


@pytest.mark.build
@pytest.mark.parametrize("wide", [torch.float64, torch.float32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_figures_of_each_dtype_are_pytorchs(emulated: Emulator, dtype: torch.dtype, wide: torch.dtype) -> None:
    for share, by_row in ((0.0, True), (0.2, True), (0.2, False)):
        tensors = draw((9, 1001), dtype, wide, share)
        assert_same(emulated(tensors, rows_of(tensors, by_row)), by_torch(tensors, by_row))


@pytest.mark.build
@pytest.mark.parametrize("offset", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_tensors_may_begin_anywhere(emulated: Emulator, dtype: torch.dtype, offset: int) -> None:
    tensors = draw((5, 1003), dtype, share=0.1, offset=offset)
    assert_same(emulated(tensors, 5), by_torch(tensors, True))
    mixed = tensors[0], tensors[1].clone(), tensors[2].clone()
    assert_same(emulated(mixed, 5), by_torch(mixed, True))


@pytest.mark.build
@pytest.mark.parametrize("elements", [1, 3, 40_001])
def test_one_row_alone(emulated: Emulator, monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    tensors = draw((elements,), torch.float32)
    assert_same(emulated(tensors, 1), by_torch(tensors, False))
    monkeypatch.setattr(compare_cuda, "MOST_SEGMENTS", 4)  # segments as long as those of a row of many millions
    assert_same(emulated(tensors, 1), by_torch(tensors, False))


@pytest.mark.build
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_half_precision_number_is_read_right(emulated: Emulator, dtype: torch.dtype) -> None:
    values = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(dtype)
    found = emulated((values, values, values.double()), 1)
    assert (found.largest_error, found.largest_reference_error, found.squared_error) == (0.0, 0.0, 0.0)
    assert (found.nonfinite_mismatches, found.infinite_reference_errors) == (0, 0)
    assert found.squared_oracle == pytest.approx(float(values.double().nan_to_num(0, 0, 0).square().sum()), rel=1e-12)


@pytest.mark.build
@pytest.mark.parametrize(
    ("value", "oracle"),
    [(0.0, 0.0), (0.5, 0.0), (-1e-310, 0.0), (1e200, 1e200), (2e200, 1e200), (1e308, -1e308), (1e-160, 3e-160), (5e-324, 1e-323)],
)
def test_extreme_magnitudes(emulated: Emulator, value: float, oracle: float) -> None:
    right = torch.full((3, 40), oracle, dtype=torch.float64)
    candidate = torch.full_like(right, value)
    for tensors in ((candidate, right, right), (right, candidate, right)):
        assert_same(emulated(tensors, 3), by_torch(tensors, True))


def test_what_the_kernels_do_not_read_is_left_to_pytorch() -> None:
    values = torch.ones(4, 32)
    assert compare_cuda.measure(values, values, values.double(), 4) is None
    assert compare_cuda.measure(values.long(), values.long(), values.long(), 4) is None


@pytest.mark.build
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_nvcc_takes_the_source(tmp_path: Path, dtype: torch.dtype) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    binary = tmp_path / "compare.cubin"
    options = ["-arch=sm_90", "-cubin", "-Werror", "all-warnings", *compare_cuda.definitions(dtype, torch.float64)]
    subprocess.run([nvcc, *options, str(compare_cuda.SOURCE), "-o", str(binary)], check=True)
    assert all(name.encode() in binary.read_bytes() for name in compare_cuda.KERNELS)


def on_device(tensors: Tensors) -> Tensors:
    """Copies on the GPU that begin as far from a boundary as the originals."""
    moved = []
    for tensor in tensors:
        offset = tensor.storage_offset()
        memory = torch.empty(offset + tensor.numel(), dtype=tensor.dtype, device="cuda")
        moved.append(memory[offset:].view(tensor.shape).copy_(tensor))
    return moved[0], moved[1], moved[2]


def measured(tensors: Tensors, by_row: bool) -> Measured:
    found = compare_cuda.measure(*tensors, rows_of(tensors, by_row))
    assert found is not None
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("shape", [(1, 17), (300, 16), (4096, 33), (70_000, 16), (3, 1_000_003), (200, 40_000), (85, 393_216)])
def test_figures_are_pytorchs_on_a_gpu(shape: tuple[int, ...], share: float) -> None:
    tensors = on_device(draw(shape, torch.float32, share=share))
    for by_row in (False, True):
        assert_same(measured(tensors, by_row), by_torch(tensors, by_row))


@pytest.mark.gpu
@pytest.mark.parametrize("wide", [torch.float64, torch.float32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_figures_of_each_dtype_are_pytorchs_on_a_gpu(dtype: torch.dtype, wide: torch.dtype) -> None:
    for shape in ((129, 1001), (4099, 100)):
        for offset in range(4):
            tensors = on_device(draw(shape, dtype, wide, 0.05, offset))
            for by_row in (False, True):
                assert_same(measured(tensors, by_row), by_torch(tensors, by_row))


@pytest.mark.gpu
@pytest.mark.parametrize("value", [0.0, 0.5, 1e-310, 1e200, math.nan, math.inf])
@pytest.mark.parametrize("oracle", [0.0, 1e-150, 1e200, math.nan, -math.inf])
def test_extreme_magnitudes_on_a_gpu(value: float, oracle: float) -> None:
    right = torch.full((3, 4001), oracle, dtype=torch.float64, device="cuda")
    tensors = torch.full_like(right, value), right, right
    assert_same(measured(tensors, True), by_torch(tensors, True))


@pytest.mark.gpu
def test_every_half_precision_number_is_read_right_on_a_gpu() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        values = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16, device="cuda").view(dtype)
        found = measured((values, values, values.double()), False)
        assert (found.largest_error, found.squared_error, found.nonfinite_mismatches) == (0.0, 0.0, 0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_a_comparison_says_the_same_either_way(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    generator = torch.Generator("cuda").manual_seed(5)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    oracle = torch.rand(64, 513, dtype=wide, device="cuda", generator=generator) + (0.5 + 0.5j if dtype.is_complex else 0.5)
    reference = oracle.to(dtype).t().contiguous().t()  # rows that don't follow each other
    candidate = oracle.to(dtype)
    candidate[7, 100:] = 0
    found = []
    for least in (1, 1 << 62):
        monkeypatch.setattr(compare, "LEAST_FUSED_ELEMENTS", least)
        for answer in (oracle.to(dtype), candidate):
            comparison = Comparison("", answer.shape, dtype, Rules(rows_independent=True))
            comparison.measure(OutputPiece(0, answer, reference, oracle))
            if not comparison.passed:
                comparison.locate(OutputPiece(0, answer, reference, oracle))
            found.append(comparison.figures())
    assert [(each.wrong, each.first_index, each.pattern) for each in found[:2]] == [(e.wrong, e.first_index, e.pattern) for e in found[2:]]
    for one, other in zip(found[:2], found[2:], strict=True):
        for name in ("max_error", "rms_error", "reference_error", "tolerance"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12)
    assert found[1].wrong == 413 * (2 if dtype.is_complex else 1)


@pytest.mark.gpu
def test_two_measurements_are_the_same_to_the_last_bit() -> None:
    tensors = on_device(draw((3, 1_000_003), torch.float32))
    assert measured(tensors, True) == measured(tensors, True)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.complex64])
def test_what_was_prepared_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    compare_cuda.compiled.cache_clear()
    compare_cuda.prepare(torch.zeros(2, dtype=dtype, device="cuda"))
    compare_cuda.prepare(torch.zeros(2, dtype=torch.int64, device="cuda"))
    monkeypatch.setattr(compare_cuda, "compile_for", None)
    assert compare_cuda.measure(*on_device(draw((4, 32), dtype.to_real())), 4) is not None


@pytest.mark.gpu
def test_without_the_compiler_pytorch_does_it_and_that_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(*_: object) -> bytes:
        raise RuntimeError("there is no NVRTC")

    monkeypatch.setattr(compare_cuda, "compile_for", missing)
    compare_cuda.compiled.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            for dtype in (torch.float32, torch.float64):
                tensors = on_device(draw((4, 32), dtype))
                assert compare_cuda.measure(*tensors, 4) is None
        assert sum("there is no NVRTC" in record.getMessage() for record in caplog.records) == 1
    finally:
        compare_cuda.compiled.cache_clear()


def seconds(work: Callable[[], object]) -> float:
    """The least of three times, on the clock."""
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(1 << 12, 1 << 16), (1 << 24, 1 << 4), (682, 393_217)])
def test_it_is_faster(shape: tuple[int, int], dtype: torch.dtype) -> None:
    oracle = torch.rand(shape, dtype=torch.float64, device="cuda")
    reference = oracle.to(dtype)
    tensors = (reference * (1 + 1e-6)).to(dtype), reference, oracle
    for by_row in (True, False):
        measured(tensors, by_row)  # so that kernels and memory are there
        slow, fast = (seconds(partial(way, tensors, by_row)) for way in (by_torch, measured))
        rate = sum(tensor.nbytes for tensor in (*tensors, oracle)) / fast / 1e12
        scales = "of rows" if by_row else "of the whole"
        print(f"{shape}, {dtype}, scale {scales}: {slow * 1e3:.1f} ms, {fast * 1e3:.2f} ms; {slow / fast:.0f} times, {rate:.2f} TB/s")
        assert slow > 3 * fast


def scaled_by_torch(tensors: Tensors, scale: float) -> Measured:
    """The figures with PyTorch's operators, where the scale of the whole is known."""
    comparison = Comparison("", tensors[0].shape, tensors[0].dtype, Rules())
    comparison._sums = Sums(1, 0.0, scale**2)
    comparison.measure(OutputPiece(0, *(tensor.cpu() for tensor in tensors)))
    return figures_of(comparison)


@pytest.mark.build
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("shape", [(1, 17), (3, 10_003), (2, 4096)])
def test_a_scale_that_is_given_counts(emulated: Emulator, shape: tuple[int, ...], scale: float) -> None:
    for share in (0.0, 0.1):
        tensors = draw(shape, torch.float32, share=share)
        assert_same(emulated(tensors, 1, scale), scaled_by_torch(tensors, scale))


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("shape", [(1, 17), (4096, 33), (3, 1_000_003)])
def test_a_scale_that_is_given_counts_on_a_gpu(shape: tuple[int, ...], scale: float) -> None:
    for share in (0.0, 0.1):
        tensors = on_device(draw(shape, torch.float32, share=share))
        found = compare_cuda.measure(*tensors, 1, scale)
        assert found is not None
        assert_same(found, scaled_by_torch(tensors, scale))


@pytest.mark.gpu
def test_slices_measured_by_the_kernels_give_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate, reference, oracle = on_device(draw((999, 1001), torch.float32))
    found = []
    for least, pieces in ((1, 1), (1, 4), (1 << 62, 4)):
        monkeypatch.setattr(compare, "LEAST_FUSED_ELEMENTS", least)
        comparison = Comparison("", candidate.shape, candidate.dtype, Rules(rule=Rule.GROSS))
        step = -(-len(oracle) // pieces)
        parts = [
            OutputPiece(start, *(tensor[start : start + step] for tensor in (candidate, reference, oracle)))
            for start in range(0, len(oracle), step)
        ]
        for part in parts if pieces > 1 else []:
            comparison.weigh(part.oracle)
        for part in parts:
            comparison.measure(part)
        for part in parts:
            comparison.locate(part)
        found.append(comparison.figures())
    for one in found[1:]:
        assert (one.wrong, one.beyond, one.first_index) == (found[0].wrong, found[0].beyond, found[0].first_index)
        for name in ("max_error", "rms_error", "reference_error", "gross_error"):
            assert getattr(one, name) == pytest.approx(getattr(found[0], name), rel=1e-9)
