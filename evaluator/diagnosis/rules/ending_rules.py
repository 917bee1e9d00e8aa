"""Rules for a worker's process that ended early: by a signal, a timeout, a limit, or the judge's own shortage of memory."""

import re

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict, doing
from evaluator.diagnosis.words import cut_middle, faulty_launch
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence

SIGNALS = {
    "SIGSEGV": "it accessed an invalid address: a null, freed or device pointer on the host, or a stack overflow",
    "SIGBUS": "it accessed unmapped file memory, or a misaligned address",
    "SIGFPE": "an integer was divided by zero on the host",
    "SIGILL": "it ran an illegal instruction, such as __builtin_trap() or another CPU's code",
    "SIGABRT": "it aborted: an uncaught C++ exception, a failed assert(), or a corrupted heap",
    "SIGXFSZ": "it wrote a file beyond the size limit",
    "SIGPIPE": "it wrote to a pipe or socket without a reader",
    "SIGTERM": "it sent this signal to itself: the judge does not use it",
    "SIGKILL": "it killed itself, or the machine ran out of memory; it exceeded neither a timeout nor the memory limit",
}
"""Meaning of each signal that may end a worker."""
CPU_SIGNAL = "SIGXCPU"
"""Signal that ends a process at its limit of CPU time (RLIMIT_CPU)."""
MAX_LAST_WORDS_CHARS = 240
MAX_STDERR_LINE_CHARS = 2000
"""Longest part that is read of a line that a submission wrote: the time of matching a pattern grows with its square."""
_LAST_WORDS = re.compile(
    r"^(?:terminate called .*|\s*what\(\): .*|.*: Assertion .* failed\.|\*\*\* .*"
    r"|(?:free|malloc|realloc)\(\): .*|double free or corruption.*|corrupted .*|munmap_chunk\(\): .*)$"
)


@rule(order=40, gives=[Category.OUT_OF_MEMORY])
def starved_judge(evidence: Evidence) -> Verdict | None:
    """The submission used so much of the device's memory that the judge had too little."""
    starving = evidence.starving
    if starving is None:
        return None
    held, total = (f"{count / 2**30:.3g} GiB" for count in (starving.held_bytes, starving.total_bytes))
    return Verdict(Category.OUT_OF_MEMORY, f"it used {held} of the device's {total} of memory; the judge had too little")


@rule(order=60, gives=[Category.TIMEOUT, Category.OUT_OF_MEMORY, Category.PROCESS_CRASH, Category.EARLY_EXIT])
def ended_process(evidence: Evidence) -> Verdict | None:
    """The worker's process ended before it had answered."""
    exit_ = evidence.exit
    if exit_ is None:
        return None
    stage = doing(exit_.stage)
    if exit_.deadline_s is not None:
        where = f": {faulty_launch(evidence.fault)} does not end" if evidence.fault is not None else ""
        return Verdict(Category.TIMEOUT, f"{stage} did not end within {exit_.deadline_s:g} s{where}")
    if exit_.memory_limit_bytes is not None:
        return Verdict(Category.OUT_OF_MEMORY, f"{stage} exceeded the memory limit of {exit_.memory_limit_bytes / 2**30:.3g} GiB")
    if exit_.disk_limit_bytes is not None:
        limit = f"{exit_.disk_limit_bytes / 2**30:.3g} GiB"
        return Verdict(Category.PROCESS_CRASH, f"{stage} filled its private directory beyond the limit of {limit}")
    if exit_.signal == CPU_SIGNAL:
        return Verdict(Category.TIMEOUT, f"{stage} exceeded the limit of CPU time ({CPU_SIGNAL})")
    if exit_.signal is not None:
        meaning = f": {SIGNALS[exit_.signal]}" if exit_.signal in SIGNALS else ""
        return Verdict(Category.PROCESS_CRASH, f"{stage} ended by {exit_.signal}{meaning}{_last_words(evidence.stderr)}")
    return Verdict(Category.EARLY_EXIT, f"{stage} ended the process with exit code {exit_.code}")


def _last_words(stderr: str) -> str:
    """The messages of the C and C++ libraries as they aborted the process."""
    lines = (cut_middle(line, MAX_STDERR_LINE_CHARS) for line in stderr[-20_000:].splitlines())
    said = [line.strip() for line in lines if _LAST_WORDS.match(line)]
    return cut_middle(f" ({'; '.join(said[-3:])})", MAX_LAST_WORDS_CHARS) if said else ""
