"""Builds for judges on any machine of the cluster. Ray places each where CPUs and memory are free, and its object store shares built
objects with hosts that request the same build."""

import logging
import os
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import ray
from ray.exceptions import RayError
from ray.experimental import get_object_locations

from evaluator.build.builder import DEFAULT_TIMEOUT_S, NOT_CACHED, Builder, BuildOutcome
from evaluator.build.cache import Cache, Entry
from evaluator.build.native import NativeBuildError
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Capability, Toolchain
from evaluator.machine.cache_folder import default_root
from evaluator.ray.cluster import draining
from evaluator.results.category import Category
from evaluator.sandbox import Level, SandboxUnavailable, Zygote, best_level

if TYPE_CHECKING:
    from ray.actor import ActorHandle

CPUS = 1
BUILDER_CPUS, BUILDER_MEMORY = 2, 3
"""A machine that builds has at least this many times what one build takes: hosts may take the rest."""
MEMORY_BYTES = {False: 2 << 30, True: 3 << 30}
"""Memory of a build, without and with CUDA: what g++ and nvcc take with all of PyTorch's headers."""
MAX_KEPT = 1024
"""Builds to remember, a megabyte or two each. Machines also keep theirs in their cache folders."""
WAIT_S = 2 * DEFAULT_TIMEOUT_S + 600.0
"""Wait for a build on another machine, including its wait for a turn; after that the host builds it."""
LOOKED_UP_MS = 5000
"""Time to find out on which machines replies lie."""
_ANSWERS_WITHIN_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Terms:
    """What a build is for, and how it is confined."""

    capability: Capability | None
    level: Level | None
    """Sandbox level of the compilers; None for the best on each machine."""
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True)
class Made:
    """A machine's reply."""

    node: str
    entry: Entry | None
    """None if this machine can't build it: its toolchain differs, or the machine failed."""


class Artefacts:
    """The directory of a run's builds, finished or under way. An actor; it stores, for each key, where to fetch the reply."""

    def __init__(self, unfit: Iterable[str], terms: Terms) -> None:
        """`unfit`: identifiers of nodes that can't compile for this run."""
        self._unfit, self._terms = set(unfit), terms
        self._answers: OrderedDict[str, ray.ObjectRef[Made]] = OrderedDict()

    def find(self, key: str, request: BuildRequest) -> "list[ray.ObjectRef[Made]]":
        """A reference to the reply, which may not be ready yet; empty if no machine is left that could build it."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return [self._answers[key]]
        unfit = self._unfit | draining()
        builders = {
            node["NodeID"]
            for node in ray.nodes()  # type: ignore[no-untyped-call]
            if node["Alive"] and _has_room(node["Resources"], request) and node["NodeID"] not in unfit
        }
        if not builders:
            return []
        make = ray.remote(build).options(
            num_cpus=CPUS,
            memory=MEMORY_BYTES[request.uses_cuda],
            label_selector={"ray.io/node-id": f"in({','.join(sorted(builders))})"},
            scheduling_strategy="SPREAD",
        )
        self._answers[key] = make.remote(request, key, self._terms)
        if len(self._answers) > MAX_KEPT:
            self._answers.popitem(last=False)
        return [self._answers[key]]

    def leave(self, nodes: frozenset[str]) -> None:
        """Forget the replies on these nodes, which could not end while a reply may be requested. If this process is on one of them, it
        ends, and Ray restarts it elsewhere."""
        if ray.get_runtime_context().get_node_id() in nodes:
            os._exit(1)
        where = get_object_locations(list(self._answers.values()), timeout_ms=LOOKED_UP_MS) if self._answers else {}
        for key, answer in list(self._answers.items()):
            if nodes.intersection(where.get(answer, {}).get("node_ids", ())):  # a reply that was not found in time is looked up again
                del self._answers[key]

    def forget(self, key: str, unfit: str | None) -> None:
        """Forget a useless reply. `unfit`: the node that can't build it, and is not asked again."""
        self._answers.pop(key, None)
        if unfit is not None:
            self._unfit.add(unfit)


class BuildsElsewhere:
    """Asks the directory, for the judges of one machine; returns None if there is no reply, so that the host builds."""

    def __init__(self, artefacts: "ActorHandle[Artefacts]") -> None:
        self._artefacts = artefacts

    def __call__(self, request: BuildRequest, key: str) -> Entry | None:
        deadline = time.monotonic() + WAIT_S
        try:
            while True:
                found: list[ray.ObjectRef[Made]] = ray.get(self._artefacts.find.remote(key, request), timeout=_ANSWERS_WITHIN_S)
                if not found:
                    return None
                made = ray.get(found[0], timeout=max(deadline - time.monotonic(), 0.0))
                if made.entry is None:
                    log.warning("node %s can't build for this machine", made.node[:12])
                    ray.get(self._artefacts.forget.remote(key, made.node), timeout=_ANSWERS_WITHIN_S)
                    continue
                if made.entry.evidence.category in NOT_CACHED:
                    self._artefacts.forget.remote(key, None)
                return made.entry
        except RayError as error:  # includes the timeout error
            log.warning("build %s could not be fetched: %s", key[:12], str(error).splitlines()[0])
            self._artefacts.forget.remote(key, None)
            return None


def build(request: BuildRequest, key: str, terms: Terms) -> Made:
    """Build it on this machine, or take it from its cache. A Ray task."""
    node = ray.get_runtime_context().get_node_id()
    try:
        toolchain, builder = _builder(terms)
    except (SandboxUnavailable, NativeBuildError, OSError) as error:
        log.warning("this machine can't build: %s", error)
        return Made(node, None)
    if request.key(toolchain) != key:
        return Made(node, None)
    return Made(node, _entry(builder.build(request)))


@cache
def _builder(terms: Terms) -> tuple[Toolchain, Builder]:
    """Created once per Ray process; Ray decides how many of them build at once."""
    toolchain = Toolchain.find(terms.capability)
    zygote = None if terms.level is Level.NONE else Zygote.start((), terms.level or best_level())
    return toolchain, Builder(Cache(default_root()), toolchain, zygote, terms.timeout_s)


def _has_room(resources: dict[str, float], request: BuildRequest) -> bool:
    """Whether a machine has room for a build beside its hosts, once no other build runs there."""
    needed = MEMORY_BYTES[request.uses_cuda]
    return resources.get("CPU", 0.0) >= BUILDER_CPUS * CPUS and resources.get("memory", 0.0) >= BUILDER_MEMORY * needed


def _entry(outcome: BuildOutcome) -> Entry | None:
    evidence = outcome.evidence
    if evidence.category is Category.INFRASTRUCTURE_ERROR:
        return None
    if outcome.object_fd is None:
        return Entry(evidence, None)
    with os.fdopen(outcome.object_fd, "rb") as file:
        return Entry(evidence, file.read())
