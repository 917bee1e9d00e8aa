"""Answers that are dear to find, kept until something new has been stored."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from db.queries.runs import newest
from db.store import Store

T = TypeVar("T")
ANSWERS = 128
"""As many are kept; the one that was not asked for longest goes first."""
SHARE = 0.05
"""While results arrive, no more than this share of the time is spent on finding one answer anew."""


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any
    newest: int
    """The evaluation that had been stored last."""
    found_at_s: float
    cost_s: float


class Memory:
    """Answers to questions about one database; safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._finding: dict[Hashable, threading.Lock] = {}

    def recall(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` returned for this key; it is called again once a new evaluation has been stored, and enough time has passed."""
        with self._lock:
            turn = self._finding.setdefault(key, threading.Lock())
        # Whoever asks for the same meanwhile waits for it, instead of finding it too.
        with turn:
            last = newest(self._store)
            with self._lock:
                kept = self._kept.get(key)
                if kept is not None:
                    self._kept.move_to_end(key)
            begun_s = time.monotonic()
            if kept is not None and (kept.newest == last or begun_s < kept.found_at_s + kept.cost_s / SHARE):
                value: T = kept.value
                return value
            try:
                value = find()
            except BaseException:
                with self._lock:
                    self._finding.pop(key, None)
                raise
            ended_s = time.monotonic()
            with self._lock:
                self._kept[key] = _Kept(value, last, ended_s, ended_s - begun_s)
                while len(self._kept) > ANSWERS:
                    gone, _ = self._kept.popitem(last=False)
                    self._finding.pop(gone, None)
            return value
