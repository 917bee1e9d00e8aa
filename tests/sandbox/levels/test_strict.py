"""The extra rights of a lax program at level `landlock`, and its child's."""

import os

from evaluator.sandbox import Level, Program, Zygote
from evaluator.sandbox.levels.strict import remaining
from tests.sandbox.conftest import CONFINED, SYSTEM_ENTRIES, runner


def reached(zygote: Zygote, *, strict: bool, lax: bool) -> dict[str, bool]:
    """What a child process reaches; with `strict`, after it gave up its parent's extra rights."""
    remains = remaining(Program(entry="any:entry", lax=True), zygote.level) if strict else []
    ended, answer = runner(zygote)(f"{SYSTEM_ENTRIES}:reach_from_a_child", {"remains": remains, "pid": os.getpid()}, lax=lax)
    assert ended.code == 0 and isinstance(answer, dict), answer
    return answer


def test_a_lax_program_reaches_sockets_and_processes_and_its_child_gives_up_both(zygote: Zygote) -> None:
    at_landlock = zygote.level is Level.LANDLOCK  # elsewhere the machine's servers and processes are not there
    plain, lax = (reached(zygote, strict=False, lax=lax) for lax in (False, True))
    kept = reached(zygote, strict=True, lax=True)
    assert [each["a socket"] for each in (plain, lax, kept)] == [not at_landlock, True, not at_landlock]
    assert [each["another process"] for each in (plain, lax, kept)] == [False, at_landlock, False]
    assert kept["itself"] and kept["its folder"] and kept["the system"]


def test_there_is_something_to_give_up_at_landlock_only() -> None:
    assert [bool(remaining(Program(entry="any:entry", lax=True), level)) for level in CONFINED] == [False, False, True]
