"""Reads submissions ahead of the judges, in batches, so that only a few are in memory."""

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evaluator.build.header_folders import may_include
from evaluator.submission.model import Submission

READ_AHEAD = 1000
READ_AHEAD_S = 0.5
READ_AHEAD_CHARS = 32 << 20
"""Limits of what is read before the first submission is judged, so that an error in a problem's file is reported early."""
BATCH = 64
"""Maximum of submissions per query of the database."""
BATCH_CHARS = 8 << 20


def read_ahead(submissions: Iterator[Submission]) -> deque[Submission]:
    """Return the first submissions, up to the limits of reading ahead."""
    head: deque[Submission] = deque()
    start, size = time.monotonic(), 0
    for submission in submissions:
        head.append(submission)
        size += len(submission.code)
        if len(head) == READ_AHEAD or size >= READ_AHEAD_CHARS or time.monotonic() - start >= READ_AHEAD_S:
            break
    return head


def longest_first(submissions: Iterable[Submission], headers: Sequence[Path]) -> deque[Submission]:
    """Those that may include the user's C++ headers first, then longer sources before shorter ones: they build for longer, and a long
    build at the end keeps a run waiting."""
    return deque(sorted(submissions, key=lambda each: (not may_include(each.code, headers), -len(each.code))))


def emptied(items: deque[Submission]) -> Iterator[Submission]:
    """Yield and remove each item."""
    while items:
        yield items.popleft()


def batches(submissions: Iterable[Submission]) -> Iterator[list[Submission]]:
    """Lists of up to BATCH submissions, or about BATCH_CHARS of code. The first lists are shorter, so that judging starts soon."""
    source, wanted = iter(submissions), 1
    while first := list(itertools.islice(source, 1)):
        batch, size = first, len(first[0].code)
        while len(batch) < wanted and size < BATCH_CHARS and (more := next(source, None)) is not None:
            batch.append(more)
            size += len(more.code)
        yield batch
        wanted = min(2 * wanted, BATCH)
