"""The cluster: how it is joined, which machines it has, and which of them are wanted."""

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
from evaluator.engine.ray.node import Node, Software, look_around
from evaluator.machine.devices import Device, DeviceError

NODES_ANSWER_WITHIN_S = 120.0
CONNECTS_WITHIN_S = 10.0
log = logging.getLogger(__name__)


class ClusterError(EngineError):
    """The cluster can't do what was asked for; the message says what to do."""


def join(address: str | None) -> None:
    """Connect this process to the cluster at `address` (HOST:PORT, or `auto`). None is the one that RAY_ADDRESS names or that runs on this
    machine, else one that is started on this machine, and ends with this process. Raises ClusterError."""
    if address is not None and "://" in address:
        raise ClusterError(f"--ray-address {address}: HOST:PORT, or auto; run pipeline.py on a machine of the cluster, not as its client")
    place = address or os.environ.get("RAY_ADDRESS")
    if place not in (None, "auto", "local"):
        _require_listener(place)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What raylets and workers say would be printed to the standard output, where JSON may have to go. It is in Ray's log folder.
    ray._private.worker._worker_logs_enabled = False
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING, include_dashboard=None if address else False)
    except (RayError, ConnectionError, ValueError, RuntimeError) as error:
        raise ClusterError(f"there is no Ray cluster to be had at {place or 'this machine'}: {error}") from error


def _require_listener(address: str) -> None:
    """Ray would go on trying for many minutes. Raises ClusterError."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECTS_WITHIN_S).close()
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no Ray cluster to be had at {address}: {error}") from error


def leave() -> None:
    """Disconnect; what this process has started in the cluster ends."""
    ray.shutdown()


@dataclass(frozen=True)
class Choice:
    """What of a cluster is judged on: all devices of one name."""

    device: Device
    """What stands for all of them."""
    nodes: tuple[Node, ...]
    """That have such a device."""
    others: tuple[Node, ...]
    """That have none."""
    stands_in: bool
    """Processors stand in for GPUs that are not there."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every one of them."""
        if self.device.kind == "cpu":
            return tuple(node.processor for node in self.nodes)
        return tuple(gpu for node in self.nodes for gpu in _given(node) if gpu.name == self.device.name)

    @property
    def software(self) -> Software:
        """Of all of these machines."""
        return self.nodes[0].software

    @property
    def machines(self) -> int:
        """How many there are that builds can be made on."""
        return len(self.nodes) + sum(node.cpus > 0 and node.software == self.software for node in self.others)


def draining() -> frozenset[str]:
    """Identifiers of nodes that somebody has had Ray drain: they are given nothing new, and end when nothing is left on them.
    Raises RayError."""
    # No public call tells it; Ray's own libraries ask so too. A Ray that does not tell drains as it loses machines.
    return frozenset(getattr(ray._private.state.state, "get_draining_nodes", dict)())


def nodes() -> list[Node]:
    """All machines that answer, but for those that are drained. Raises ClusterError where one can't run this program at all."""
    listed: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    leaving = draining()
    alive = [each for each in listed if each["Alive"] and each["NodeID"] not in leaving]
    for each in listed:
        if each["NodeID"] in leaving:
            log.warning("%s is being drained, and not judged on", _named(each))
    # One call for each process: CUDA, once asked, goes on showing what was visible then, and a host may come to be in the same process.
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
            log.warning("%s has left the cluster", _named(each))  # no call that needs nothing has another reason to be refused there
        except RayError as error:
            reason = str(error).strip().splitlines()[-1][:500]
            raise ClusterError(f"{_named(each)} can't run this program (is it installed there, in Ray's Python?): {reason}") from error
    return found


def choose(found: Sequence[Node], device: str, kind: str | None) -> Choice:
    """What is meant by `--device` (auto, cuda or cpu) and `--device-kind` (part of a device's name, in any case).

    Raises ClusterError, and DeviceError for a device that no cluster has.
    """
    if device not in ("auto", "cuda", "cpu"):
        raise DeviceError(f"--engine ray knows no device {device!r}: auto, cuda or cpu; --device-kind NAME chooses among GPUs")
    gpus = [(gpu, node) for node in found for gpu in _given(node)]
    on_gpu = device == "cuda" or (device == "auto" and bool(gpus))
    offered = gpus if on_gpu else [(node.processor, node) for node in found if node.cpus]
    if not offered:
        if not on_gpu:
            raise ClusterError("no machine of the cluster has a processor for Ray to give")
        raise ClusterError(f"the cluster has no GPU: it has {_listed(node.processor for node in found)}; use --device cpu or auto")
    wanted = [(each, node) for each, node in offered if kind is None or kind.casefold() in each.name.casefold()]
    if not wanted:
        raise ClusterError(f"the cluster has no device with {kind!r} in its name; it has {_listed(each for each, _ in offered)}")
    if len({each.name for each, _ in wanted}) > 1:
        raise ClusterError(
            f"verdicts of one run are verdicts on one model, and the cluster has {_listed(each for each, _ in wanted)}: "
            "choose one by --device-kind NAME"
        )
    chosen = tuple({node.id: node for _, node in wanted}.values())
    _require_alike(chosen)
    others = tuple(node for node in found if node not in chosen)
    return Choice(wanted[0][0], chosen, others, stands_in=device == "auto" and not on_gpu)


def _require_alike(chosen: Sequence[Node]) -> None:
    own = Software.here()
    for node in chosen:
        if reason := node.software.differs_from(own, same_build=False):
            raise ClusterError(f"{node.label} would judge otherwise than this machine: {reason}. Install the same on both")
    if len({node.software.torch for node in chosen}) > 1:
        listed = "; ".join(f"{node.label}: {node.software.torch}" for node in chosen)
        raise ClusterError(f"the machines would judge by different builds of PyTorch: {listed}")


def _given(node: Node) -> tuple[Device, ...]:
    """GPUs that Ray may give of this machine; which of several it has is known only when it gives them."""
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
