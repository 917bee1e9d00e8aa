"""Notes from reading a submission without running it: advisory, shown beside the evidence, and never a reason for a verdict."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from evaluator.diagnosis.notes import cpp_reader, python_reader
from evaluator.results.figures import percent

MAX_NOTES = 12
MAX_OF_A_KIND = 3
MAX_DIM3_TOKENS = 16
"""Longer arguments are no plain numbers."""
LEAST_SIZE = 17
"""Smaller numbers are tile widths and the like more often than sizes of a problem."""
MAX_THREADS = 1024
DEFAULT_SHARED_BYTES = 48 << 10
"""Dynamic shared memory that a kernel may have without asking (CUDA C++ Programming Guide, shared memory of compute capability 7.x on)."""

NARROW = frozenset(("half2", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "Half", "BFloat16", "kHalf"))
FAST_MATH = frozenset(("__expf", "__exp10f", "__logf", "__sinf", "__cosf", "__tanf", "__powf", "__fdividef", "__frcp_rn", "__saturatef"))
EXPONENTIALS = frozenset(("expf", "exp", "__expf", "exp2f"))
ERROR_CHECKS = frozenset(
    (
        "cudaGetLastError",
        "cudaPeekAtLastError",
        "C10_CUDA_KERNEL_LAUNCH_CHECK",
        "C10_CUDA_CHECK",
        "AT_CUDA_CHECK",
        "TORCH_CUDA_KERNEL_LAUNCH_CHECK",
    )
)
BARRIERS = frozenset(("__syncthreads", "__syncwarp", "sync"))
COMPUTES = frozenset(
    (
        *("softmax", "log_softmax", "matmul", "mm", "bmm", "einsum", "linear", "conv1d", "conv2d", "conv3d", "baddbmm", "addmm", "@"),
        *("relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "exp", "log", "sqrt", "rsqrt", "pow", "norm", "where", "embedding"),
        *("sum", "mean", "var", "std", "amax", "amin", "max", "min", "argmax", "topk", "sort", "cumsum", "cross_entropy", "nll_loss"),
        *("layer_norm", "rms_norm", "batch_norm", "group_norm", "scaled_dot_product_attention", "dropout", "interpolate"),
        *("add", "mul", "div", "sub", "max_pool2d", "avg_pool2d"),
    )
)
"""Calls of PyTorch that compute."""
NOT_TORCH = ("math", "np", "numpy", "operator", "itertools", "self._ops", "_C")
SYNCHRONIZES = frozenset(("cpu", "item", "tolist", "numpy", "synchronize", "nonzero"))


@dataclass(frozen=True)
class Note:
    """One remark."""

    line: int | None
    """Of what was handed in."""
    text: str


@dataclass(frozen=True)
class Ran:
    """What was observed to run, to be told beside what is read."""

    own_launches: int | None = None
    """Launches of own kernels; None where nothing was observed."""
    own_share: float | None = None
    """What they have of a call's time on the device; None where that was not taken."""

    def __str__(self) -> str:
        if self.own_launches is None:
            return ""
        share = "" if self.own_share is None else f", with {percent(self.own_share)} of a call's time on the device"
        return f"; {self.own_launches} launches of own kernels were observed{share}"


@dataclass(frozen=True)
class Subject:
    """What is read."""

    script: python_reader.Script
    sizes: frozenset[int]
    """Sizes of the case's inputs."""
    ran: Ran

    @property
    def kernels(self) -> list[cpp_reader.Kernel]:
        return [kernel for source in self.script.sources for kernel in source.kernels if kernel.body]

    @property
    def launches(self) -> list[cpp_reader.Launch]:
        return [launch for source in self.script.sources for launch in source.launches]


UNOBSERVED = Ran()
Finder = Callable[[Subject], Iterator[Note]]


def notes(code: str, first_line: int = 1, sizes: Collection[int] = (), ran: Ran = UNOBSERVED) -> tuple[Note, ...]:
    """What strikes a reader of `code`, which begins on line `first_line` of its file; the most telling first."""
    script = python_reader.read(code)
    if script is None:
        return ()
    subject = Subject(script, frozenset(size for size in sizes if size >= LEAST_SIZE), ran)
    found: list[Note] = []
    for finder in FINDERS:
        of_a_kind: dict[Note, None] = {}
        for note in finder(subject):
            of_a_kind[note] = None
            if len(of_a_kind) == MAX_OF_A_KIND:
                break
        found += [Note(note.line and note.line + first_line - 1, note.text) for note in of_a_kind]
    return tuple(found[:MAX_NOTES])


CUPYS = frozenset(("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel"))
"""What CuPy makes kernels of a text with."""


def _no_kernel(subject: Subject) -> Iterator[Note]:
    builds = [call for call in subject.script.calls if call.name.rsplit(".", 1)[-1] in python_reader.BUILDERS and call.name != "torch.load"]
    builds += [call for call in subject.script.calls if call.name.rsplit(".", 1)[-1] in CUPYS]
    if not builds and not subject.kernels and not subject.script.triton:
        yield Note(None, "there is no kernel in it: it neither builds an extension nor defines a function for Triton or Numba")


def _never_launched(subject: Subject) -> Iterator[Note]:
    mentions = Counter(token.text for source in subject.script.sources for token in source.tokens)
    declared = Counter(kernel.name for source in subject.script.sources for kernel in source.kernels)
    for kernel in subject.kernels:
        if mentions[kernel.name] <= declared[kernel.name] and kernel.name not in subject.script.quoted:
            yield Note(kernel.line, f"kernel `{kernel.name}` is defined and never launched")


def _never_called(subject: Subject) -> Iterator[Note]:
    for name, line in subject.script.functions:
        if name not in subject.script.used:
            yield Note(line, f"`{name}` is bound and never called in Python")


def _computes_in_python(subject: Subject) -> Iterator[Note]:
    bound = {name for name, _ in subject.script.functions}
    for call in subject.script.forward:
        root, _, last = call.name.rpartition(".")
        if last not in COMPUTES or last in bound or root.rsplit(".", 1)[-1] in subject.script.extensions or root.startswith(NOT_TORCH):
            continue
        yield Note(call.line, f"forward() computes with PyTorch's `{call.name}`, which is no kernel of its own{subject.ran}")


def _barrier_in_branch(subject: Subject) -> Iterator[Note]:
    for kernel in subject.kernels:
        for line in _barriers_under_threads(kernel.body):
            yield Note(
                line, f"`{kernel.name}` has a __syncthreads() under a condition on threadIdx: threads that don't come there are waited for"
            )


def _barriers_under_threads(body: tuple[cpp_reader.Token, ...]) -> Iterator[int]:
    """Lines of the first few barriers below each condition."""
    ends = cpp_reader.closings(body)
    threads, barriers = ([position for position, token in enumerate(body) if token.text == text] for text in ("threadIdx", "__syncthreads"))
    for position, token in enumerate(body):
        if token.text not in ("if", "for", "while") or position + 1 >= len(body) or body[position + 1].text != "(":
            continue
        end = ends[position + 1]
        # For a loop that is one whose threads can go round a different number of times.
        if not _within(threads, position + 1, end) or end + 1 >= len(body):
            continue
        after = ends[end + 1] if body[end + 1].text == "{" else end + 4
        yield from (body[place].line for place in _within(barriers, end + 1, after))


def _within(positions: list[int], start: int, end: int) -> list[int]:
    """The first of those, of `positions` in order, that are from `start` on and before `end`."""
    first = bisect_left(positions, start)
    return [position for position in positions[first : first + MAX_OF_A_KIND] if position < end]


def _early_return(subject: Subject) -> Iterator[Note]:
    for kernel in subject.kernels:
        barriers = [position for position, token in enumerate(kernel.body) if token.text == "__syncthreads"]
        returns = [position for position, token in enumerate(kernel.body) if token.text == "return"]
        if barriers and returns and returns[0] < barriers[-1]:
            line = kernel.body[returns[0]].line
            yield Note(line, f"`{kernel.name}` returns before a __syncthreads(): where only some threads of a block do, the others wait")


def _missing_barrier(subject: Subject) -> Iterator[Note]:
    for kernel in subject.kernels:
        shared = any(token.text == "__shared__" for token in kernel.body)
        if shared and not any(token.text in BARRIERS or "barrier" in token.text or "cooperative" in token.text for token in kernel.body):
            yield Note(kernel.line, f"`{kernel.name}` uses shared memory without a __syncthreads()")


def _unguarded(subject: Subject) -> Iterator[Note]:
    guards = ("if", "for", "while", "?", "min", "return", "switch")
    for kernel in subject.kernels:
        texts = [token.text for token in kernel.body]
        if "blockIdx" in texts and "[" in texts and not any(guard in texts for guard in guards):
            yield Note(kernel.line, f"`{kernel.name}` has no bounds check: the last block may reach beyond the end")


def _oversized(subject: Subject) -> Iterator[Note]:
    for launch in subject.launches:
        block = launch.arguments[1] if len(launch.arguments) > 1 else ""
        threads = _product(block)
        if threads is not None and threads > MAX_THREADS:
            yield Note(launch.line, f"`{launch.kernel}` is launched with {threads} threads a block; at most {MAX_THREADS} are allowed")
    for source in subject.script.sources:
        yield from _oversized_dim3(source)


def _oversized_dim3(source: cpp_reader.Source) -> Iterator[Note]:
    blocks = {launch.arguments[1] for launch in source.launches if len(launch.arguments) > 1}
    for position, token in enumerate(source.tokens[:-2]):
        name, opening = source.tokens[position + 1], source.tokens[position + 2]
        if token.text == "dim3" and name.text in blocks and opening.text == "(":
            end = source.ends[position + 2]
            if end - position > MAX_DIM3_TOKENS:
                continue
            inside = source.tokens[position + 3 : end]
            threads = _product(f"dim3({''.join(part.text for part in inside)})")
            if threads is not None and threads > MAX_THREADS:
                yield Note(token.line, f"`{name.text}` has {threads} threads; a block may have {MAX_THREADS}")


def _product(text: str) -> int | None:
    """The number of threads of a block that is written in numbers alone."""
    inside = re.fullmatch(r"(?:dim3[({])?([\d,*]+)[)}]?", text)
    if inside is None:
        return None
    product = 1
    for part in re.split(r"[,*]", inside[1][:64]):
        product *= int(part) if part else 1
    return product


def _shared_without_asking(subject: Subject) -> Iterator[Note]:
    words = frozenset().union(*(source.words for source in subject.script.sources))
    if words & {"cudaFuncSetAttribute", "cuFuncSetAttribute"}:
        return
    for launch in subject.launches:
        wanted = _product(launch.arguments[2]) if len(launch.arguments) > 2 else None
        if wanted is not None and wanted > DEFAULT_SHARED_BYTES:
            yield Note(launch.line, f"`{launch.kernel}` wants {wanted} bytes of dynamic shared memory without cudaFuncSetAttribute")


def _no_error_check(subject: Subject) -> Iterator[Note]:
    for source in subject.script.sources:
        if source.launches and not source.words & ERROR_CHECKS:
            yield Note(source.launches[0].line, "no launch is followed by cudaGetLastError(): a refused one goes unnoticed")


def _hard_coded(subject: Subject) -> Iterator[Note]:
    for source in subject.script.sources:
        for token in source.tokens:
            if token.kind == "number" and token.text.isdecimal() and len(token.text) < 12 and int(token.text) in subject.sizes:
                yield Note(token.line, f"{token.text} is a size of this case written into the source: another case may be computed wrongly")


def _narrow(subject: Subject) -> Iterator[Note]:
    for source in subject.script.sources:
        # `half` alone is the name of many an index; it is a type where its header is included.
        narrow = NARROW | {"half"} if any("cuda_fp16" in token.text for token in source.tokens if token.kind == "directive") else NARROW
        for line in source.lines_of(*narrow)[:1]:
            yield Note(line, "it computes in half precision there")


def _fast_math(subject: Subject) -> Iterator[Note]:
    for source in subject.script.sources:
        for line in source.lines_of(*FAST_MATH)[:1]:
            used = ", ".join(sorted(source.words & FAST_MATH))
            yield Note(line, f"approximate functions: {used}")


def _no_maximum(subject: Subject) -> Iterator[Note]:
    for source in subject.script.sources:
        if any("max" in word.lower().replace("softmax", "") for word in source.words):
            continue  # of a function that the kernel calls, perhaps
        for kernel in source.kernels:
            exponentiates = any(token.text in EXPONENTIALS for token in kernel.body if token.kind == "word")
            if "softmax" in kernel.name.lower() and exponentiates:
                yield Note(
                    kernel.line, f"`{kernel.name}` takes exp() of something that no maximum was subtracted from: large inputs overflow"
                )


def _synchronizes(subject: Subject) -> Iterator[Note]:
    for call in subject.script.forward:
        if call.name.rsplit(".", 1)[-1] in SYNCHRONIZES:
            yield Note(call.line, f"forward() waits for the device in `{call.name}`")


def _builds_in_forward(subject: Subject) -> Iterator[Note]:
    for call in subject.script.forward:
        if call.name.rsplit(".", 1)[-1] == "load_inline":
            yield Note(call.line, "forward() builds its extension: build it once, when the module is loaded")


FINDERS: tuple[Finder, ...] = (
    _no_kernel,
    _never_launched,
    _never_called,
    _oversized,
    _shared_without_asking,
    _barrier_in_branch,
    _early_return,
    _missing_barrier,
    _unguarded,
    _no_maximum,
    _hard_coded,
    _narrow,
    _fast_math,
    _computes_in_python,
    _no_error_check,
    _synchronizes,
    _builds_in_forward,
)
"""In the order in which their notes are shown."""
