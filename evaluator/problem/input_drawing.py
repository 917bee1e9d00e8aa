"""Drawing inputs and parameters: fresh seeds, and draws from a seed, which leave every random generator of the process as it was.

`ProblemCase.inputs` (evaluator.problem.problem) draws by these what `get_inputs()` of the problem's file returns.
"""

import random
import secrets
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# The generators of torch, numpy and random are the process's: two draws at a time would mix their seeds.
_GENERATORS = RLock()


def fresh_seed() -> int:
    """Entropy of the operating system; 48 bits, so that it is a JSON integer everywhere."""
    return secrets.randbits(48)


@contextmanager
def seeded(seed: int, device: "torch.device | str") -> Iterator[None]:
    """Draw from `seed`, on `device` by default, and put every generator that was touched back."""
    import numpy
    import torch

    target = torch.device(device)
    with _GENERATORS:
        generators = _generators(target, torch.default_generator)
        torch_states = [generator.get_state() for generator in generators]
        python_state, numpy_state = random.getstate(), numpy.random.get_state()
        try:
            for generator in generators:
                generator.manual_seed(seed)
            random.seed(seed)
            numpy.random.seed(seed % (1 << 32))
            with target:
                yield
        finally:
            for generator, state in zip(generators, torch_states, strict=True):
                generator.set_state(state)
            random.setstate(python_state)
            numpy.random.set_state(numpy_state)


@contextmanager
def without_reseeding() -> Iterator[None]:
    """Let the process's generators go on from where they are, whatever seed a file sets: its inputs have to differ between draws."""
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
    """The tensors whose memory the tensors of a draw lie in, held weakly: one that outlives the draw is kept by the problem's file."""
    from evaluator.worker.procedure import tensors

    return [weakref.ref(tensor if tensor._base is None else tensor._base) for tensor in tensors(list(drawn))]


def apart_from(owners: "Sequence[weakref.ref[torch.Tensor]]", arguments: list[Any]) -> list[Any]:
    """The arguments with copies in the place of tensors that lie in the memory of an owner that still lives: judging changes draws where
    they are, and a tensor that the file returns again and again would change with each of them."""
    from evaluator.worker.memory import storage_of
    from evaluator.worker.procedure import mapped

    kept = {storage_of(owner) for each in owners if (owner := each()) is not None}
    if not kept:
        return arguments
    return [mapped(value, lambda tensor: tensor.clone() if storage_of(tensor) in kept else tensor) for value in arguments]


def _generators(device: "torch.device", default: "torch.Generator") -> Sequence["torch.Generator"]:
    import torch

    if device.type != "cuda":
        return [default]
    current = torch.cuda.current_device()  # starts CUDA, without which there are no generators
    return [default, torch.cuda.default_generators[current if device.index is None else device.index]]
