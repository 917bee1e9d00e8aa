"""The Ray engine on a cluster of several nodes: the same verdicts as on one machine, whichever host or node is lost on the way.

All that needs a cluster is in this file, so that there is one at a time.
"""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray

from evaluator.build.cache import Cache
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.build.toolchain import Toolchain
from evaluator.engine.engine import Engine
from evaluator.engine.local import LocalEngine
from evaluator.engine.options import EngineOptions
from evaluator.job import Job
from evaluator.machine.devices import cpu_name
from evaluator.ray import cluster
from evaluator.ray.builds import Artefacts, BuildsElsewhere, Terms
from evaluator.ray.cluster import ClusterError
from evaluator.ray.engine import RayEngine
from evaluator.ray.host_client import LiveHost
from evaluator.results.category import Category, Status
from tests.build.conftest import copy_of, machine, prepared  # noqa: F401 - fixtures
from tests.command_line import RUN_S, Bench, submission
from tests.engine.contract import (  # noqa: F401 - tests of every engine
    QUICK,
    SLOW,
    in_a_thread,
    left_of,
    once_in,
    results_of,
    run,
    test_a_broken_problem_is_no_fault_of_the_submission,
    test_a_progress_that_raises_is_heard_of,
    test_a_run_that_is_broken_off_draws_no_more,
    test_a_submission_that_kills_its_worker_costs_only_itself,
    test_an_iterator_that_raises_is_heard_of,
    test_every_job_has_its_result_and_its_stages,
    test_no_jobs_no_results,
    test_no_more_are_drawn_than_the_judges_and_the_reader_can_do_with,
    test_runs_may_overlap,
    unheard,
)
from tests.judge.conftest import make_job, own_cpu
from tests.ray.ray_cluster import SmallCluster, options_for

pytestmark = pytest.mark.slow(80)

EXTENSION = """\
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = "#include <pybind11/pybind11.h>\\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, own) {{ own.def(\\"first\\", [] {{ return 1; }}); }}"
own = load_inline("{name}", SOURCE, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)[:, own.first() :]
"""
SUBMISSIONS = 4


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[SmallCluster]:  # noqa: F811
    with SmallCluster(tmp_path_factory.mktemp("ray"), lambda cache: copy_of(prepared, cache)) as made:
        for _ in range(2):
            made.add()
        yield made


@pytest.fixture(scope="module")
def engine(small: SmallCluster) -> Iterator[RayEngine]:
    choice = small.joined()
    with RayEngine(choice, options_for(choice)) as engine:
        small.engine = engine
        engine.start()
        yield engine


def both(engine: RayEngine) -> list[LiveHost]:
    """Its hosts, once there are two."""
    deadline = time.monotonic() + 300
    while len(engine.hosts) < 2 and time.monotonic() < deadline:
        engine._poll(engine._clients[0])
        engine._poll(engine._clients[1])
    assert len(engine.hosts) == 2
    return engine.hosts


def busy(engine: RayEngine) -> list[LiveHost]:
    return [host for host in engine.hosts if host._judging]


def kill_host_of_this_thread(engine: RayEngine) -> str:
    """Kill the host whose judge tells of a stage in this thread; its name."""
    _, client, _ = threading.current_thread().name.split("-")
    host = engine._clients[int(client)].host
    assert host is not None
    os.kill(host.facts.pid, signal.SIGKILL)
    return host.name


def test_a_ray_engine_is_an_engine_and_judges_on_each_node(engine: RayEngine, small: SmallCluster) -> None:
    same: Engine = engine
    assert same.in_flight == []
    assert {host.facts.node for host in both(engine)} == set(small.nodes)


def test_verdicts_are_those_of_the_local_engine(engine: RayEngine, tmp_path: Path) -> None:
    codes = [
        QUICK,
        QUICK.replace("[:, 1:]", ""),
        QUICK.replace("[:, 1:]", ".half()"),
        QUICK.replace("return", "raise ValueError('no')\n        return"),
        SLOW.replace("sleep(1)", "sleep(1000)"),
        "class ModelNew(",
    ]

    def verdicts(engine: Engine) -> list[tuple[str, str, str, str]]:
        # Only what never ends meets its deadline, on a busy machine too.
        deadlines_s = [15.0 if "sleep" in code else 300.0 for code in codes]
        jobs = [make_job(code, name=f"{number}.py", timeout_s=deadlines_s[number]) for number, code in enumerate(codes)]
        results = {job.submission: result for job, result in results_of(engine, jobs)}
        found = [results[f"{number}.py"] for number in range(len(codes))]
        return [(result.status, result.category, result.message, result.hint) for result in found]

    with LocalEngine(EngineOptions(device=own_cpu(), stands_in=False, judges=2, cache_root=tmp_path)) as local:
        local.start()
        expected = verdicts(local)
    assert [category for _, category, _, _ in expected].count(Category.NO_CUSTOM_KERNEL) == 1
    assert verdicts(engine) == expected


def test_what_one_judge_has_built_serves_the_other(engine: RayEngine, small: SmallCluster) -> None:
    both(engine)
    codes = [EXTENSION.format(name=name) for name in ("one", "other", "third")]
    results = run(engine, codes)
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}, [result.message for result in results.values()]
    builds = [results[f"{number}.py"].evidence.builds for number in range(3)]
    assert [each[0].name for each in builds] == ["one", "other", "third"]
    assert len({each[0].attempts for each in builds}) == 1  # one build, to the millisecond
    assert all("queue" in result.evidence.stages_s or result.evidence.builds[0].cached for result in results.values())


def test_a_build_is_made_on_some_node_for_whoever_asks(engine: RayEngine, small: SmallCluster, machine: Toolchain) -> None:  # noqa: F811
    request = BuildRequest(
        name="plain", sources=(SourceFile(name="plain.cpp", text='extern "C" int one() { return 1; }\n'),)
    ).under_common_name()
    broken = request.model_copy(update={"sources": (SourceFile(name="plain.cpp", text="int one( { return 1; }\n"),)})
    directory: Any = ray.remote(Artefacts).options(num_cpus=0).remote((), Terms(None, None))
    ask = BuildsElsewhere(directory)
    entry = ask(request, request.key(machine))
    assert entry is not None and entry.evidence.ok and entry.shared_object is not None and entry.shared_object.startswith(b"\x7fELF")
    assert ask(request, request.key(machine)) == entry
    assert [Cache(small.cache_of(node)).load(request.key(machine)) is not None for node in small.nodes].count(True) == 1
    failed = ask(broken, broken.key(machine))
    assert failed is not None and failed.evidence.category is Category.CPP_COMPILE_ERROR and failed.shared_object is None
    # Another toolchain's key is nothing that a node here could answer for.
    assert ask(request, "0" * 64) is None
    ray.kill(directory)
    wait_for(lambda: ask(request, request.key(machine)) is None)


def test_a_host_that_is_lost_between_two_runs_or_while_it_judges_costs_no_result(engine: RayEngine) -> None:
    before = {host.name for host in both(engine)}
    os.kill(both(engine)[0].facts.pid, signal.SIGKILL)
    results = run(engine, [QUICK] * 4)
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}
    results = run(engine, [SLOW, QUICK, QUICK], once_in("rounds", lambda: kill_host_of_this_thread(engine)))
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}, [result.message for result in results.values()]
    assert len(before - {host.name for host in both(engine)}) >= 1


@pytest.mark.nightly
def test_a_submission_that_takes_three_hosts_down_is_judged_no_more(engine: RayEngine) -> None:
    both(engine)
    taken: list[str] = []

    results = run(engine, [SLOW, QUICK, QUICK], once_in("rounds", lambda: taken.append(kill_host_of_this_thread(engine)), times=10))
    given_up = results["0.py"]
    assert (given_up.status, given_up.category) == (Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR)
    assert given_up.message.startswith("3 hosts were lost while judging it")
    lines = given_up.evidence.detail.splitlines()
    assert [line.split(", lost at ")[0] for line in lines] == taken and len(set(taken)) == 3
    assert {results[name].category for name in ("1.py", "2.py")} == {Category.WRONG_SHAPE}


@pytest.mark.nightly
def test_a_node_that_is_lost_costs_no_result_and_another_takes_its_place(engine: RayEngine, small: SmallCluster) -> None:
    both(engine)
    lost: list[str] = []

    def cut_the_power() -> None:
        lost.extend(host.facts.node for host in busy(engine)[:1])
        small.remove(lost[0])

    results = run(engine, [SLOW, SLOW, QUICK, QUICK], once_in("rounds", cut_the_power))
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}, [result.message for result in results.values()]
    joined = small.add()
    assert {host.facts.node for host in both(engine)} == set(small.nodes)
    assert joined in small.nodes and lost[0] not in small.nodes


class Begun:
    """Notes where each job begins, and has nodes drained while the first is judged. Told of stages."""

    def __init__(self, engine: RayEngine, drain: Callable[[str], None]) -> None:
        self._engine, self._drain = engine, drain
        self.jobs: list[tuple[str, str]] = []
        """Names of submissions, and nodes."""
        self.at: int | None = None
        """How many had begun when it was drained."""
        self._lock = threading.Lock()

    def __call__(self, job: Job, stage: str) -> None:
        _, client, _ = threading.current_thread().name.split("-")
        host = self._engine._clients[int(client)]._host
        assert host is not None
        with self._lock:
            if stage == "start":
                self.jobs.append((job.submission, host.facts.node))
            if stage == "rounds" and self.at is None:
                self._drain(host.facts.node)
                wait_for(lambda: host.leaving)
                self.at = len(self.jobs)


def is_alive(node_id: str) -> bool:
    return any(node["Alive"] for node in ray.nodes() if node["NodeID"] == node_id)  # type: ignore[no-untyped-call]


@pytest.mark.nightly
def test_a_node_that_is_drained_ends_what_it_has_begun_takes_no_more_and_leaves(engine: RayEngine, small: SmallCluster) -> None:
    both(engine)
    # Builds that lie there must not keep it: Ray spreads these over both.
    built = run(engine, [EXTENSION.format(name=name) for name in ("before", "beside")])
    assert {result.category for result in built.values()} == {Category.WRONG_SHAPE}, [result.message for result in built.values()]
    drained: list[str] = []

    def drain(node: str) -> None:
        small.drain(node)
        drained.append(node)
        assert is_alive(node) and node not in {each.id for each in cluster.nodes()}

    begun = Begun(engine, drain)
    results = run(engine, [SLOW] * 7, begun)
    assert {result.category for result in results.values()} == {Category.WRONG_SHAPE}, [result.message for result in results.values()]
    assert Counter(job for job, _ in begun.jobs) == Counter(results.keys())  # each once: none was taken from its host
    assert begun.at is not None
    assert {node for _, node in begun.jobs[: begun.at]} >= set(drained)
    after = [node for _, node in begun.jobs[begun.at :]]
    assert len(after) >= 3 and not set(after) & set(drained)
    assert cluster.draining() <= set(drained)
    wait_for(lambda: not is_alive(drained[0]))
    small.forget(drained[0])
    joined = small.add()
    assert {host.facts.node for host in both(engine)} == set(small.nodes) and joined in small.nodes


@pytest.mark.nightly
def test_a_run_whose_nodes_are_all_drained_goes_on_on_one_that_joins(engine: RayEngine, small: SmallCluster) -> None:
    both(engine)
    before = list(small.nodes)

    def drain_all(_: str) -> None:
        for node in before:
            small.drain(node)

    begun = Begun(engine, drain_all)
    thread, found = in_a_thread(engine, [make_job(SLOW, name=f"{number}.py") for number in range(6)], begun)
    wait_for(lambda: not any(is_alive(node) for node in before))
    assert thread.is_alive() and len(found) < 6
    for node in before:
        small.forget(node)
    joined = small.add()
    thread.join(600)
    assert [result.category for _, result in found] == [Category.WRONG_SHAPE] * 6
    assert Counter(job for job, _ in begun.jobs) == {f"{number}.py": 1 for number in range(6)}
    assert begun.jobs[-1][1] == joined
    small.add()
    assert {host.facts.node for host in both(engine)} == set(small.nodes)


def test_closing_while_it_works_leaves_no_process_behind(small: SmallCluster, engine: RayEngine) -> None:
    hosts = [psutil.Process(host.facts.pid) for host in both(engine)]
    endless = make_job(SLOW.replace("sleep(1)", "sleep(1000)"), timeout_s=1000.0)
    started: list[psutil.Process] = []
    thread, found = in_a_thread(engine, [endless], once_in("rounds", lambda: started.extend(below(hosts)), "test.py"))
    wait_for(lambda: bool(started))
    assert len(started) >= 4  # warm parents, a judge, the worker with its supervisor
    engine.close()
    thread.join(300)
    assert not thread.is_alive() and found == []
    assert [job.submission for job in engine.in_flight] == ["test.py"]
    assert left_of(hosts + started) == []


def test_a_closed_engine_starts_nothing(engine: RayEngine) -> None:
    engine.close()
    assert list(results_of(engine, [make_job(QUICK)])) == []
    with pytest.raises(ClusterError, match="closed"):
        engine.start()


def test_a_machine_with_other_software_is_not_judged_on(small: SmallCluster) -> None:
    choice = small.joined()
    choice = replace(choice, nodes=choice.nodes[:1], others=choice.nodes[1:])
    options = replace(options_for(choice), software=replace(choice.software, torch="1.0.0"))
    with (
        RayEngine(choice, options) as engine,
        pytest.raises(ClusterError, match=r"no machine of the cluster can judge: .*PyTorch is .*, not 1\.0\.0"),
    ):
        engine.start()


# The command line


@pytest.fixture
def bench(tmp_path: Path, small: SmallCluster) -> Bench:
    if small.engine is not None:
        small.engine.close()
    made = Bench(tmp_path)
    for number in range(SUBMISSIONS):
        made.write(f"double/s{number}.py", submission(before=f"time.sleep(0.01)  # {number}"))
    return made


def on(small: SmallCluster) -> list[str]:
    return ["double", "--engine", "ray", "--ray-address", small.address, "--jobs", "1", "--json", "-"]


def hosts() -> set[psutil.Process]:
    """Those of this file's cluster. Other tests may have one beside it."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "ray::Host" in " ".join(process.cmdline()):
                found.add(process)
    return found


@pytest.mark.nightly
def test_an_interrupted_run_leaves_its_rows_and_no_process_and_the_next_one_goes_on(small: SmallCluster, bench: Bench) -> None:
    before = hosts()
    last = f"double/s{SUBMISSIONS - 1}.py"
    bench.write(last, submission(before="time.sleep(1000)"))  # so that something is left
    with bench.start(*on(small), "--timeout", "900") as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        started = hosts() - before
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        stdout, stderr = process.communicate(timeout=RUN_S)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    records = [first, *map(json.loads, stdout.splitlines())]
    assert [record["category"] for record in records].count("interrupted") >= 1
    assert Counter(name for name, _, _ in bench.rows()) == {record["submission"]: 1 for record in records}
    assert started and left_of([*started, *below([each for each in started if each.is_running()])]) == []
    bench.write(last, submission())
    finished = bench.run_apart(*on(small))
    assert finished.code == 0, finished.stderr
    assert first["submission"] not in {record["submission"] for record in finished.records}
    assert "on 2 machines, sandbox: " in finished.stderr
    judged = Counter(row for row in bench.rows() if row[2] != "interrupted")  # which is history
    assert judged == {(f"double/s{number}.py", None, "no_custom_kernel"): 1 for number in range(SUBMISSIONS)}


def test_a_device_that_the_cluster_lacks_is_told_with_what_it_has(small: SmallCluster, bench: Bench) -> None:
    found = bench.run_apart(*on(small), "--device-kind", "B300")
    assert found.code == 2
    assert f"no device with 'B300' in its name; it has 2 × {cpu_name()}" in found.stderr
    assert not bench.database.exists() or bench.rows() == []


def below(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found += process.children(recursive=True)
    return found


def wait_for(condition: Callable[[], bool], within_s: float = 300.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
