"""CuPy, and PyTorch's `torch.cuda._compile_kernel`: CUDA in strings, which NVRTC compiles in the worker."""

from evaluator.dsl.plugin import CompilerOutput, Dsl, Raised

ERRORS = frozenset(("CompileException", "NvrtcCompilationError"))
PYTORCHS = "Kernel compilation failed:"
"""The beginning of the RuntimeError of torch.cuda._compile_kernel."""


def compile_error(raised: Raised) -> CompilerOutput | None:
    """NVRTC's messages look like nvcc's, about a string in the submission, with the code line below each."""
    if raised.type in ERRORS or (raised.type == "RuntimeError" and raised.message.startswith(PYTORCHS)):
        return CompilerOutput(raised.message)
    return None


DSL = Dsl(
    name="cupy",
    title="CuPy",
    packages={"cupy": "cupy"},
    marks=frozenset(("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel")),
    caches={"CUPY_CACHE_DIR": "cupy", "PYTORCH_KERNEL_CACHE_PATH": "torch_kernels"},
    library_kernels=("cupy_*",),
    compile_error=compile_error,
    trial="import cupy",
)
