import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from evaluator.build.cache import Cache, Entry
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence

KEY = "ab" * 32
OTHER = "cd" * 32


def entry(key: str = KEY, shared_object: bytes | None = b"\x7fELF\0\1") -> Entry:
    category = Category.LINK_ERROR if shared_object is None else None
    return Entry(BuildEvidence(name="x", key=key, ok=category is None, category=category, output="fine ✓"), shared_object)


def file_of(cache: Cache, key: str = KEY) -> Path:
    (found,) = cache.root.glob(f"builds/*/{key}")
    return found


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.mark.parametrize("shared_object", [None, b"", b"\0", b"\x7fELF" * 100_000])
def test_gives_back_what_was_stored(cache: Cache, shared_object: bytes | None) -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, entry(shared_object=shared_object))
    assert cache.load(KEY) == entry(shared_object=shared_object)
    assert cache.load(OTHER) is None


def test_drops_an_entry_with_a_flipped_byte_and_one_that_was_cut_off(cache: Cache) -> None:
    cache.store(KEY, entry())
    whole, file = file_of(cache).read_bytes(), file_of(cache)
    flipped = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 10, 45, 60, len(whole) - 1)]
    for damaged in (*flipped, *(whole[:length] for length in (0, 5, 40, 48, 60))):
        file.write_bytes(damaged)
        assert cache.load(KEY) is None
        assert not list(cache.root.glob("builds/*/*"))


def test_drops_an_entry_that_lies_under_another_key(cache: Cache) -> None:
    cache.store(KEY, entry())
    cache.store(OTHER, entry(OTHER))
    file_of(cache, KEY).rename(file_of(cache, OTHER))
    assert cache.load(OTHER) is None


def test_leaves_no_temporary_file_behind(cache: Cache) -> None:
    cache.store(KEY, entry())
    cache.store(KEY, entry())
    assert [file.name for file in cache.root.glob("builds/*/*")] == [KEY]


def test_lock_times_out_while_another_thread_holds_it(cache: Cache) -> None:
    with cache.lock(KEY, 1), pytest.raises(TimeoutError), cache.lock(KEY, 0.1):
        pass
    with cache.lock(KEY, 0.1):
        pass


def test_locks_of_two_keys_are_independent(cache: Cache) -> None:
    with cache.lock(KEY, 1), cache.lock(OTHER, 0.1):
        pass


def test_lock_waits_for_its_holder(cache: Cache) -> None:
    order: list[str] = []

    def second() -> None:
        with cache.lock(KEY, 5):
            order.append("second")

    with cache.lock(KEY, 1):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def _hold_and_die(root: Path) -> None:
    with Cache(root).lock(KEY, 1):
        os._exit(1)


def test_lock_of_a_process_that_died_is_free(cache: Cache) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_hold_and_die, args=(cache.root,))
    process.start()
    process.join()
    assert process.exitcode == 1
    with cache.lock(KEY, 0.5):
        pass


def test_trim_drops_what_was_used_least_recently(cache: Cache) -> None:
    keys = [f"{i:02x}" * 32 for i in range(4)]
    for age, key in enumerate(keys):
        cache.store(key, entry(key, b"x" * 1000))
        os.utime(file_of(cache, key), (1000 + age, 1000 + age))
    assert cache.load(keys[0]) is not None
    size = file_of(cache, keys[0]).stat().st_size
    assert cache.trim(2 * size) == 2 * size
    assert [cache.load(key) is not None for key in keys] == [True, False, False, True]
    assert cache.trim(10 * size) == 0


def test_trim_drops_shared_headers_as_a_whole(cache: Cache) -> None:
    for age, name in enumerate(("old", "new")):
        folder = cache.headers / "key" / name
        folder.mkdir(parents=True)
        for part in ("a", "b"):
            (folder / part).write_bytes(b"x" * 1000)
            os.utime(folder / part, (1000 + age, 1000 + age))
    cache.store(KEY, entry())
    assert cache.trim(2500) == 2000
    assert [path.name for path in (cache.headers / "key").iterdir()] == ["new"]
    assert cache.load(KEY) is not None


def test_storing_keeps_the_bound(tmp_path: Path) -> None:
    bounded = Cache(tmp_path / "cache", limit_bytes=5000)
    for number in range(10):
        key = f"{number:02x}" * 32
        bounded.store(key, entry(key, b"x" * 1000))
        os.utime(file_of(bounded, key), (1000 + number, 1000 + number))
    kept = [bounded.load(f"{number:02x}" * 32) is not None for number in range(10)]
    assert kept[-1]
    assert not any(kept[:5])
