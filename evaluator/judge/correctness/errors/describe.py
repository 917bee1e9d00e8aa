"""Describes an output's wrong elements: their positions and their values. It is shown beside a verdict and decides nothing."""

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from evaluator.judge.correctness.errors.error_map import ErrorMapper
from evaluator.judge.correctness.errors.pattern import ErrorPattern
from evaluator.judge.correctness.errors.similarity import Similarity
from evaluator.results.evidence import ErrorMap

log = logging.getLogger(__name__)

T = TypeVar("T")


class ErrorDescription:
    """Collects wrong elements, chunk by chunk in row-major order. A part that fails, for example without memory, stays empty."""

    def __init__(self, shape: torch.Size, dtype: torch.dtype) -> None:
        self._pattern, self._map, self._similarity = ErrorPattern(shape), ErrorMapper(shape), Similarity(dtype, shape.numel())
        self._failed: set[str] = set()

    def add(
        self, start: int, candidate: torch.Tensor, oracle: torch.Tensor, error: torch.Tensor, wrong: torch.Tensor, tolerance: float
    ) -> None:
        """The elements from position `start` on, all of shape (n,): values in float64 or int64, `error` in float64, `wrong` bool."""
        self._part("pattern", lambda: self._pattern.add(start, wrong), None)
        self._part("error map", lambda: self._map.add(start, _ratio(error, wrong, tolerance)), None)
        self._part("likeness", lambda: self._similarity.add(candidate, oracle, wrong), None)

    def pattern(self) -> str:
        return self._part("pattern", self._pattern.describe, "")

    def error_map(self) -> ErrorMap | None:
        return self._part("error map", self._map.record, None)

    def likeness(self, factor: float | None = None) -> str:
        """The likeness in words. `factor`: the constant by which the whole output differs from the right one, if there is one."""
        return self._part("likeness", lambda: self._similarity.describe(factor), "")

    def _part(self, name: str, work: Callable[[], T], empty: T) -> T:
        if name in self._failed:
            return empty
        try:
            return work()
        except Exception:  # the verdict stands without a description
            log.exception("the %s of a wrong output is left empty", name)
            self._failed.add(name)
            return empty


def _ratio(error: torch.Tensor, wrong: torch.Tensor, tolerance: float) -> torch.Tensor:
    return error / tolerance if tolerance else torch.where(wrong, error + 1, 0.0)
