"""Inputs that a file of workloads gives as tensors, in files of the form safetensors."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.results.nearest import nearest

if TYPE_CHECKING:
    import torch

DATASET_FOLDER = "workloads"
"""In flashinfer-trace, paths are relative to the dataset's root, which holds this folder."""


class StoredInputError(Exception):
    """A stored input can't be used; the message says why and how to fix it."""


@dataclass(frozen=True)
class StoredInput:
    """One tensor in a file."""

    name: str
    """Name of forward()'s argument."""
    path: Path
    key: str

    def read(self) -> "StoredTensor":
        """Read it, on the CPU. Raises StoredInputError."""
        try:
            from safetensors import SafetensorError, safe_open
        except ImportError as error:
            raise StoredInputError(
                f"reading {self.path.name} needs the package safetensors; install Assay's extra [safetensors]"
            ) from error
        try:
            with safe_open(self.path, framework="pt") as file:
                keys = list(file.keys())
                if self.key not in keys:
                    raise StoredInputError(f"{self.path.name} has no tensor {self.key!r}; it has {', '.join(sorted(keys)) or 'none'}")
                return StoredTensor(self.name, self.path.name, file.get_tensor(self.key))
        except (OSError, SafetensorError) as error:
            rule = f"{self.path.name} can't be read: {error}; it must be a safetensors file (is it a pointer? then run `git lfs pull`)"
            raise StoredInputError(rule) from error


@dataclass(frozen=True)
class StoredTensor:
    """A stored input that was read."""

    name: str
    file_name: str
    tensor: "torch.Tensor"


def found_beside(file: Path, given: str) -> Path:
    """The path that a file of workloads names: relative to the file's folder, or to the folder that holds `workloads/` with the file.

    Raises StoredInputError if there is no such file, or if the path leaves the folder.
    """
    folder = file.absolute().parent
    roots = [folder, *(each.parent for each in (folder, *folder.parents) if each.name == DATASET_FOLDER)][:2]
    if Path(given).is_absolute() or ".." in Path(given).parts:
        raise StoredInputError(f"the path {given!r} leaves the folder; put the file below {roots[-1]}, and give a relative path")
    try:
        path = next((path for root in roots if (path := root / given).is_file()), None)
    except OSError as error:
        raise StoredInputError(f"the path {given[:80]!r} can't be looked up: {error.strerror}") from error
    if path is None:
        raise StoredInputError(f"there is no file {given!r} below {' or '.join(map(str, roots))}; put it there")
    return path


def positions_of(names: Sequence[str], model: type) -> dict[str, int]:
    """Positions of forward()'s arguments with these names. Raises StoredInputError."""
    parameters = list(inspect.signature(model.forward).parameters)[1:]  # type: ignore[attr-defined]
    unknown = [name for name in names if name not in parameters]
    if unknown:
        near = nearest(unknown[0], parameters, 1) or parameters
        raise StoredInputError(f"forward() has no argument {unknown[0]!r}; name the argument so, or the input {' or '.join(near)}")
    return {name: parameters.index(name) for name in names}


def with_stored(drawn: Sequence[Any], stored: Mapping[int, StoredTensor], cast: "torch.dtype | None") -> list[Any]:
    """The arguments of a draw, with the stored tensors at their positions. `cast`: the type that floating-point inputs are cast to.

    Raises StoredInputError if one has another shape or type than the drawn one, which it replaces.
    """
    import torch

    arguments = list(drawn)
    for position, given in stored.items():
        tensor, replaced = given.tensor, arguments[position] if position < len(arguments) else None
        if not isinstance(replaced, torch.Tensor):
            raise StoredInputError(
                f"get_inputs() makes no tensor for {given.name!r}, which {given.file_name} gives; make one of the same form"
            )
        is_cast = cast is not None and all(each.is_floating_point() and each.itemsize > 1 for each in (tensor, replaced))
        if tensor.shape != replaced.shape or (tensor.dtype != replaced.dtype and not is_cast):
            rule = f"{given.name!r} is {_form(tensor)} in {given.file_name}, but get_inputs() makes {_form(replaced)}; change one of them"
            raise StoredInputError(rule)
        arguments[position] = tensor
    return arguments


def same_form(varied: Sequence[Any], arguments: Sequence[Any], function: str) -> Sequence[Any]:
    """The arguments that this function returned for others. Raises StoredInputError if a tensor has another shape or type."""
    from evaluator.worker.nested import tensors

    forms = [[_form(tensor) for tensor in tensors(list(each))] for each in (varied, arguments)]
    if forms[0] != forms[1]:
        wrong = next((f"{one} instead of {other}" for one, other in zip(*forms, strict=False) if one != other), "another number of tensors")
        raise StoredInputError(f"{function}() returned {wrong}; it may change only values")
    return varied


def are_all_stored(arguments: Sequence[Any], stored: Collection[int]) -> bool:
    """Whether every tensor of these arguments is stored, so that all draws are the same."""
    from evaluator.worker.nested import tensors

    return bool(stored) and not any(True for _ in tensors([each for position, each in enumerate(arguments) if position not in stored]))


def _form(tensor: "torch.Tensor") -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
