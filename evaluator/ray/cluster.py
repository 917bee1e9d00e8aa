"""Joins the cluster, lists its machines, and chooses among them."""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, TaskUnschedulableError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from evaluator.engine.engine import EngineError
from evaluator.machine.devices import Device, DeviceError
from evaluator.ray.node import Node, Software, look_around

NODES_ANSWER_WITHIN_S = 120.0
CONNECTS_WITHIN_S = 10.0
log = logging.getLogger(__name__)


class ClusterError(EngineError):
    """The cluster can't do what was asked for; the message says how to fix it."""


def join(address: str | None) -> None:
    """Connect this process to the cluster at `address` (HOST:PORT, or `auto`). None means that of RAY_ADDRESS, else one that runs on this
    machine, else a new one on this machine, which ends with this process. Raises ClusterError."""
    if address is not None and "://" in address:
        raise ClusterError(f"--ray-address {address}: HOST:PORT, or auto; run pipeline.py on a machine of the cluster, not as its client")
    place = address or os.environ.get("RAY_ADDRESS")
    if place not in (None, "auto", "local"):
        _require_listener(place)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray would print the output of raylets and workers to standard output, which may carry JSON. It is in Ray's log folder.
    ray._private.worker._worker_logs_enabled = False
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING, include_dashboard=None if address else False)
    except (RayError, ConnectionError, ValueError, RuntimeError) as error:
        raise ClusterError(f"no Ray cluster at {place or 'this machine'}: {error}") from error


def _require_listener(address: str) -> None:
    """Fail at once: Ray would retry for many minutes. Raises ClusterError."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECTS_WITHIN_S).close()
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Ray cluster at {address}: {error}") from error


def leave() -> None:
    """Disconnect; everything that this process started in the cluster ends."""
    ray.shutdown()


@dataclass(frozen=True)
class Choice:
    """The part of a cluster to judge on: all devices of one name."""

    device: Device
    """One device, as an example of all."""
    nodes: tuple[Node, ...]
    """Nodes that have such a device."""
    others: tuple[Node, ...]
    """Nodes that have none."""
    stands_in: bool
    """Whether CPUs stand in for missing GPUs."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """All chosen devices."""
        if self.device.kind == "cpu":
            return tuple(node.processor for node in self.nodes)
        return tuple(gpu for node in self.nodes for gpu in _given(node) if gpu.name == self.device.name)

    @property
    def software(self) -> Software:
        """The software of all these machines."""
        return self.nodes[0].software

    @property
    def machines(self) -> int:
        """Number of machines that can build."""
        return len(self.nodes) + sum(node.cpus > 0 and node.software == self.software for node in self.others)


def draining() -> frozenset[str]:
    """Identifiers of nodes that are being drained: they get no new jobs, and end when nothing is left on them. Raises RayError."""
    # No public call tells it; Ray's own libraries ask so too. If Ray does not tell, draining a machine counts as losing it.
    return frozenset(getattr(ray._private.state.state, "get_draining_nodes", dict)())


def nodes() -> list[Node]:
    """All machines that respond, except drained ones. Raises ClusterError if one can't run this program at all."""
    listed: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    leaving = draining()
    alive = [each for each in listed if each["Alive"] and each["NodeID"] not in leaving]
    for each in listed:
        if each["NodeID"] in leaving:
            log.warning("%s is being drained, so it gets no jobs", _named(each))
    # One call per process: CUDA keeps showing what was visible at first, and a host may later be in the same process.
    look: Any = ray.remote(max_calls=1)(look_around)
    asked = [
        look.options(num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(each["NodeID"], soft=False)).remote(
            each["NodeID"], each["NodeManagerAddress"]
        )
        for each in alive
    ]
    found = []
    for each, ref in zip(alive, asked, strict=True):
        try:
            found.append(_with_resources(ray.get(ref, timeout=NODES_ANSWER_WITHIN_S), each["Resources"]))
        except GetTimeoutError as error:
            raise ClusterError(f"{_named(each)} has not answered in {NODES_ANSWER_WITHIN_S:g} s") from error
        except TaskUnschedulableError:
            log.warning("%s has left the cluster", _named(each))  # a call without requirements is refused for no other reason
        except RayError as error:
            reason = str(error).strip().splitlines()[-1][:500]
            raise ClusterError(f"{_named(each)} can't run this program (is it installed there, in Ray's Python?): {reason}") from error
    return found


def choose(found: Sequence[Node], device: str, kind: str | None) -> Choice:
    """The devices for `--device` (auto, cuda or cpu) and `--device-kind` (part of a device's name, in any case).

    Raises ClusterError, and DeviceError for a device that no cluster has.
    """
    if device not in ("auto", "cuda", "cpu"):
        raise DeviceError(f"--engine ray has no device {device!r}; use auto, cuda or cpu; --device-kind NAME chooses among GPUs")
    gpus = [(gpu, node) for node in found for gpu in _given(node)]
    on_gpu = device == "cuda" or (device == "auto" and bool(gpus))
    offered = gpus if on_gpu else [(node.processor, node) for node in found if node.cpus]
    if not offered:
        if not on_gpu:
            raise ClusterError("no machine of the Ray cluster offers a CPU")
        raise ClusterError(f"the cluster has no GPU: it has {_listed(node.processor for node in found)}; use --device cpu or auto")
    wanted = [(each, node) for each, node in offered if kind is None or kind.casefold() in each.name.casefold()]
    if not wanted:
        raise ClusterError(f"the cluster has no device with {kind!r} in its name; it has {_listed(each for each, _ in offered)}")
    if len({each.name for each, _ in wanted}) > 1:
        raise ClusterError(
            f"a run needs devices of one model, and the cluster has {_listed(each for each, _ in wanted)}: "
            "choose one with --device-kind NAME"
        )
    chosen = tuple({node.id: node for _, node in wanted}.values())
    _require_alike(chosen)
    others = tuple(node for node in found if node not in chosen)
    return Choice(wanted[0][0], chosen, others, stands_in=device == "auto" and not on_gpu)


def _require_alike(chosen: Sequence[Node]) -> None:
    own = Software.here()
    for node in chosen:
        if reason := node.software.differs_from(own, same_build=False):
            raise ClusterError(f"{node.label} has different software from this machine: {reason}. Install the same on both")
    if len({node.software.torch for node in chosen}) > 1:
        listed = "; ".join(f"{node.label}: {node.software.torch}" for node in chosen)
        raise ClusterError(f"the machines have different builds of PyTorch: {listed}")


def _given(node: Node) -> tuple[Device, ...]:
    """GPUs of this machine that Ray may give. Which of several it gives is known only then."""
    return node.gpus[: node.gpu_count]


def _listed(found: Iterable[Device]) -> str:
    counts = Counter(each.name for each in found)
    return ", ".join(f"{count} × {name}" for name, count in sorted(counts.items())) or "nothing"


def _with_resources(node: Node, resources: dict[str, Any]) -> Node:
    return replace(
        node,
        cpus=float(resources.get("CPU", 0.0)),
        gpu_count=int(resources.get("GPU", 0.0)),
        memory_bytes=int(resources.get("memory", 0.0)),
    )


def _named(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']}, node {node['NodeID'][:12]})"
