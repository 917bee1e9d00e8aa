"""The limit of submissions that one device has under way at once."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from evaluator.engine import admission_limit as module
from evaluator.engine.admission_limit import BUILDING, LOOK_BACK, AdmissionLimit, Admitted

MOST = 2


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine threads take a while to enter their stage."""
    monkeypatch.setattr(module, "LOADING_S", 600.0)


class Crowd:
    """Threads that are let in one after the other, and go when they are told to."""

    def __init__(self, limit: AdmissionLimit, count: int, then: Callable[[Admitted], None] = lambda _: None) -> None:
        self._limit, self._then = limit, then
        self._leave = threading.Semaphore(0)
        self.inside: list[Admitted] = []
        self.came: list[Admitted] = []
        self._threads = [threading.Thread(target=self._go, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _go(self) -> None:
        with self._limit.admitted() as admitted:
            self._then(admitted)
            self.inside.append(admitted)
            self.came.append(admitted)
            self._leave.acquire()
            self.inside.remove(admitted)

    def settled(self, count: int, came: int = 0) -> bool:
        """Whether that many are inside, of at least so many that came, and no more come."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if len(self.inside) == count and len(self.came) >= came:
                time.sleep(0.05)
                return len(self.inside) == count
            time.sleep(0.01)
        return False

    def send_away(self, count: int) -> None:
        self._leave.release(count)

    def empty(self) -> None:
        self.send_away(len(self._threads))
        for thread in self._threads:
            thread.join(300)
        assert not any(thread.is_alive() for thread in self._threads)


def build(admitted: Admitted) -> None:
    admitted.enter("load")
    admitted.enter(BUILDING)


def test_so_many_are_under_way_and_the_next_follows_one_that_leaves() -> None:
    crowd = Crowd(AdmissionLimit(MOST), 5)
    assert crowd.settled(MOST)
    crowd.send_away(1)
    assert crowd.settled(MOST, came=MOST + 1)
    crowd.empty()


def test_where_any_number_is_as_good_nobody_waits() -> None:
    crowd = Crowd(AdmissionLimit(None), 9)
    assert crowd.settled(9)
    crowd.empty()


def test_who_is_being_built_keeps_nobody_out_until_it_is() -> None:
    limit = AdmissionLimit(MOST)
    builders = Crowd(limit, 4, build)
    assert builders.settled(4)
    others = Crowd(limit, 3)
    assert others.settled(MOST)
    for admitted in builders.inside:
        admitted.enter("place")
    others.send_away(2)
    assert others.settled(0)
    others.send_away(1)
    builders.empty()
    others.empty()


def test_while_submissions_have_to_be_built_all_judges_have_one() -> None:
    limit = AdmissionLimit(MOST)
    Crowd(limit, 1, build).empty()
    crowd = Crowd(limit, 6)
    assert crowd.settled(6)
    crowd.empty()


@pytest.mark.parametrize("builders", [1, 3])
def test_when_nothing_has_been_built_for_a_while_few_do(builders: int) -> None:
    """Those that ended in their build, too, have left."""
    limit = AdmissionLimit(MOST)
    Crowd(limit, builders, build).empty()
    Crowd(limit, LOOK_BACK).empty()
    crowd = Crowd(limit, 5)
    assert crowd.settled(MOST)
    crowd.empty()


def test_submissions_that_take_long_to_load_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.05)
    limit = AdmissionLimit(MOST)
    sleepers = Crowd(limit, MOST, lambda admitted: admitted.enter("load"))
    assert sleepers.settled(MOST)
    others = Crowd(limit, 3, lambda admitted: admitted.enter("rounds"))
    assert others.settled(0)
    now_s[0] += module.LOADING_S
    assert others.settled(MOST)
    now_s[0] += module.LOADING_S
    assert others.settled(MOST), "rounds may take as long as they do"
    sleepers.empty()
    others.empty()
