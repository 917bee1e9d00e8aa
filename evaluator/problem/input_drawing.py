"""Makes random inputs and parameters from fresh or given seeds, without changing any random generator of the process.

`ProblemCase.inputs` (evaluator.problem.problem) calls the file's `get_inputs()` with these functions.
"""

import random
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

from evaluator.chance import chance

if TYPE_CHECKING:
    import torch

# The generators of torch, numpy and random belong to the process: two draws at a time would mix their seeds.
_GENERATORS = RLock()
_SPARE: list[Any] = []
"""Generators for numpy in a draw: to exchange its generator takes 2 µs, to save and restore its state 65, as long as a small draw."""


def fresh_seed() -> int:
    """A random seed; 48 bits, so that it is an exact JSON integer everywhere."""
    return chance.getrandbits(48)


@contextmanager
def seeded(seed: int, device: "torch.device | str") -> Iterator[None]:
    """Draw from `seed`, on `device` by default, and restore every generator afterwards."""
    import numpy
    import torch
    from numpy.random import mtrand

    target = torch.device(device)
    with _GENERATORS:
        generators = _generators(target, torch.default_generator)
        torch_states = [generator.get_state() for generator in generators]
        python_state, numpy_generator = random.getstate(), mtrand.get_bit_generator()
        own_generator = _SPARE.pop() if _SPARE else numpy.random.MT19937()
        try:
            for generator in generators:
                generator.manual_seed(seed)
            random.seed(seed)
            mtrand.set_bit_generator(own_generator)
            numpy.random.seed(seed % (1 << 32))
            with target:
                yield
        finally:
            for generator, state in zip(generators, torch_states, strict=True):
                generator.set_state(state)
            random.setstate(python_state)
            mtrand.set_bit_generator(numpy_generator)
            _SPARE.append(own_generator)


@contextmanager
def without_reseeding() -> Iterator[None]:
    """Keep the process's generators going, whatever seed a file sets: its inputs must differ between draws."""
    import numpy
    import torch

    def nothing(*_arguments: object, **_options: object) -> torch.Generator:
        return torch.default_generator

    seeding = [(torch, "manual_seed"), (torch.random, "manual_seed"), (numpy.random, "seed"), (random, "seed")]
    seeding += [(torch.cuda, "manual_seed"), (torch.cuda, "manual_seed_all")]
    kept = [getattr(module, name) for module, name in seeding]
    try:
        for module, name in seeding:
            setattr(module, name, nothing)
        yield
    finally:
        for (module, name), function in zip(seeding, kept, strict=True):
            setattr(module, name, function)


def owners_of(drawn: Sequence[Any]) -> "list[weakref.ref[torch.Tensor]]":
    """Weak references to the tensors that own the memory of drawn ones. If one outlives the draw, the problem's file keeps it."""
    from evaluator.worker.nested import tensors

    return [weakref.ref(tensor if tensor._base is None else tensor._base) for tensor in tensors(list(drawn))]


def apart_from(owners: "Sequence[weakref.ref[torch.Tensor]]", arguments: list[Any]) -> list[Any]:
    """The arguments, with copies instead of tensors in the memory of a living owner. Judging changes inputs in place, and would change a
    tensor that the file returns again and again."""
    from evaluator.worker.memory import storage_of
    from evaluator.worker.nested import mapped

    kept = {storage_of(owner) for each in owners if (owner := each()) is not None}
    if not kept:
        return arguments
    return [mapped(value, lambda tensor: tensor.clone() if storage_of(tensor) in kept else tensor) for value in arguments]


def _generators(device: "torch.device", default: "torch.Generator") -> Sequence["torch.Generator"]:
    import torch

    if device.type != "cuda":
        return [default]
    current = torch.cuda.current_device()  # starts CUDA, which has no generators before
    return [default, torch.cuda.default_generators[current if device.index is None else device.index]]
