"""Notes on the code of a submission's kernels: barriers, bounds, sizes and arithmetic."""

from bisect import bisect_left
from collections.abc import Iterator

from evaluator.diagnosis.notes import cpp_reader
from evaluator.diagnosis.notes.note import MAX_OF_A_KIND, Note, ParsedSubmission

NARROW = frozenset(("half2", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "Half", "BFloat16", "kHalf"))
FAST_MATH = frozenset(("__expf", "__exp10f", "__logf", "__sinf", "__cosf", "__tanf", "__powf", "__fdividef", "__frcp_rn", "__saturatef"))
EXPONENTIALS = frozenset(("expf", "exp", "__expf", "exp2f"))
BARRIERS = frozenset(("__syncthreads", "__syncwarp", "sync"))


def barrier_in_branch(parsed: ParsedSubmission) -> Iterator[Note]:
    for kernel in parsed.kernels:
        for line in _barriers_under_threads(kernel.body):
            yield Note(line, f"`{kernel.name}` has a __syncthreads() under a condition on threadIdx: it waits for all threads of the block")


def _barriers_under_threads(body: tuple[cpp_reader.Token, ...]) -> Iterator[int]:
    """Lines of the first few barriers under each condition on threadIdx."""
    ends = cpp_reader.closings(body)
    threads, barriers = ([position for position, token in enumerate(body) if token.text == text] for text in ("threadIdx", "__syncthreads"))
    for position, token in enumerate(body):
        if token.text not in ("if", "for", "while") or position + 1 >= len(body) or body[position + 1].text != "(":
            continue
        end = ends[position + 1]
        # Threads may run such a loop a different number of times.
        if not _within(threads, position + 1, end) or end + 1 >= len(body):
            continue
        after = ends[end + 1] if body[end + 1].text == "{" else end + 4
        yield from (body[place].line for place in _within(barriers, end + 1, after))


def _within(positions: list[int], start: int, end: int) -> list[int]:
    """The first few of the sorted `positions` from `start` on and before `end`."""
    first = bisect_left(positions, start)
    return [position for position in positions[first : first + MAX_OF_A_KIND] if position < end]


def early_return(parsed: ParsedSubmission) -> Iterator[Note]:
    for kernel in parsed.kernels:
        barriers = [position for position, token in enumerate(kernel.body) if token.text == "__syncthreads"]
        returns = [position for position, token in enumerate(kernel.body) if token.text == "return"]
        if barriers and returns and returns[0] < barriers[-1]:
            line = kernel.body[returns[0]].line
            yield Note(line, f"`{kernel.name}` returns before a __syncthreads(): if only some threads of a block return, the others wait")


def missing_barrier(parsed: ParsedSubmission) -> Iterator[Note]:
    for kernel in parsed.kernels:
        shared = any(token.text == "__shared__" for token in kernel.body)
        if shared and not any(token.text in BARRIERS or "barrier" in token.text or "cooperative" in token.text for token in kernel.body):
            yield Note(kernel.line, f"`{kernel.name}` uses shared memory without a __syncthreads()")


def unguarded(parsed: ParsedSubmission) -> Iterator[Note]:
    guards = ("if", "for", "while", "?", "min", "return", "switch")
    for kernel in parsed.kernels:
        texts = [token.text for token in kernel.body]
        if "blockIdx" in texts and "[" in texts and not any(guard in texts for guard in guards):
            yield Note(kernel.line, f"`{kernel.name}` has no bounds check: the last block may access memory beyond the end")


def hard_coded(parsed: ParsedSubmission) -> Iterator[Note]:
    for source in parsed.script.sources:
        for token in source.tokens:
            if token.kind == "number" and token.text.isdecimal() and len(token.text) < 12 and int(token.text) in parsed.sizes:
                yield Note(token.line, f"{token.text} is a size of this case, hard-coded: other cases may be wrong")


def narrow(parsed: ParsedSubmission) -> Iterator[Note]:
    for source in parsed.script.sources:
        # Many sources name an index `half`. It is a type only if its header is included.
        narrow = NARROW | {"half"} if any("cuda_fp16" in token.text for token in source.tokens if token.kind == "directive") else NARROW
        for line in source.lines_of(*narrow)[:1]:
            yield Note(line, "this line uses half precision")


def fast_math(parsed: ParsedSubmission) -> Iterator[Note]:
    for source in parsed.script.sources:
        for line in source.lines_of(*FAST_MATH)[:1]:
            used = ", ".join(sorted(source.words & FAST_MATH))
            yield Note(line, f"approximate functions: {used}")


def no_maximum(parsed: ParsedSubmission) -> Iterator[Note]:
    for source in parsed.script.sources:
        if any("max" in word.lower().replace("softmax", "") for word in source.words):
            continue  # the kernel may call a function with that word
        for kernel in source.kernels:
            exponentiates = any(token.text in EXPONENTIALS for token in kernel.body if token.kind == "word")
            if "softmax" in kernel.name.lower() and exponentiates:
                yield Note(kernel.line, f"`{kernel.name}` calls exp() without subtracting the maximum first: large inputs overflow")
