"""Signals end a run, and wait for what must not be torn apart."""

import os
import signal
import threading

import pytest

from command.interrupts import Interrupts

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@SIGNALS
def test_both_signals_interrupt(number: signal.Signals) -> None:
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


@SIGNALS
def test_what_is_held_is_finished_first(number: signal.Signals) -> None:
    done = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        with interrupts.held():
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
            done.append("saved")
        done.append("never")
    assert done == ["saved"]


def test_an_error_within_is_the_one_that_is_raised() -> None:
    with Interrupts() as interrupts, pytest.raises(ZeroDivisionError), interrupts.held():
        os.kill(os.getpid(), signal.SIGINT)
        raise ZeroDivisionError


def test_handlers_are_put_back_and_other_threads_left_alone() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] != before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before

    def elsewhere() -> None:
        with Interrupts() as interrupts, interrupts.held():
            seen.append(signal.getsignal(signal.SIGTERM))

    seen: list[object] = []
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(300)
    assert seen == before[1:]
