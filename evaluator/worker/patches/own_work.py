"""Counts the contribution of the submission's own functions to a call: their time on the CPU, and the bytes that they write.

Nothing is left out meanwhile, so an output that is spoilt on purpose when something is missing stays unchanged.
"""

import bisect
import functools
import gc
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from evaluator.worker.nested import values_in

Report = dict[str, Any]
Contents = dict[int, tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]]
"""By address: a memory's bytes, the positions that are observed (None for all), and their values before."""

SAMPLE = 1 << 22
"""So many bytes of a larger memory are observed, at random positions: a copy of all of it may not fit."""
LEAST_ADDRESS = 1 << 32
"""Integers from here on may be addresses; programs and their memory are loaded above."""
PLAIN = (str, bytes, int, float, complex, type(None), torch.Tensor, torch.dtype, torch.device, torch.Size)
"""Values that lead to no memory except a tensor's."""


class OwnWork:
    """Counts the work of functions that it runs, from `begin` to `end`."""

    def __init__(self) -> None:
        self._running = False
        self._pattern: int | None = None
        self._enough = 0
        self._written = 0
        self._unseen = False
        """Whether functions may have written to memory that is not watched."""
        self._own_s = self._begun_s = 0.0
        self._depth = self._thread = 0
        """Whether one is running, and its thread."""

    def begin(self, pattern: int | None, enough: int) -> None:
        """Start counting: time without a `pattern`; with one, written bytes, up to `enough`. The pattern is the byte in memory without
        content."""
        self._pattern, self._enough, self._written = pattern, enough, 0
        self._own_s = 0.0
        self._unseen = False
        self._running, self._begun_s = True, time.perf_counter()

    def end(self) -> Report:
        """The work of own functions since `begin`: their seconds, all seconds, and written bytes (None if they may have written unseen)."""
        all_s = time.perf_counter() - self._begun_s
        self._running = False
        return {"own_s": self._own_s, "all_s": all_s, "written": None if self._unseen else self._written}

    def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        enter: Callable[[], None] = lambda: None,
        leave: Callable[[], None] = lambda: None,
    ) -> Any:
        """Returns what `function` returns, or raises. `enter` and `leave` run around it unless time is counted. A nested own function
        counts as part of the outer one."""
        if self._depth:
            self._unseen |= self._thread != threading.get_ident()
            return function(*args, **kwargs)
        self._depth, self._thread = 1, threading.get_ident()
        if self._running and self._pattern is None:
            begun_s = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._own_s += time.perf_counter() - begun_s
                self._depth = 0
        _settle()
        before = self._contents([args, kwargs]) if self._counts_bytes else {}
        enter()
        returned: Any = None
        try:
            returned = function(*args, **kwargs)
            return returned
        finally:
            leave()
            self._depth = 0
            _settle()
            if self._counts_bytes:
                self._written += self._changed(before, returned)

    def see_graphs(self) -> None:
        """Notice replays of CUDA graphs, in which own kernels run unseen."""
        replay = torch.cuda.CUDAGraph.replay

        @functools.wraps(replay)
        def noted(graph: torch.cuda.CUDAGraph) -> None:
            self._unseen = True
            replay(graph)

        torch.cuda.CUDAGraph.replay = noted  # type: ignore[method-assign, assignment]

    @property
    def _counts_bytes(self) -> bool:
        return self._running and self._pattern is not None and self._written < self._enough

    def _contents(self, given: Any) -> Contents:
        """The bytes of every tensor in this process, with a copy, by address. A function may know memory from an address, or from
        earlier."""
        found: Contents = {}
        readable = _readable()
        for content in (*_buffers(given), *_living()):
            if content.numel() and content.data_ptr() not in found and (content.is_cuda or _lies_in(content, readable)):
                positions = _observed(content)
                found[content.data_ptr()] = content, positions, _at(content, positions).clone()
        self._unseen |= any(_is_unseen(value, found) for value in values_in(given))
        return found

    def _changed(self, before: Contents, returned: Any) -> int:
        """Number of changed bytes, and of those written in returned memory that is new."""
        changed = sum(_differing(content, positions, values) for content, positions, values in before.values())
        fresh = {content.data_ptr(): content for content in _buffers(returned)}
        self._unseen |= any(_is_unseen(value, before) for value in values_in(returned))
        return changed + sum(
            _differing(content, _observed(content), self._pattern) for start, content in fresh.items() if start not in before
        )


def _observed(content: torch.Tensor) -> torch.Tensor | None:
    if len(content) <= SAMPLE:
        return None
    generator = torch.Generator(content.device).manual_seed(secrets.randbits(63))  # the submission's own random numbers stay as they are
    return torch.randint(len(content), (SAMPLE,), device=content.device, generator=generator)


def _at(content: torch.Tensor, positions: torch.Tensor | None) -> torch.Tensor:
    return content if positions is None else content[positions]


def _differing(content: torch.Tensor, positions: torch.Tensor | None, values: torch.Tensor | int | None) -> int:
    """Number of bytes that differ from these, by the share of those observed."""
    observed = _at(content, positions)
    differing = int(torch.count_nonzero(torch.ne(observed, values)))  # type: ignore[arg-type]
    return differing if positions is None else differing * len(content) // len(observed)


def _settle() -> None:
    """Wait for the GPU, if one is in use."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()


def _living() -> Iterator[torch.Tensor]:
    """The memory of every tensor that Python knows, as bytes."""
    for each in gc.get_objects():
        if type(each) in (torch.Tensor, torch.nn.Parameter) and (content := _bytes_of(each)) is not None:
            yield content


def _readable() -> list[tuple[int, int]]:
    """Start and end of this process's readable memory, in order. A tensor may outlive the mapping that it was made of."""
    found: list[tuple[int, int]] = []
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        addresses, permissions, *_ = line.split(maxsplit=2)
        start, end = (int(address, 16) for address in addresses.split("-"))
        if not permissions.startswith("r"):
            continue
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((start, end))
    return found


def _lies_in(content: torch.Tensor, places: list[tuple[int, int]]) -> bool:
    """Whether all of it is in one of these places, which are in order."""
    start = content.data_ptr()
    place = bisect.bisect_right(places, start, key=lambda each: each[0]) - 1
    return place >= 0 and start + content.numel() <= places[place][1]


def _buffers(value: Any) -> Iterator[torch.Tensor]:
    """The memory of all tensors, arrays and other buffers in a nested value, as bytes."""
    for leaf in values_in(value):
        if (content := _bytes_of(leaf)) is not None:
            yield content


def _bytes_of(value: Any) -> torch.Tensor | None:
    """The whole memory of a tensor's storage, or of a buffer, with shape (bytes,); None if it has none."""
    if isinstance(value, torch.Tensor):
        if value.device.type not in ("cpu", "cuda") or value.layout is not torch.strided:
            return None
        return torch.empty(0, dtype=torch.uint8, device=value.device).set_(value.detach().untyped_storage())
    if isinstance(value, str | bytes | int | float | complex | None):
        return None
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError):
        return None
    return None if view.readonly or not view.nbytes else torch.frombuffer(view, dtype=torch.uint8)


def _is_unseen(value: Any, known: Contents) -> bool:
    """Whether this may lead to memory that is not watched: an address outside the `known` tensors, or an object that is not a plain
    value."""
    if isinstance(value, int) and value >= LEAST_ADDRESS:
        return not any(start <= value < start + content.numel() for start, (content, *_) in known.items())
    return not isinstance(value, PLAIN) and _bytes_of(value) is None
