"""Reads a worker's reply on a timing block."""

from typing import Any

from evaluator.judge.workers.client import claimed_ms
from evaluator.worker.protocol import Message, ProtocolError


def block_answers(message: Message, count: int) -> list[Any]:
    """The outputs of a block. Raises ProtocolError if there is not one for each of its calls."""
    answers = message.get("outputs")
    if not isinstance(answers, list) or len(answers) != count:
        raise ProtocolError("a block must have one output for each of its calls")
    return answers


def claimed_times_ms(answer: Message, count: int, field: str = "ms") -> list[float]:
    """The `count` times that a worker claims. Raises ProtocolError if the reply does not hold them."""
    values = answer.get(field)
    if not isinstance(values, list) or len(values) != count:
        raise ProtocolError("a block must have as many times as were requested")
    return [claimed_ms({"ms": value}) for value in values]
