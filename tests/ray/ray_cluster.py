"""A cluster of several nodes on this machine, each with its own temporary folder (which holds locks) and cache."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

from evaluator.ray import cluster
from evaluator.ray.cluster import Choice
from evaluator.ray.engine import RayEngine
from evaluator.ray.host import HostOptions

OBJECT_STORE_BYTES = 80 << 20
CPUS = 2


class SmallCluster:
    """A head that runs nothing, and nodes that judge on their CPUs. A context manager."""

    def __init__(self, root: Path, prepare: Callable[[Path], object]) -> None:
        """`prepare` is given the path of each node's cache, to make it."""
        self.root, self._prepare = root, prepare
        self._numbers = itertools.count()
        self.nodes: dict[str, Any] = {}
        """By Ray's identifier."""
        self.engine: RayEngine | None = None
        """What has hosts there, if anything: there is no room for others beside them."""

    def __enter__(self) -> "SmallCluster":
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_prestart_worker_first_driver": "0"}
        head = {"num_cpus": 0, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        return self

    def __exit__(self, *_: object) -> None:
        cluster.leave()
        self._cluster.shutdown()

    @property
    def address(self) -> str:
        """For `--ray-address`."""
        return str(self._cluster.address)

    def add(self) -> str:
        """Another node; its identifier."""
        # Ray's own sockets need short paths, and so do those of workers.
        folder = Path(tempfile.mkdtemp(prefix=f"node-{next(self._numbers)}-", dir=self.root))
        folder.chmod(0o755)
        (folder / "tmp").mkdir(mode=0o1777)
        self._prepare(folder / "cache")
        environment = {"TMPDIR": str(folder / "tmp"), "ASSAY_CACHE": str(folder / "cache")}
        node = self._cluster.add_node(num_cpus=CPUS, object_store_memory=OBJECT_STORE_BYTES, env_vars=environment)
        node.cache = folder / "cache"
        self.nodes[node.node_id] = node
        return str(node.node_id)

    def remove(self, node_id: str) -> None:
        """Kill it, as a power cut would."""
        self._cluster.remove_node(self.nodes.pop(node_id), allow_graceful=False)

    def drain(self, node_id: str) -> None:
        """Have Ray drain it, as an operator does."""
        ray = str(Path(sys.executable).with_name("ray"))
        named = ("--address", self.address, "--node-id", node_id)
        why = ("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "maintenance")
        subprocess.run([ray, "drain-node", *named, *why], check=True, capture_output=True, timeout=300)

    def forget(self, node_id: str) -> None:
        """It has ended by itself."""
        self._cluster.remove_node(self.nodes.pop(node_id), allow_graceful=True)

    def cache_of(self, node_id: str) -> Path:
        """Its cache folder."""
        return Path(self.nodes[node_id].cache)

    def joined(self) -> Choice:
        """Have this process join, and choose all processors."""
        cluster.leave()
        cluster.join(self.address)
        return cluster.choose(cluster.nodes(), "cpu", None)


def options_for(choice: Choice, judges: int = 1) -> HostOptions:
    """As the command line makes them."""
    return HostOptions(choice.device.name, on_gpu=False, stands_in=False, software=choice.software, judges=judges)
