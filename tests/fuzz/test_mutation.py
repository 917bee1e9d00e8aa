"""Mutations, and what the fuzz takes for honest."""

import pytest

from tests.fuzz.effect import effect
from tests.fuzz.mutation import BUILD, MUTATORS, steps
from tests.fuzz.plan import Mutation, Plan, Step, Turn, encoded, frame

TURN = Turn(
    {"kind": "call", "seq": 7, "output": {"tuple": [{"tensor": {"shape": [2], "dtype": "float32", "device": "cpu"}}, {"int": "3"}]}}
)


def test_every_mutation_can_be_printed_and_sent() -> None:
    for name in MUTATORS:
        plan = Plan("call", 2, (Mutation(name, 3, 5, {"a": [1, None]}),))
        assert Plan.from_json(plan.to_json()) == plan, name
        todo = steps(TURN, plan.mutations[0])
        assert todo and (any(step.data for step in todo) or todo[-1].then), name


@pytest.mark.parametrize(
    ("sent", "honest", "trailing"),
    [
        (encoded(TURN.honest), True, False),
        (encoded({**TURN.honest, "more": 1}), True, False),
        (encoded({"kind": "build", "request": BUILD}) + encoded(TURN.honest), True, False),
        (encoded(TURN.honest) * 2, True, True),
        (encoded({**TURN.honest, "seq": 8}), False, False),
        (encoded({**TURN.honest, "output": {"tuple": [TURN.honest["output"]["tuple"][0], {"int": "4"}]}}), False, False),
        (encoded({**TURN.honest, "output": {"list": TURN.honest["output"]["tuple"]}}), False, False),
        (encoded(TURN.honest)[:-1], False, True),
        (frame(b"\xff"), False, True),
    ],
)
def test_what_is_honest_in_effect(sent: bytes, honest: bool, trailing: bool) -> None:
    found = effect(TURN, sent)
    assert (found.answers and found.same_output, found.trailing) == (honest, trailing)


def test_a_flood_is_no_answer() -> None:
    assert steps(TURN, Mutation("flooded", 4))[-1] == Step(b" ", then="flood")
