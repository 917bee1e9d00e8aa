"""The speed of light of a problem on a device of given ceilings."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.roofline.demand import Demand, demand_of
from evaluator.judge.roofline.peaks import Peak, best_s
from evaluator.judge.roofline.speed_of_light import find_speed_of_light, speed_of_light_of
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import COPY, Calibration, Ceiling
from evaluator.results.evidence import LightEvidence
from tests.judge.conftest import Judge

CPU = torch.device("cpu")
PROBLEMS = discover()
CEILINGS = {COPY: 4e12, "float32": 5e13, "tf32": 4e14, "float16": 8e14, "bfloat16": 8e14, "float64": 6e13}

LINEAR = """
import torch
from torch import nn

rows, inner, columns = 6, 40, 10
ASSAY = {assay}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(inner, columns)

    def forward(self, x, which):
        return self.linear(x).relu()

def get_inputs():
    return [torch.rand(rows, inner), torch.randint(0, 9, (4,))]

def get_init_inputs():
    return []
"""
READ, WRITTEN = (6 * 40 + 40 * 10 + 10) * 4 + 4 * 8, 6 * 10 * 4


def case_of(folder: Path, assay: str = "{}") -> ProblemCase:
    path = folder / "problem.py"
    path.write_text(LINEAR.format(assay=assay))
    return load(path).instance("full")


def demand(case: ProblemCase) -> Demand:
    model = case.model(1)
    return demand_of(case, model, Oracle(model, False), case.inputs(1, CPU))


def light(asked: Demand, spared_bytes: int = 0, reached: Mapping[str, float] = CEILINGS) -> LightEvidence:
    found = speed_of_light_of(asked, spared_bytes, lambda name: Peak(reached[name]) if name in reached else None)
    assert found is not None
    return found


def test_an_undeclared_problem_reads_all_and_pytorch_counts_its_operations(tmp_path: Path) -> None:
    assert demand(case_of(tmp_path)) == Demand(READ, WRITTEN, 2.0 * 6 * 40 * 10, "float32", declared=False)


def test_a_problem_can_declare_its_own(tmp_path: Path) -> None:
    case = case_of(tmp_path, "{'floor': {'reads': [0], 'operations': 'rows * inner'}, 'dtype': 'float16'}")
    assert demand(case) == Demand(6 * 40 * 2, WRITTEN // 2, 240.0, "float16", declared=True)


def test_the_slower_of_moving_and_computing_counts() -> None:
    # 4 GB + 4 GB at 4 TB/s are 2 ms; 800 GFLOP of float16 at 800 TFLOP/s are 1 ms, 2400 GFLOP 3 ms.
    moving = light(Demand(4_000_000_000, 4_000_000_000, 8e11, "float16", declared=True))
    assert moving.bound == "memory" and moving.light_ms == pytest.approx(2.0)
    computing = light(Demand(4_000_000_000, 4_000_000_000, 2.4e12, "float16", declared=True))
    assert (computing.bound, computing.arithmetic) == ("arithmetic", "float16") and computing.light_ms == pytest.approx(3.0)
    assert computing.share(4.0) == pytest.approx(0.75)


def test_a_product_in_float32_is_made_the_faster_way() -> None:
    asked = Demand(0, 0, 4e11, "float32", declared=True)
    assert light(asked).arithmetic == "3 × tf32"
    assert light(asked).light_ms == pytest.approx(3.0)
    assert light(asked, reached=CEILINGS | {"tf32": 1e14}).arithmetic == "float32"
    assert light(asked, reached={"float32": 5e13}).light_ms == pytest.approx(8.0)


def test_what_a_cache_spares_is_not_moved() -> None:
    assert light(Demand(5_000_000, 3_000_000, 0.0, "float32", declared=True), spared_bytes=1_000_000).moved_bytes == 6_000_000
    assert speed_of_light_of(Demand(1000, 1000, 0.0, "float32", declared=True), 1000, lambda _: Peak(1.0)) is None


def test_without_a_rate_for_its_format_the_bytes_alone_count() -> None:
    found = light(Demand(4_000_000, 0, 1e15, "float8_e4m3fn", declared=True))
    assert (found.bound, found.operations_per_s) == ("memory", None) and found.light_ms == pytest.approx(1e-3)


def test_a_calibration_is_taken_where_it_has_the_ceiling_and_what_it_lacks_is_measured(tmp_path: Path) -> None:
    case = case_of(tmp_path)
    model = case.model(1)
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    ceilings = (Ceiling(name="float32", per_s=4800.0, uncertainty=0.25),)
    fields = {"device_id": "cpu", "device_name": "x", "torch": "x", "measured_at": moment, "repetitions": 5}
    calibrated = find_speed_of_light(case, model, Oracle(model, False), CPU, Calibration(**fields, ceilings=ceilings))  # type: ignore[arg-type]
    assert calibrated is not None
    assert calibrated.light_ms == pytest.approx(1e3 * 2 * 6 * 40 * 10 / 4800)
    assert (calibrated.uncertainty, calibrated.calibrated_at) == (0.25, moment)
    measured = find_speed_of_light(case, model, Oracle(model, False), CPU, Calibration(**fields, ceilings=()))  # type: ignore[arg-type]
    assert measured is not None and measured.light_ms < 1
    assert (measured.uncertainty, measured.calibrated_at) == (None, None)


@pytest.mark.slow
def test_a_result_on_the_processor_has_its_shares(judge: Judge) -> None:
    result = judge("import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n        return a @ b\n", problem="matmul")
    found = result.evidence.light
    assert found is not None and found.declared
    assert result.runtime_ms is not None and result.baseline_ms is not None
    assert result.speed_of_light == pytest.approx(found.light_ms / result.runtime_ms)
    assert result.baseline_speed_of_light == pytest.approx(found.light_ms / result.baseline_ms)
    assert result.summary()["speed_of_light"] == result.speed_of_light
    assert result.evidence.device_states == ()


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_shipped_reference_is_beyond_the_speed_of_light_on_a_gpu(gpu: torch.device, name: str) -> None:
    case = load(PROBLEMS[name]).instance("full")
    model = case.model(1, gpu)
    oracle = Oracle(model, False)
    found = find_speed_of_light(case, model, oracle, gpu)
    arguments = case.inputs(1, gpu)
    reference_ms = best_s(lambda: oracle.expected(arguments), gpu, 5) * 1e3
    assert found is not None
    print(f"{name}: {found.share(reference_ms):.1%} of {found.light_ms:.4g} ms, {found.bound} {found.arithmetic}")
    # The inputs are warm in L2 here, and what only reads or only writes may be faster than a copy.
    assert 0.001 < found.share(reference_ms) < 1.2
