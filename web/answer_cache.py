"""A cache of expensive answers, valid until something is stored or changes its author."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from db.queries.runs import state
from db.store import Store

T = TypeVar("T")
ANSWERS = 128
"""Maximum answers kept; the least recently used one goes first."""
SHARE = 0.05
"""Maximum share of the time spent on recomputing one answer while results arrive."""


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any
    state: tuple[int, ...]
    """State of the database when the answer was found."""
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
        """What `find` returned for this key. It is called again after the database's state has changed and enough time has passed."""
        with self._lock:
            turn = self._finding.setdefault(key, threading.Lock())
        # Other callers with the same key wait for this answer, instead of finding it too.
        with turn:
            now = state(self._store)
            with self._lock:
                kept = self._kept.get(key)
                if kept is not None:
                    self._kept.move_to_end(key)
            begun_s = time.monotonic()
            if kept is not None and (kept.state == now or begun_s < kept.found_at_s + kept.cost_s / SHARE):
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
                self._kept[key] = _Kept(value, now, ended_s, ended_s - begun_s)
                while len(self._kept) > ANSWERS:
                    gone, _ = self._kept.popitem(last=False)
                    self._finding.pop(gone, None)
            return value
