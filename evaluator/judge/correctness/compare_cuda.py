"""Error figures on a GPU, at the speed of its memory, by the kernels of `compare.cu`.

PyTorch's operators need some fifteen passes over float64 copies. These kernels read candidate, reference and oracle once. NVRTC compiles
them for the device and dtypes, once per process, in about 0.2 s each. Nothing is stored on disk, where it could be tampered with.
Without NVRTC, `measure` returns None, and the caller uses PyTorch's operators.
"""

import ctypes
import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluator.judge.workers.out_of_memory import is_shortage
from evaluator.worker.memory import checked

SOURCE = Path(__file__).with_name("compare.cu")
NAMES = {torch.float16: "half_bits", torch.bfloat16: "bfloat_bits", torch.float32: "float", torch.float64: "double"}
"""Names in the source of the dtypes that it reads."""
KERNELS = ("measure_segments", "measure_scales", "measure_errors", "sum_blocks")
THREADS = 256
"""Threads per block, as in the source."""
TILE = 4096
"""Elements that a block reads at a time, as in the source."""
SEGMENT_ELEMENTS = 4096
"""Elements of a row that a warp adds up: 128 per thread."""
MOST_SEGMENTS = 1 << 14
"""Maximum segments per row, since one warp adds them up. Longer rows have longer segments."""
SHORT_ROW = 256
"""Rows with fewer elements get eight threads instead of a whole warp."""
BLOCKS_PER_PROCESSOR = 4
"""Blocks of the largest kernel that run at a time on a multiprocessor."""
FIGURES = 6
"""64-bit words of figures per block."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measured:
    """The figures that one piece adds to a comparison."""

    largest_error: float
    """The candidate's largest error; infinite if a NaN or an infinity is out of place."""
    largest_reference_error: float
    """The reference's largest finite error."""
    squared_error: float
    """Sum of the squares of candidate - oracle, over finite elements."""
    squared_oracle: float
    """Sum of the squares of the oracle, over finite elements."""
    nonfinite_mismatches: int
    """Number of infinite errors of the candidate where it or the oracle is not finite."""
    infinite_reference_errors: int


class KernelArguments(ctypes.Structure):
    """The arguments of a kernel; `struct Plan` in the source explains each."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("candidate", "reference", "oracle", "energies", "scales", "blocks", "result")),
        *((name, ctypes.c_uint64) for name in ("elements", "rows", "row_elements", "segments", "segment_elements", "block_count", "lanes")),
    )


class Measurement:
    """One piece, ready to be measured: the arguments, memory on the tensors' device, and the launches."""

    def __init__(
        self, tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor], rows: int, processors: int, scale: float | None = None
    ) -> None:
        """tensors: candidate, reference and oracle, contiguous, with the same number of elements, in `rows` rows. processors: the device's
        multiprocessors. scale: that of all rows, if it is known.
        """
        elements = tensors[0].numel()
        row_elements = elements // rows
        shortest = -(-row_elements // MOST_SEGMENTS)
        segment_elements = max(-(-shortest // 32) * 32, SEGMENT_ELEMENTS)
        segments = -(-row_elements // segment_elements)
        lanes = 8 if row_elements < SHORT_ROW else 32
        most = processors * BLOCKS_PER_PROCESSOR
        block_count = min(-(-elements // TILE), most)
        self.launches: list[tuple[str, int]] = []
        if scale is None:
            self.launches.append(("measure_segments", min(-(-rows * segments * lanes // THREADS), most)))
        if scale is None and segments > 1:
            self.launches.append(("measure_scales", min(-(-rows * 32 // THREADS), most)))
        self.launches += [("measure_errors", block_count), ("sum_blocks", 1)]
        """Kernels, in order, and the number of blocks of each."""
        sizes = [rows * segments if segments > 1 else 0, rows, block_count * FIGURES, FIGURES]
        self._words = torch.empty(sum(sizes), dtype=torch.float64, device=tensors[0].device)
        self._tensors = tensors  # keeps their memory alive while kernels read it
        energies, scales, blocks, result = torch.split(self._words, sizes)
        self._result = result
        if scale is not None:
            scales.fill_(scale)
        self.plan = KernelArguments(
            *(tensor.data_ptr() for tensor in (*tensors, energies, scales, blocks, result)),
            *(elements, rows, row_elements, segments, segment_elements, block_count, lanes),
        )

    def measured(self) -> Measured:
        """Wait for the launches, and return their figures."""
        largest, largest_reference, squared_error, squared_oracle, mismatches, infinite = self._result.tolist()
        return Measured(largest, largest_reference, squared_error, squared_oracle, int(mismatches), int(infinite))


def measure(
    candidate: torch.Tensor, reference: torch.Tensor, oracle: torch.Tensor, rows: int, scale: float | None = None
) -> Measured | None:
    """The figures of real tensors of one shape, with `rows` rows. Each row has its own scale, or all have `scale`.

    None if PyTorch has to find them: without a GPU, for dtypes that the kernels don't read, or if the kernels don't compile (logged).
    Raises RuntimeError if a launch fails, torch.OutOfMemoryError.
    """
    tensors = (candidate, reference, oracle)
    if not _readable(tensors):
        return None
    device = oracle.device
    with torch.cuda.device(device):
        kernels = compiled(device, candidate.dtype, oracle.dtype)
        if kernels is None:
            return None
        prepared = tuple(tensor.resolve_neg().contiguous() for tensor in tensors)
        processors = torch.cuda.get_device_properties(device).multi_processor_count
        work = Measurement((prepared[0], prepared[1], prepared[2]), rows, processors, scale)
        kernels.launch(work, torch.cuda.current_stream(device).cuda_stream)
        return work.measured()


def prepare(candidate: torch.Tensor) -> None:
    """Compile, load and launch the kernels for an output's dtype, if there are any, before they are needed.

    Outputs are compared with the oracle. Outputs of timed calls are first compared with the reference's, in their own dtype.
    """
    values = torch.view_as_real(candidate) if candidate.is_complex() else candidate
    if candidate.is_cuda and values.dtype in NAMES:
        for oracle in (values.double(), values):
            measure(values, values, oracle, 1)


def _readable(tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> bool:
    candidate, reference, oracle = tensors
    return (
        candidate.is_cuda
        and candidate.device == reference.device == oracle.device
        and candidate.shape == reference.shape == oracle.shape
        and candidate.dtype == reference.dtype
        and candidate.dtype in NAMES
        and oracle.dtype in NAMES
        and candidate.numel() > 0
    )


class Kernels:
    """The kernels, loaded into the current context of a device."""

    def __init__(self, binary: bytes) -> None:
        """`binary` is a cubin. Raises RuntimeError if the driver refuses it."""
        from cuda.bindings import driver

        self._module = checked(driver.cuModuleLoadData(binary))
        self._functions = {name: checked(driver.cuModuleGetFunction(self._module, name.encode())) for name in KERNELS}

    def launch(self, work: Measurement, stream: int) -> None:
        """Enqueue all launches of `work`. Raises RuntimeError."""
        from cuda.bindings import driver

        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(work.plan))
        for name, blocks in work.launches:
            arguments = (self._functions[name], blocks, 1, 1, THREADS, 1, 1, 0, stream, ctypes.addressof(parameters), 0)
            checked(driver.cuLaunchKernel(*arguments))


@functools.cache
def compiled(device: torch.device, value: torch.dtype, oracle: torch.dtype) -> Kernels | None:
    """The kernels for the current CUDA device; None, with a log message, if they can't be made. Raises torch.OutOfMemoryError."""
    try:
        torch.cuda.synchronize(device)  # so that there is a context
        major, minor = torch.cuda.get_device_capability(device)
        return Kernels(compile_for(f"sm_{major}{minor}", value, oracle))
    except (ImportError, RuntimeError) as error:
        if is_shortage(error):
            raise torch.OutOfMemoryError(str(error)) from error  # there may be memory later
        _unavailable(str(error))
        return None


@functools.cache
def _unavailable(why: str) -> None:
    _log.warning("comparisons on the GPU use PyTorch's operators, which are slower: %s", why)


def compile_for(architecture: str, value: torch.dtype, oracle: torch.dtype) -> bytes:
    """The kernels as a cubin for an architecture such as `sm_90`. Raises ImportError without NVIDIA's bindings, and RuntimeError without
    NVRTC or with the compiler's message."""
    from cuda.bindings import nvrtc

    program = checked(nvrtc.nvrtcCreateProgram(SOURCE.read_bytes(), SOURCE.name.encode(), 0, [], []))
    try:
        options = [
            option.encode() for option in (f"--gpu-architecture={architecture}", "--std=c++17", "--fmad=false", *definitions(value, oracle))
        ]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status) != 0:
            raise RuntimeError(f"{status.name}: {_text(program)}")
        binary = bytes(checked(nvrtc.nvrtcGetCUBINSize(program)))
        checked(nvrtc.nvrtcGetCUBIN(program, binary))
        return binary
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def definitions(value: torch.dtype, oracle: torch.dtype) -> tuple[str, str]:
    """Compiler options that set the dtype of candidate and reference, and the oracle's."""
    return f"-DVALUE={NAMES[value]}", f"-DORACLE={NAMES[oracle]}"


def _text(program: Any) -> str:
    from cuda.bindings import nvrtc

    log = bytes(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    return log.rstrip(b"\0").decode(errors="replace")
