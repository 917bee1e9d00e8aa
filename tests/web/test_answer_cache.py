"""The cache of expensive pages: its entries and their age."""

import threading
import time

import pytest

from db.store import Store, StoreError
from tests.db.samples import result
from web.answer_cache import ANSWERS, Memory


def test_an_answer_is_found_once_until_something_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.answer_cache.SHARE", 1e9)
    memory, found = Memory(store), iter(range(10))
    assert [memory.recall("a", lambda: next(found)) for _ in range(3)] == [0, 0, 0]
    assert memory.recall("b", lambda: next(found)) == 1
    store.save(result(), "")
    assert memory.recall("a", lambda: next(found)) == 2


def test_a_dear_answer_is_kept_for_a_while_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.answer_cache.SHARE", 1e-4)
    memory, found = Memory(store), iter(range(10))

    def find() -> int:
        time.sleep(0.05)
        return next(found)

    assert memory.recall("a", find) == 0
    store.save(result(), "")
    assert memory.recall("a", find) == 0
    monkeypatch.setattr("web.answer_cache.SHARE", 1e9)
    assert memory.recall("a", find) == 1


def test_whoever_asks_meanwhile_waits_for_the_same_answer(store: Store) -> None:
    memory, calls, answers = Memory(store), [], []

    def find() -> int:
        calls.append(1)
        time.sleep(0.3)
        return 7

    threads = [threading.Thread(target=lambda: answers.append(memory.recall("a", find))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [7] * 4 and len(calls) == 1


def test_no_more_are_kept_than_there_is_room_for(store: Store) -> None:
    memory = Memory(store)
    for number in range(ANSWERS + 5):
        memory.recall(number, lambda: "kept")
    assert memory.recall(ANSWERS + 4, lambda: "new") == "kept"
    assert memory.recall(0, lambda: "new") == "new"


def test_a_failure_is_not_kept(store: Store) -> None:
    memory = Memory(store)

    def fail() -> int:
        raise StoreError("gone")

    with pytest.raises(StoreError):
        memory.recall("a", fail)
    assert memory.recall("a", lambda: 1) == 1
