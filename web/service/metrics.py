"""Metrics for Prometheus: this process's work, and the queue that all processes share."""

import time
from collections import deque
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from db.queue.requests import Requests
from evaluator.results.result import Result

LATELY, LATELY_S = 100, 300.0
"""The rate counts the last results: at most this many, and none older than this many seconds."""
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
_CALL_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 60)


class _Queue(Collector):
    """Counts the queue at each scrape. Raises StoreError."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def collect(self) -> Iterator[GaugeMetricFamily]:
        depth = GaugeMetricFamily("assay_queue_requests", "Requests that wait or are being judged, in all processes", labels=["state"])
        for state, count in self._requests.depth().items():
            depth.add_metric([state], count)
        yield depth

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("assay_queue_requests", "Requests that wait or are being judged, in all processes", labels=["state"])


class Metrics:
    """Metrics of one service process. Safe to share between threads."""

    def __init__(self, requests: Requests) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Queue(requests))
        registry = self._registry
        self._verdicts = Counter("assay_verdicts", "Results stored", ["status", "category"], registry=registry)
        self._stages = Histogram("assay_stage_seconds", "Time in each stage", ["stage"], buckets=_SECONDS, registry=registry)
        self._durations = Histogram("assay_evaluation_seconds", "Time of whole evaluations", buckets=_SECONDS, registry=registry)
        self._busy = Counter(
            "assay_device_busy_seconds", "Time in which an evaluation held a device exclusively", ["device"], registry=registry
        )
        self._sandbox = Gauge("assay_sandbox_level", "1 for the sandbox level of submissions", ["level"], registry=registry)
        self._draining = Gauge("assay_draining", "1 while the process drains: it accepts no submissions", registry=registry)
        self._accepted = Counter("assay_accepted", "Requests accepted", registry=registry)
        self._calls = Histogram("assay_call_seconds", "Time to answer calls", ["call", "status"], buckets=_CALL_SECONDS, registry=registry)

        self._lately: deque[float] = deque(maxlen=LATELY)

    def rate(self) -> float:
        """Results per second, over the last ones; 0 if there were none lately."""
        if len(self._lately) < 2 or time.monotonic() - self._lately[-1] > LATELY_S:
            return 0.0
        return (len(self._lately) - 1) / max(time.monotonic() - self._lately[0], 1e-3)

    def judged(self, result: Result) -> None:
        """Note a stored result."""
        self._lately.append(time.monotonic())
        self._verdicts.labels(result.status.value, result.category.value).inc()
        self._durations.observe(result.duration_s)
        for stage, seconds in result.evidence.stages_s.items():
            self._stages.labels(stage).observe(seconds)
        if result.device:
            self._busy.labels(result.device).inc(sum(result.evidence.held_s.values()))

    def sandbox(self, level: str) -> None:
        """Note the judges' sandbox level."""
        self._sandbox.clear()
        self._sandbox.labels(level).set(1)

    def draining(self, yes: bool) -> None:
        """Note whether the process drains."""
        self._draining.set(yes)

    def accepted(self, count: int) -> None:
        self._accepted.inc(count)

    def call(self, name: str, status: int, seconds: float) -> None:
        """Note an answered call. name: the route's name, since there are few of them."""
        self._calls.labels(name, str(status)).observe(seconds)

    def text(self) -> bytes:
        """All metrics as text. Raises StoreError."""
        return generate_latest(self._registry)
