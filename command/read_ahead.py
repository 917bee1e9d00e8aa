"""Reads submissions ahead of the judges, in batches, so that only a few are in memory."""

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator

from evaluator.submission.model import Submission

READ_AHEAD = 1000
READ_AHEAD_S = 0.5
READ_AHEAD_CHARS = 32 << 20
"""What is read before the first submission is judged, whichever is reached first, so that a mistake in a problem's file is told before
anything has been done."""
BATCH = 64
"""Submissions that the database is asked about at once."""
BATCH_CHARS = 8 << 20


def read_ahead(submissions: Iterator[Submission]) -> deque[Submission]:
    """The first submissions, within the bounds of reading ahead."""
    head: deque[Submission] = deque()
    start, size = time.monotonic(), 0
    for submission in submissions:
        head.append(submission)
        size += len(submission.code)
        if len(head) == READ_AHEAD or size >= READ_AHEAD_CHARS or time.monotonic() - start >= READ_AHEAD_S:
            break
    return head


def emptied(items: deque[Submission]) -> Iterator[Submission]:
    """Each item, which is not kept any longer."""
    while items:
        yield items.popleft()


def batches(submissions: Iterable[Submission]) -> Iterator[list[Submission]]:
    """Lists of up to BATCH, with BATCH_CHARS of code or little more; the first hold less, so that there is soon something to be judged."""
    source, wanted = iter(submissions), 1
    while first := list(itertools.islice(source, 1)):
        batch, size = first, len(first[0].code)
        while len(batch) < wanted and size < BATCH_CHARS and (more := next(source, None)) is not None:
            batch.append(more)
            size += len(more.code)
        yield batch
        wanted = min(2 * wanted, BATCH)
