"""What a worker says of a block of calls."""

from typing import Any

from evaluator.judge.workers.client import claimed_ms
from evaluator.worker.protocol import Message, ProtocolError


def block_answers(message: Message, count: int) -> list[Any]:
    """The answers of a block. Raises ProtocolError where there is not one for each of its calls."""
    answers = message.get("outputs")
    if not isinstance(answers, list) or len(answers) != count:
        raise ProtocolError("a block has one answer for each of its calls")
    return answers


def claimed_times_ms(answer: Message, count: int, field: str = "ms") -> list[float]:
    """So many times that a worker claims. Raises ProtocolError where the answer holds nothing of the kind."""
    values = answer.get(field)
    if not isinstance(values, list) or len(values) != count:
        raise ProtocolError("a block has as many times as were asked for")
    return [claimed_ms({"ms": value}) for value in values]
