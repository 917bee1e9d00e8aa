"""Slots for compilers, between threads and processes."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.commands import Step
from evaluator.build.execution import STOCK_BYTES
from evaluator.build.processes.slots import POLL_S, Claim, Slots
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Compiler, Toolchain

GIB = 1 << 30
HOLDER = """
import sys
from evaluator.build.processes.slots import Slots
from pathlib import Path
with Slots(Path(sys.argv[1]), 1, 1).claim(1, 1) as claim:
    assert claim.take()
    print("held", flush=True)
    sys.stdin.readline()
"""


def waited(claim: Claim) -> int:
    while not (programs := claim.take()):
        time.sleep(POLL_S)
    return programs


def in_threads(count: int, action: Callable[[], None]) -> None:
    threads = [threading.Thread(target=action) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()


def test_never_more_than_there_are_hold_one(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 2, GIB)
    now, peak, counting, met = [0], [0], threading.Lock(), threading.Event()

    def hold() -> None:
        with slots.claim(GIB, 1) as claim:
            waited(claim)
            with counting:
                now[0] += 1
                peak[0] = max(peak[0], now[0])
                if now[0] > 1:
                    met.set()
            assert met.wait(120)  # the first one, for a second
            time.sleep(0.03)
            with counting:
                now[0] -= 1

    in_threads(8, hold)
    assert peak == [2]


def test_who_needs_more_memory_takes_more_slots(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 4, GIB)
    assert [slots.needed(needed) for needed in (0, 1, GIB, GIB + 1, 3 * GIB, 100 * GIB)] == [1, 1, 1, 2, 3, 4]
    assert Slots(tmp_path, 1, GIB).needed(3 * GIB) == 1


def test_two_that_need_all_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 3, GIB)
    done: list[int] = []

    def hold() -> None:
        for _ in range(3):
            with slots.claim(3 * GIB, 1) as claim:
                waited(claim)
                time.sleep(0.005)
        done.append(1)

    in_threads(3, hold)
    assert len(done) == 3


def test_the_wait_is_told_and_a_holder_that_is_killed_holds_no_longer(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with Slots(tmp_path, 1, 1).claim(1, 1) as claim:
            assert claim.take() == 0
            holder.kill()
            assert waited(claim) == 1
    with Slots(tmp_path, 1, 1).claim(1, 1) as claim:
        assert claim.take() == 1


def test_an_error_gives_the_slots_back(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 2, 1)
    with pytest.raises(ZeroDivisionError), slots.claim(2, 1) as claim:
        waited(claim)
        raise ZeroDivisionError
    with slots.claim(2, 1) as claim:
        assert claim.take() == 1


def test_several_programs_have_what_is_free_and_give_back_what_they_need_no_more(tmp_path: Path) -> None:
    slots = Slots(tmp_path, 5, GIB)
    with slots.claim(GIB, 1) as other, slots.claim(2 * GIB, 3) as claim, slots.claim(GIB, 4) as waiting:
        assert (other.take(), claim.take(), waiting.take()) == (1, 2, 0)
        assert (claim.keep(1), waiting.take()) == (1, 2)
        assert claim.take() == 1
    with slots.claim(5 * GIB, 1) as claim:
        assert claim.take() == 1


def test_waiting_for_a_slot_is_no_part_of_a_builds_time(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps while it waits, by more than a build may take."""
    jumped_s, now_s, take = [0.0], time.monotonic, Claim.take

    def late(claim: Claim) -> int:
        if not jumped_s[0]:
            jumped_s[0] = 1000.0
            return 0
        return take(claim)

    monkeypatch.setattr(time, "monotonic", lambda: now_s() + jumped_s[0])
    monkeypatch.setattr(Claim, "take", late)
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\nfor last; do :; done; echo object > "$last"\n')
    compiler.chmod(0o755)
    request = BuildRequest.model_validate({"name": "x", "sources": [{"name": "main.cpp", "text": "int x;"}]})
    slots = Slots(tmp_path / "slots", 1, STOCK_BYTES[Step.CPP])
    machine = Toolchain(Compiler((str(compiler),), "1"), None, None, None, toolchain.torch, toolchain.python_include, toolchain.arch)
    builder = Builder(Cache(tmp_path / "cache"), machine, timeout_s=300.0, stock_only=True, slots=slots)
    outcome = builder.build(request)
    assert outcome.evidence.ok, outcome.evidence.output
    assert outcome.waited_s >= 1000
    assert outcome.evidence.duration_s < 1000
    again = builder.build(request)
    assert again.evidence.cached and again.waited_s == 0.0
