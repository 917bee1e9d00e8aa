"""LSTM and GRU, step by step."""

from collections.abc import Callable, Sequence

import torch

from benchmarks.plain_answers.operators.activation import plain_sigmoid, plain_tanh
from benchmarks.plain_answers.operators.matrix import plain_linear

PlainState = tuple[torch.Tensor, ...]
PlainCell = Callable[[torch.Tensor, torch.Tensor, PlainState], PlainState]
"""The next state from the input's gates, the last output's gates and the last state, whose first tensor is the output."""


def plain_lstm_cell(given: torch.Tensor, kept: torch.Tensor, state: PlainState) -> PlainState:
    """Output and cell."""
    enter, forget, change, leave = (given + kept).chunk(4, -1)
    cell = plain_sigmoid(forget) * state[1] + plain_sigmoid(enter) * plain_tanh(change)
    return plain_sigmoid(leave) * plain_tanh(cell), cell


def plain_gru_cell(given: torch.Tensor, kept: torch.Tensor, state: PlainState) -> PlainState:
    """Output."""
    reset, update, change = given.chunk(3, -1)
    old_reset, old_update, old_change = kept.chunk(3, -1)
    share = plain_sigmoid(update + old_update)
    fresh = plain_tanh(change + plain_sigmoid(reset + old_reset) * old_change)
    return ((1.0 - share) * fresh + share * state[0],)


def plain_direction(
    x: torch.Tensor, state: PlainState, weights: Sequence[torch.Tensor], cell: PlainCell, backwards: bool
) -> tuple[torch.Tensor, PlainState]:
    """One layer in one direction over x of (length, batch, width): its outputs and its last state."""
    biases = weights[2:4] if len(weights) > 2 else (None, None)
    gates = plain_linear(x, weights[0], biases[0])
    answer = x.new_empty((*x.shape[:2], state[0].shape[-1]))
    for place in reversed(range(len(x))) if backwards else range(len(x)):
        state = cell(gates[place], plain_linear(state[0], weights[1], biases[1]), state)
        answer[place] = state[0]
    return answer, state


def plain_layers(
    x: torch.Tensor,
    states: PlainState,
    weights: Sequence[torch.Tensor],
    biased: bool,
    layers: int,
    both: bool,
    batch_first: bool,
    cell: PlainCell,
) -> tuple[torch.Tensor, ...]:
    """All layers: the last one's outputs, and the last states of each."""
    if batch_first:
        x = x.transpose(0, 1)
    each = 4 if biased else 2
    directions = 2 if both else 1
    ends: list[PlainState] = []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = weights[number * each : (number + 1) * each]
            output, end = plain_direction(x, tuple(state[number] for state in states), own, cell, direction == 1)
            outputs.append(output)
            ends.append(end)
        x = torch.cat(outputs, -1)
    last = tuple(torch.stack(parts) for parts in zip(*ends, strict=True))
    return (x.transpose(0, 1) if batch_first else x, *last)


def plain_lstm(
    input: torch.Tensor,
    hx: Sequence[torch.Tensor],
    params: Sequence[torch.Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[torch.Tensor, ...]:
    """As torch.lstm: outputs, last outputs, last cells."""
    return plain_layers(input, tuple(hx), params, has_biases, num_layers, bidirectional, batch_first, plain_lstm_cell)


def plain_gru(
    input: torch.Tensor,
    hx: torch.Tensor,
    params: Sequence[torch.Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[torch.Tensor, ...]:
    """As torch.gru: outputs, last outputs."""
    return plain_layers(input, (hx,), params, has_biases, num_layers, bidirectional, batch_first, plain_gru_cell)
