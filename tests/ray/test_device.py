"""The Ray engine on the GPUs of this machine, in a cluster of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.machine.devices import gpus
from evaluator.ray import cluster
from evaluator.ray.engine import RayEngine
from evaluator.ray.host import HostOptions
from evaluator.results.category import Category
from tests.engine.contract import results_of
from tests.judge.conftest import make_job
from tests.shipped import FOLDER

pytestmark = pytest.mark.gpu


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayEngine]:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    cluster.join("local")
    choice = cluster.choose(cluster.nodes(), "cuda", gpus()[0].name)
    options = HostOptions(choice.device.name, on_gpu=True, stands_in=False, software=choice.software, judges=2)
    with RayEngine(choice, options) as engine:
        engine.start()
        yield engine


def test_each_gpu_has_a_host_and_verdicts_are_on_the_one_that_it_has(engine: RayEngine) -> None:
    own = {gpu.unique_id: gpu for gpu in gpus() if gpu.name == gpus()[0].name}
    right = (FOLDER / "softmax" / "online.py").read_text()
    codes = [right, "import no_such"] * 2 * len(own)
    jobs = [make_job(f"{code}\n# {number}", name=f"{number}.py") for number, code in enumerate(codes)]
    results = {int(job.submission[:-3]): result for job, result in results_of(engine, jobs)}
    assert [results[number].category for number in range(len(codes))] == [Category.OK, Category.IMPORT_ERROR] * 2 * len(own)
    hosts = [client.await_host(lambda: False) for client in engine._clients]
    assert {host.facts.device.unique_id for host in hosts if host} == set(own)
    assert {result.device for result in results.values()} <= {f"cuda:{number}" for number in range(len(gpus()))}
    assert {result.environment.device_name for result in results.values() if result.environment} == {gpus()[0].name}
