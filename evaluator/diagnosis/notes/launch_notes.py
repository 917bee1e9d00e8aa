"""Notes on launches in a submission's sources: kernels without a launch, and launches that fail or are not checked."""

import re
from collections import Counter
from collections.abc import Iterator

from evaluator.diagnosis.notes import cpp_reader
from evaluator.diagnosis.notes.note import Note, ParsedSubmission
from evaluator.diagnosis.rules.launch_rules import DEFAULT_SHARED_BYTES, MAX_THREADS

MAX_DIM3_TOKENS = 16
"""Maximum tokens of a dim3(…) that is read; longer ones are not plain numbers."""
ERROR_CHECKS = frozenset(
    (
        *("cudaGetLastError", "cudaPeekAtLastError", "C10_CUDA_KERNEL_LAUNCH_CHECK"),
        *("C10_CUDA_CHECK", "AT_CUDA_CHECK", "TORCH_CUDA_KERNEL_LAUNCH_CHECK"),
    )
)


def never_launched(parsed: ParsedSubmission) -> Iterator[Note]:
    mentions = Counter(token.text for source in parsed.script.sources for token in source.tokens)
    declared = Counter(kernel.name for source in parsed.script.sources for kernel in source.kernels)
    for kernel in parsed.kernels:
        if mentions[kernel.name] <= declared[kernel.name] and kernel.name not in parsed.script.quoted:
            yield Note(kernel.line, f"kernel `{kernel.name}` is defined and never launched")


def oversized(parsed: ParsedSubmission) -> Iterator[Note]:
    for launch in parsed.launches:
        block = launch.arguments[1] if len(launch.arguments) > 1 else ""
        threads = _product(block)
        if threads is not None and threads > MAX_THREADS:
            yield Note(launch.line, f"`{launch.kernel}` is launched with {threads} threads per block; at most {MAX_THREADS} are allowed")
    for source in parsed.script.sources:
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
    """The product of a size that is written in numbers alone; None for any other text."""
    inside = re.fullmatch(r"(?:dim3[({])?([\d,*]+)[)}]?", text)
    if inside is None:
        return None
    product = 1
    for part in re.split(r"[,*]", inside[1][:64]):
        product *= int(part) if part else 1
    return product


def shared_without_asking(parsed: ParsedSubmission) -> Iterator[Note]:
    words = frozenset().union(*(source.words for source in parsed.script.sources))
    if words & {"cudaFuncSetAttribute", "cuFuncSetAttribute"}:
        return
    for launch in parsed.launches:
        wanted = _product(launch.arguments[2]) if len(launch.arguments) > 2 else None
        if wanted is not None and wanted > DEFAULT_SHARED_BYTES:
            yield Note(launch.line, f"`{launch.kernel}` requests {wanted} bytes of dynamic shared memory without cudaFuncSetAttribute")


def no_error_check(parsed: ParsedSubmission) -> Iterator[Note]:
    for source in parsed.script.sources:
        if source.launches and not source.words & ERROR_CHECKS:
            yield Note(source.launches[0].line, "no launch is checked with cudaGetLastError(): a refused launch goes unnoticed")
