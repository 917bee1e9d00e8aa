"""The Ray engine: Ray places hosts on the cluster's devices, and they judge the jobs that this process takes from the run.

Each judge has a thread here: it takes a job, gives it to its host, and receives stages until the result comes. So no more jobs are in
flight than judges can judge, plus results that wait to be stored.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import ray

from evaluator.engine.capacity import CORES_PER_GPU
from evaluator.engine.engine import Progress
from evaluator.engine.run import IN_FLIGHT_PER_JUDGE, Arrival, Run
from evaluator.job import Job
from evaluator.ray.builds import Artefacts, Terms
from evaluator.ray.cluster import Choice, ClusterError, draining, leave
from evaluator.ray.host import Host, HostOptions, Refusal
from evaluator.ray.host_client import HostClient, HostLostError, HostStartError, LiveHost, kill
from evaluator.ray.job_queue import JobQueue, Loss
from evaluator.results.result import Result, now

if TYPE_CHECKING:
    from ray.actor import ActorHandle

TELL_AFTER_S = 30.0
"""When to report that nothing judges yet, and Ray may be waiting for a machine."""
LOOK_EVERY_S = 1.0
"""Interval between looks for drained machines."""
ENDS_WITHIN_S = 30.0
"""Maximum time that closing waits for the engine's threads."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shares:
    """What Ray reserves of a machine for each host; the rest is for builds."""

    cpus: float
    gpus: int
    memory_bytes: int
    most_on_a_machine: int
    """Maximum number of hosts on one machine."""

    @staticmethod
    def of(choice: Choice) -> "Shares":
        """Each host's share: half of the smallest machine, divided among its GPUs, with no more CPUs than a GPU's judge needs.

        Without GPUs it is more than half of the memory, so that Ray has no room for a second host on the same machine.
        """
        if choice.device.kind == "cpu":
            cpus, memory = (min(node.cpus for node in choice.nodes) / 2, min(node.memory_bytes for node in choice.nodes) * 3 // 5)
            return Shares(_quantity(cpus), 0, memory, 1)
        cpus = min(CORES_PER_GPU, *(node.cpus / (2 * node.gpu_count) for node in choice.nodes))
        memory = min(node.memory_bytes // (2 * node.gpu_count) for node in choice.nodes)
        return Shares(_quantity(cpus), 1, memory, max(node.gpu_count for node in choice.nodes))


def _quantity(cpus: float) -> float:
    """In Ray's form: a whole number if at least one."""
    return float(int(cpus)) if cpus >= 1 else round(cpus, 2)


class RayEngine:
    """Judges jobs on the cluster that this process has joined. A context manager; leaving it ends the hosts and leaves the cluster.

    Hosts are kept from one run to the next; lost ones are replaced when Ray has room.
    """

    def __init__(self, choice: Choice, options: HostOptions) -> None:
        """`options` agrees with the choice of device and software."""
        self._choice, self._options = choice, options
        self._shares = Shares.of(choice)
        self._clients = [HostClient(number, self._request_host, self._refused) for number in range(len(choice.devices))]
        self._artefacts: ActorHandle[Any] | None = None
        self._unfit: dict[str, str] = {node.id: "it has no such device" for node in choice.others}
        """Nodes that must have no host, with the reason."""
        self._lock = threading.Lock()
        self._closed = False
        self._queues: list[JobQueue] = []
        self._ended = threading.Event()
        self._watching: threading.Thread | None = None
        self._serving: list[threading.Thread] = []
        """One for each run; it ends after all other threads of its run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def hosts(self) -> list[LiveHost]:
        """The hosts that can judge now."""
        return [client.host for client in self._clients if client.host is not None]

    @property
    def sandbox_level(self) -> str:
        """The sandbox levels of the hosts that can judge now."""
        return ", ".join(sorted({host.facts.level for host in self.hosts}))

    @property
    def in_flight(self) -> list[Job]:
        """Jobs that were taken and whose result has not been fetched; after an interrupted run, those without a result."""
        with self._lock:
            return [job for queue in self._queues for job in queue.run.in_flight()]

    def settled(self, job: Job) -> Result | None:
        """See `Engine`."""
        with self._lock:
            return next((found for queue in self._queues if (found := queue.run.settled(job)) is not None), None)

    def start(self) -> None:
        """Request all hosts; returns when the first can judge. Raises ClusterError if none can be started, or the engine is closed."""
        self._watch_drains()
        asked, told = time.monotonic(), False
        while not self.hosts:
            if self._closed:
                raise ClusterError("the engine has been closed")
            for client in self._clients:
                self._poll(client)
            if all(client.error for client in self._clients):
                raise ClusterError(f"no host could be started: {self._clients[0].error}")
            if all(node.id in self._unfit for node in self._choice.nodes):
                reasons = "; ".join(f"{node.label}: {self._unfit[node.id]}" for node in self._choice.nodes)
                raise ClusterError(f"no machine of the cluster can judge: {reasons}")
            if not told and time.monotonic() - asked > TELL_AFTER_S:
                told = True
                log.warning("no host can judge yet: Ray may be waiting for a machine with %s to be free", self._choice.device.name)

    def close(self) -> None:
        """End the hosts, and leave the cluster."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._ended.set()
        for client in self._clients:
            client.close()
        if self._artefacts is not None:
            kill(self._artefacts)
        for queue in self._queues:
            queue.wake()
        # Ray ends the process if a thread still waits in it while the process leaves the cluster.
        deadline = time.monotonic() + ENDS_WITHIN_S
        for thread in (self._watching, *self._serving):
            if thread is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        leave()

    def _watch_drains(self) -> None:
        with self._lock:
            if self._watching is None and not self._closed:
                self._watching = threading.Thread(target=self._retire_drained, name="drains", daemon=True)
                self._watching.start()

    def _retire_drained(self) -> None:
        """Hosts on drained machines take no more jobs. Ray gives these machines nothing new, but their hosts would continue."""
        while not self._ended.wait(LOOK_EVERY_S):
            try:
                leaving = draining()
                for host in self.hosts:
                    if host.facts.node in leaving:
                        log.warning("%s is being drained: it takes no more jobs", host.facts.label)
                        host.retire()
                        for queue in self._queues:
                            queue.leave(host)
                if leaving and self._artefacts is not None:
                    self._artefacts.leave.remote(leaving)
            except Exception as error:  # Ray may raise anything while it loses machines; ask again later
                log.debug("Ray did not say which machines are drained: %s", error, exc_info=True)

    def _poll(self, client: HostClient) -> None:
        with contextlib.suppress(HostStartError):  # it is stored, and reported when no host is left
            client.poll(0.5 / len(self._clients))

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """See `Engine`."""
        if self._closed:
            return
        self._watch_drains()
        judges = max((host.facts.judges for host in self.hosts), default=1)
        queue = JobQueue(Run(jobs, IN_FLIGHT_PER_JUDGE * judges * len(self._clients)), self._choice.device.spec)
        with self._lock:
            self._queues = [*(each for each in self._queues if not each.run.over), queue]
        threads = [
            threading.Thread(target=self._serve, args=(client, queue, progress), name=f"host-{client.number}", daemon=True)
            for client in self._clients
        ]
        try:
            for thread in threads:
                thread.start()
            last = threading.Thread(target=self._see_to_the_end, args=(threads, queue), name="hosts", daemon=True)
            with self._lock:
                self._serving = [*(each for each in self._serving if each.is_alive()), last]
                last.start()
            yield from queue.run.arrivals(1)
        finally:
            queue.end()

    def _see_to_the_end(self, threads: list[threading.Thread], queue: JobQueue) -> None:
        for thread in threads:
            thread.join()
        if not queue.over and not self._closed:
            queue.run.fail(ClusterError(f"no host is left to judge the remaining submissions: {self._clients[0].error}"))
        queue.run.fail(None)

    def _serve(self, client: HostClient, queue: JobQueue, progress: Progress) -> None:
        """Have the hosts of one client judge, one after another if they are lost."""
        try:
            while (host := client.await_host(lambda: self._closed or queue.over)) is not None:
                queue.join(host)
                threads = [
                    threading.Thread(target=self._judge, args=(host, queue, progress), name=f"host-{client.number}-{number}", daemon=True)
                    for number in range(host.facts.judges)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                queue.leave(host)
                if not host.closed:
                    return
        except HostStartError as error:
            log.warning("a host was lost and can't be replaced: %s", error)
        # The caller must see any error of this thread: it would wait forever for a missing result.
        except BaseException as error:  # noqa: BLE001
            if not self._closed:
                queue.run.fail(error)

    def _judge(self, host: LiveHost, queue: JobQueue, progress: Progress) -> None:
        """Judge with one judge of a host until nothing is left, or the host is closed."""
        try:
            while not self._closed and (queued := queue.take(host)) is not None:
                try:
                    with host.room(queued.alone):
                        if host.closed:
                            queue.put_back(queued)
                            return
                        result = host.judge(queued.job, progress, partial(queue.run.settle, queued.number))
                except HostLostError as error:
                    if self._closed:
                        return
                    log.warning("%s: %s was lost: %s", queued.job.submission, host.name, error)
                    queue.leave(host)
                    if error.blames:
                        queue.lost(queued, Loss(host.name, now(), str(error)))
                    else:
                        queue.put_back(queued)
                    return
                queue.judged(queued, host, result)
        # As above.
        except BaseException as error:  # noqa: BLE001
            if not self._closed:
                queue.run.fail(error)

    def _request_host(self) -> "ActorHandle[Any]":
        shares = self._shares
        host = ray.remote(Host).options(
            num_cpus=shares.cpus,
            num_gpus=shares.gpus,
            memory=shares.memory_bytes,
            # Don't choose among the known nodes: others may join, and check themselves.
            label_selector={"ray.io/node-id": f"!in({','.join(self._unfit)})"} if self._unfit else None,
            scheduling_strategy="DEFAULT" if shares.gpus else "SPREAD",
            max_restarts=0,
        )
        handle: ActorHandle[Any] = host.remote(self._options, shares.most_on_a_machine, self._shared_builds())  # type: ignore[assignment]
        return handle

    def _refused(self, refusal: Refusal) -> None:
        log.warning("%s can't judge: %s", refusal.label, refusal.reason)
        self._unfit[refusal.node] = refusal.reason

    def _shared_builds(self) -> "ActorHandle[Any] | None":
        """The directory of builds; a single machine uses its cache folder."""
        if self._choice.machines < 2:
            return None
        with self._lock:
            if self._artefacts is None:
                terms = Terms(self._choice.device.capability, self._options.level)
                unfit = [node.id for node in self._choice.others if node.software != self._choice.software]
                directory: Any = ray.remote(Artefacts).options(num_cpus=0, max_restarts=-1)
                self._artefacts = directory.remote(unfit, terms)
            return self._artefacts
