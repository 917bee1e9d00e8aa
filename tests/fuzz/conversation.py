"""Whole conversations between the real judge and a hostile worker, drawn by hypothesis, and what has to hold after each.

The judge is the one that serves (evaluator.judge.evaluate, with its sessions, memory, comparison and timing); only its deadlines are
shortened, so that silence is cheap.
"""

import contextlib
import gc
import hashlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import WORKER_MODULE
from evaluator.job import Job
from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.judge.timing.effort import FULL
from evaluator.judge.workers import client, launcher
from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from evaluator.sandbox import Level, Zygote, best_level
from tests.fuzz import peer
from tests.fuzz.mutation import MUTATORS
from tests.fuzz.plan import REQUESTS, Json, Mutation, Plan
from tests.judge.conftest import own_cpu

PROBLEM = '''"""Two tensors and some plain values, nested."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns))

    def forward(self, x):
        return {"scaled": x * self.weight, "pair": (x + x, [3, True, None, 0.5, "text"])}


def get_inputs():
    return [torch.rand(5, 7)]


def get_init_inputs():
    return [7]
'''
SUBMISSION = PROBLEM.split("\n\n\ndef get_inputs")[0].replace("class Model", "class ModelNew")
DEADLINE_S = 0.1
"""Timeout of each request."""
START_FACTOR = 10
"""How much longer a worker may take to start."""
PATIENCE_S = 3.0
"""Deadline of a conversation that is repeated because the machine seems to have been too busy for the first."""
BOUND_S = 30.0
"""A conversation has to be over by then; a slow or busy machine is allowed for."""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["tensor", "list", "float32", "cpu", "cuda", "failed", "build"])
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6
)
LEAVES = st.builds(lambda kind, value: {kind: value}, st.sampled_from(["value", "int", "float", "dtype", "other", "nothing"]), SCALARS)
TENSORS = st.fixed_dictionaries(
    {
        "shape": st.sampled_from([[5, 7], [7, 5], [35], [], [0], [5, 7, 1], [1 << 47, 1 << 47], [-5, -7], [5.0, 7.0], [True, 7], None]),
        "dtype": st.sampled_from(["float32", "float16", "float64", "_inductor", "float31", "", None, 32]),
        "device": st.sampled_from(["cpu", "cuda", "meta", "", None]),
    }
)
TREES: st.SearchStrategy[Json] = st.recursive(
    LEAVES | st.builds(lambda tensor: {"tensor": tensor}, TENSORS | VALUES),
    lambda inner: st.builds(
        lambda kind, items: {kind: items},
        st.sampled_from(["list", "tuple", "dict"]),
        st.lists(inner | st.lists(inner, min_size=2, max_size=2) | VALUES, max_size=4),
    ),
    max_leaves=8,
)
COUNTS = st.integers(0, 40) | st.integers(0, 1 << 16)
MUTATIONS = st.builds(Mutation, st.sampled_from(sorted(MUTATORS)), COUNTS, COUNTS, VALUES | TREES)


MOST = {"map": 3, "inputs": 6, "call": 7, "reveal": 7, "poison": 3, "time": 5, "host_block": 3, "unmap": 1}
"""Requests of a kind that may be answered honestly before the first lie: fewer than a conversation has of it."""


def plans(kinds: tuple[str, ...] = REQUESTS) -> st.SearchStrategy[Plan]:
    """Conversations that turn hostile at requests of these kinds."""
    places = [(kind, skip) for kind in kinds for skip in range(MOST.get(kind, 0) + 1)]
    mutations = st.lists(MUTATIONS, min_size=1, max_size=3).map(tuple)
    return st.builds(lambda place, several: Plan(place[0], place[1], several), st.sampled_from(places), mutations)


@contextlib.contextmanager
def short_deadlines(deadline_s: float = DEADLINE_S) -> Iterator[None]:
    """Judging with little patience, and with few timed calls."""
    hurry = (
        (limits, "LOAD_S", deadline_s),
        (limits, "START_S", START_FACTOR * deadline_s),
        (client, "EXIT_GRACE_S", deadline_s),
        (FULL, "enough_s", 0.01),
        (limits, "MIN_CALLS", limits.LEAST_CALLS),
        (limits, "MIN_WATCHES", 1),
        (limits, "REVEAL_SHARE", 0.9),  # what is not revealed is watched, which takes longer
        (limits, "CPU_CHECKS_S", 0.01),
    )
    with contextlib.ExitStack() as stack:
        for module, name, value in hurry:
            stack.enter_context(mock.patch.object(module, name, value))
        yield


@contextlib.contextmanager
def cpu_context(cache_root: Path) -> Iterator[JudgeContext]:
    """A context whose workers can follow a plan, under a device lock of its own."""
    options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=cache_root)
    with Zygote.start(modules=(WORKER_MODULE, peer.__name__), level=best_level()) as zygote:
        yield make_context(options, zygote)
    Path(tempfile.gettempdir(), f"assay-{options.device.unique_id}.lock").unlink(missing_ok=True)


@contextlib.contextmanager
def following_plans() -> Iterator[None]:
    """Have confined workers be hostile ones."""
    with mock.patch.object(launcher, "WORKER_ENTRY", peer.ENTRY):
        yield


class LightZygote(Zygote):
    """A zygote whose workers are light ones, in a process that runs a module."""

    def __init__(self, module: str = peer.__name__) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(ours, Level.NONE)
        with theirs:
            self._peers = subprocess.Popen([sys.executable, "-m", module, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        assert ours.recv(8) == peer.READY_MESSAGE
        # A light worker has this process for its parent, and so would have these processes for its own.
        self._asleep = mock.patch("evaluator.judge.timing.cpu.judge_place.kept_awake", lambda _: contextlib.nullcontext())
        self._asleep.start()

    def follow(self, plan: Plan) -> None:
        """Have the worker that is started next follow a plan."""
        self.socket.send(peer.PLAN_MESSAGE + plan.to_json().encode())

    def close(self) -> None:
        super().close()
        self._asleep.stop()
        self._peers.wait(10)


@dataclass(frozen=True)
class Applied:
    """One mutation as the worker told of it."""

    name: str
    kind: str
    honest: bool


@dataclass(frozen=True)
class Outcome:
    """How a conversation went. No result where the judge raised."""

    plan: Plan
    result: Result | None
    raised: str
    applied: tuple[Applied, ...]
    asked_on: bool
    """Whether the judge went on asking after a frame that more than an answer came with."""
    duration_s: float

    @property
    def honest(self) -> bool:
        """Whether all that was sent was an honest answer in effect."""
        return not self.asked_on and all(each.honest for each in self.applied)

    @property
    def fault(self) -> str:
        """The judge's mistake, or an empty text."""
        if self.result is None:
            return f"raised {self.raised}"
        if self.duration_s > BOUND_S:
            return f"took {self.duration_s:.1f} s"
        verdict = f"{self.result.status}/{self.result.category}: {self.result.message}"
        if not self.honest and self.result.status is Status.CORRECT:
            return f"lies were judged {verdict}"
        if self.result.status is Status.NOT_EVALUATED and not self._excused(self.result):
            return f"{verdict} {self.result.evidence.detail}"
        return ""

    def _excused(self, result: Result) -> bool:
        """A worker that fails before it has the submission is the judge's own failure; what asks for CUDA needs a GPU."""
        if result.category is Category.NO_DEVICE:
            return any(build.uses_cuda for build in result.evidence.builds)
        return bool(self.applied) and all(each.kind == "ping" for each in self.applied)


class Conversations:
    """A judge, and hostile workers of one sort to talk to."""

    def __init__(self, context: JudgeContext, folder: Path, light: LightZygote | None = None) -> None:
        """Confined workers of the context's own zygote, which has to know tests.fuzz.peer, or those of `light`."""
        self._context = replace(context, zygote=light) if light else context
        self._light = light
        self._problem = folder / "fuzzed.py"
        self._problem.write_text(PROBLEM, encoding="utf-8")

    def hold(self, plan: Plan, deadline_s: float = DEADLINE_S) -> Outcome:
        """Have one conversation; once more, as an engine does, with more patience, where the judge says that the machine failed."""
        outcome = self._hold(plan, deadline_s)
        is_late = not outcome.fault and not outcome.applied
        if is_late or (outcome.fault and outcome.result and outcome.result.category is Category.INFRASTRUCTURE_ERROR):
            with short_deadlines(PATIENCE_S):
                return self._hold(plan, PATIENCE_S)
        return outcome

    def _hold(self, plan: Plan, deadline_s: float) -> Outcome:
        if self._light:
            self._light.follow(plan)
        start = time.monotonic()
        result, raised = None, ""
        try:
            result = Result.model_validate_json(self.judge(f"{peer.PLAN_LINE}{plan.to_json()}\n{SUBMISSION}", deadline_s).model_dump_json())
        # Whatever the judge lets out is what is looked for.
        except Exception as error:  # noqa: BLE001
            raised = f"{type(error).__name__}: {error}"
        lines = _told(result.evidence.stdout) if result else []
        applied = tuple(Applied(line["mutation"], line["kind"], line["honest"]) for line in lines if "mutation" in line)
        if not lines and plan.kind == "ping":  # what a worker prints is evidence only once it has greeted
            applied = (Applied(plan.mutations[0].name, plan.kind, False),)
        return Outcome(plan, result, raised, applied, any("asked_on" in line for line in lines), time.monotonic() - start)

    def judge(self, code: str, deadline_s: float = 60.0) -> Result:
        """Judge a submission to the fuzzed problem."""
        digest = hashlib.sha256(code.encode()).hexdigest()
        job = Job("fuzzed.py", None, None, None, code, digest, "fuzzed", self._problem, None, "", deadline_s)
        return evaluate(self._context, job, lambda _: None)


def _told(stdout: str) -> list[Json]:
    return [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]


@dataclass(frozen=True)
class Health:
    """Resources of the judge's process."""

    descriptors: int
    threads: int
    resident_bytes: int

    @classmethod
    def now(cls) -> "Health":
        gc.collect()  # mapped memory goes with the last tensor over it
        resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
        return cls(sum(1 for _ in Path("/proc/self/fd").iterdir()), threading.active_count(), resident)
