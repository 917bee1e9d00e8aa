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


def test_a_socket_with_an_address_is_for_lax_programs_where_the_machines_servers_are_behind_it_too(zygote: Zygote) -> None:
    assert reached(zygote, strict=False, lax=False)["a socket"] is (zygote.level is not Level.LANDLOCK)
    assert reached(zygote, strict=False, lax=True)["a socket"]


def test_a_lax_program_reads_of_other_processes_what_anybody_may(zygote: Zygote) -> None:
    assert not reached(zygote, strict=False, lax=False)["another process"]
    assert reached(zygote, strict=False, lax=True)["another process"] is (zygote.level is Level.LANDLOCK)


def test_its_child_gives_up_both_and_keeps_what_is_its_own(zygote: Zygote) -> None:
    kept = reached(zygote, strict=True, lax=True)
    assert kept["a socket"] is (zygote.level is not Level.LANDLOCK)
    assert not kept["another process"]
    assert kept["itself"] and kept["its folder"] and kept["the system"]


def test_there_is_something_to_give_up_at_landlock_only() -> None:
    assert [bool(remaining(Program(entry="any:entry", lax=True), level)) for level in CONFINED] == [False, False, True]
