"""Keeps the judge, with all of its threads, off the workers' cores while calls are timed on a CPU."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from evaluator.judge.device.cpu_affinity import judge_core
from evaluator.judge.timing.cpu.awake_cores import kept_awake
from evaluator.sandbox.affinity import kept_to


class JudgePlace:
    """The judge's core during one timing. On a GPU, or if workers are not pinned, the judge keeps all of its cores."""

    def __init__(self, worker_cores: Sequence[int]) -> None:
        self._threads, self._allowed = torch.get_num_threads(), tuple(os.sched_getaffinity(0))
        self._cores, self._worker_cores = judge_core(worker_cores), tuple(worker_cores)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Pin the judge to its core, and limit PyTorch's threads to it: another thread would copy inputs on a worker's core. Keep its core
        and the workers' awake."""
        awake = sorted({*self._cores, *self._worker_cores})
        with kept_to(self._cores), _threads(len(self._cores) or self._threads), kept_awake(awake):
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Within `kept`, give the judge all cores and threads back for long work, while no call is timed."""
        with kept_to(self._allowed if self._cores else ()), _threads(self._threads):
            yield


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
