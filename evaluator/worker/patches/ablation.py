"""Takes the submission's own machine code out of a worker on the CPU: its effects are lost, and its return values are wrong.

After right outputs, the judge asks a second worker for one more, with this in place. An extension's function, or an operator that it
registers, runs in a forked child, so its writes are lost. Only the form of its return value comes back, filled with other values. Own code
that is reached in any other way (a bound class, ctypes, a thread) can't be executed, and ends the process. So an output that is right here
owes nothing to that code, whatever it exports.

With `OwnWork` nothing is taken out: functions and operators run as usual, and their contribution is counted. Own code that is reached in
any other way still ends the process, so that no work goes unseen.
"""

import builtins
import ctypes
import json
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from evaluator.worker import structure
from evaluator.worker.origin import installed_folders, is_own
from evaluator.worker.patches.caches import generated_folder
from evaluator.worker.patches.own_work import OwnWork

ENDED_EARLY = 1
"""Exit code of a worker that can't continue without the lost effects."""

Report = dict[str, Any]


class Ablation:
    """All machine code of the submission's own in one process."""

    def __init__(self, own_work: OwnWork | None = None) -> None:
        """With `own_work`, nothing is left out."""
        self.own_work = own_work
        self._installed = (*installed_folders(), generated_folder())  # torch.compile's code does not count as own
        self._known = {file for file, _, _ in _own_code(self._installed)}
        """Files that are loaded before the submission, such as the launch recorder."""
        self._sealed: list[tuple[int, int]] = []
        self._lost = False
        """Whether code has run whose effects are lost."""
        self._random = torch.Generator()
        self._random.seed()

    def seal(self) -> None:
        """Make all own code that is mapped now non-executable. Raises OSError."""
        for file, start, nbytes in _own_code(self._installed):
            if file not in self._known:
                _protect(start, nbytes, mmap.PROT_READ)
                self._sealed.append((start, nbytes))

    def around(self, load: Callable[[], ModuleType | None]) -> ModuleType | None:
        """Load an extension, and return a module like it whose functions, and registered operators, are taken out."""
        known = set(_operators())
        self.open()  # extensions of one process share parts of their bindings
        loaded = load()
        for name in set(_operators()) - known:
            self._replace_operator(*name.split("::"))
        self.seal()
        return None if loaded is None else self._replaced(loaded)

    def taken_out(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` without its effects and with other results; if its work is counted, with both. Raises what it raises."""

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            if self.own_work is not None:
                return self.own_work.run(function, args, kwargs, self.open, self.seal)
            return self._wrong(structure.decode(self._run(function, args, kwargs), self._wrong_tensor))

        stand_in.__name__, stand_in.__doc__ = getattr(function, "__name__", "function"), function.__doc__
        return stand_in

    def open(self) -> None:
        """Make own code executable again."""
        for start, nbytes in self._sealed:
            _protect(start, nbytes, mmap.PROT_READ | mmap.PROT_EXEC)
        self._sealed = []

    def _replaced(self, module: ModuleType) -> ModuleType:
        copy = ModuleType(module.__name__, module.__doc__)
        for name, value in vars(module).items():
            function = callable(value) and not isinstance(value, type) and not name.startswith("__")
            setattr(copy, name, self.taken_out(value) if function else value)
        sys.modules[module.__name__] = copy
        return copy

    def _replace_operator(self, namespace: str, name: str) -> None:
        operators, name = getattr(torch.ops, namespace), name.split(".")[0]
        if hasattr(operators, name) and not isinstance(getattr(operators, name), _Operator):
            setattr(operators, name, _Operator(getattr(operators, name), self))

    def _run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The form of the return value of `function`."""
        report = self._in_child(function, args, kwargs)
        if report is None or (self._lost and "raised" in report):
            # This worked while nothing was lost. The submission could catch an exception here, as a reason to do without the code.
            os._exit(ENDED_EARLY)
        if "raised" in report:
            raised = getattr(builtins, report["raised"], None)
            kind = raised if isinstance(raised, type) and issubclass(raised, Exception) else RuntimeError
            raise kind(report["message"])
        self._lost = True
        return report["returned"]

    def _in_child(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report | None:
        """Run it in a fork of this process; None if that fails."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.open()
                with open(writing, "w") as pipe:  # noqa: PTH123  (a descriptor has no path)
                    json.dump(_report(function, args, kwargs), pipe)
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as pipe:  # noqa: PTH123
            text = pipe.read()
        os.waitpid(child, 0)
        return json.loads(text) if text else None

    def _wrong(self, value: Any) -> Any:
        """Other values in the same containers; tensors are wrong already, and text and None say nothing."""
        if isinstance(value, dict):
            return {key: self._wrong(item) for key, item in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(self._wrong(item) for item in value)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return ~value
        if isinstance(value, float):
            return float(self._wrong_tensor({"shape": [], "dtype": "float64", "first": 0}))
        if isinstance(value, structure.Other):
            os._exit(ENDED_EARLY)  # an object of its own, which nothing can replace
        return value

    def _wrong_tensor(self, form: Any) -> torch.Tensor:
        """Random values, finite so that multiplying by zero removes them. For integers, the first one changes."""
        shape, dtype = form["shape"], structure.named_dtype(form["dtype"])
        if dtype.is_floating_point or dtype.is_complex:
            wide = torch.complex128 if dtype.is_complex else torch.float64
            return (100 * torch.randn(shape, dtype=wide, generator=self._random)).to(dtype)
        largest = 1 if dtype == torch.bool else torch.iinfo(dtype).max
        tensor = torch.randint(0, min(largest, 1 << 30) + 1, shape, generator=self._random).to(dtype)
        if tensor.numel():
            tensor.view(-1)[0] = form["first"] ^ 1
        return tensor


class _Operator:
    """Replaces an operator of the submission's in `torch.ops`."""

    def __init__(self, packet: Any, ablation: Ablation) -> None:
        self._packet, self._ablation = packet, ablation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ablation.taken_out(self._packet)(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        value = getattr(self._packet, overload)
        return self._ablation.taken_out(value) if callable(value) else value


def _report(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
    try:
        return {"returned": structure.encode(function(*args, **kwargs), _form)}
    except Exception as error:  # noqa: BLE001  (any exception of the submission's code is raised once more)
        return {"raised": type(error).__name__, "message": str(error)}


def _form(tensor: torch.Tensor) -> Report:
    exact = not tensor.is_floating_point() and not tensor.is_complex() and tensor.numel() > 0
    first = int(tensor[(0,) * tensor.dim()]) if exact else 0
    return {"shape": list(tensor.shape), "dtype": structure.dtype_name(tensor.dtype), "first": first}


def _operators() -> list[str]:
    return torch._C._dispatch_get_all_op_names()


def _own_code(installed: tuple[str, ...]) -> Iterator[tuple[tuple[str, str], int, int]]:
    """File (its device and inode), start and length in bytes of each executable mapping of a file that is not installed."""
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        addresses, permissions, _, device, inode, *path = line.split(maxsplit=5)
        if "x" in permissions and path and is_own(path[0], installed):
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield (device, inode), start, end - start


def _protect(start: int, nbytes: int, protection: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(nbytes), protection) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
