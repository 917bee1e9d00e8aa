"""The floor: the work that a problem declares, and its shortest time on a device of a given speed."""

from itertools import count
from pathlib import Path

import pytest
import torch

from evaluator.diagnosis import LEAST_FLOOR_MS
from evaluator.judge import limits
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.problem_check.check import floor_finding
from evaluator.judge.roofline import minimum_time as minimum_time_module
from evaluator.judge.roofline import peaks
from evaluator.judge.roofline.demand import Demand, demand_of, known_demand
from evaluator.judge.roofline.minimum_time import FloorPeaks, find_minimum_time, floor_peaks, higher, minimum_time_of
from evaluator.judge.roofline.peaks import Peak, PeakMeter, best_s, cache_bytes
from evaluator.problem import kept_figures
from evaluator.problem.catalogue import discover
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.results.calibration import Calibration, Ceiling
from evaluator.results.category import Category
from evaluator.results.evidence import FloorEvidence
from evaluator.results.result import now
from tests.judge.conftest import Judge

CPU = torch.device("cpu")
PROBLEMS = discover()
SMALL_L2_BYTES = 32 << 20
"""A larger cache may hold all data of some problems."""

FORM = """
import torch
from torch import nn

rows = 6
ASSAY = {assay}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(10))
        self.register_buffer("table", torch.rand(rows, 10))

    def forward(self, x, more):
        {forward}

def get_inputs():
    return [torch.rand(rows, 10), {{"a": torch.rand(5), "b": [torch.randint(0, 9, (4,)), 7]}}]

def get_init_inputs():
    return []
"""
X, MORE, SCALE, TABLE = 6 * 10 * 4, 5 * 4 + 4 * 8, 10 * 4, 6 * 10 * 4
"""Bytes of the inputs, of the parameter and of the buffer."""


def case_of(folder: Path, forward: str = "return x * self.scale", assay: str = "{}") -> ProblemCase:
    path = folder / "problem.py"
    path.write_text(FORM.format(forward=forward, assay=assay))
    return load(path).instance("full")


def work(case: ProblemCase) -> Demand:
    model = case.model(1, CPU)
    return demand_of(case, model, Oracle(model, False), case.inputs(1, CPU))


def declared(read_bytes: int, written_bytes: int, operations: float, precision: str = "float32") -> Demand:
    return Demand(read_bytes, written_bytes, operations, precision, declared=True)


@pytest.mark.parametrize(
    ("reads", "read_bytes"),
    [("()", 0), ("'all'", X + MORE + SCALE), ("[0]", X), ("[1]", MORE), ("[1, 'scale']", MORE + SCALE)],
)
def test_what_is_read_is_what_is_declared(tmp_path: Path, reads: str, read_bytes: int) -> None:
    found = work(case_of(tmp_path, assay=f"{{'floor': {{'reads': {reads}, 'operations': '3 * rows'}}}}"))
    assert found == declared(read_bytes, X, 18.0)


@pytest.mark.parametrize(("moved", "read_bytes"), [("1", 0), (f"{X} + 8", 8), ("10 ** 9", X + MORE + SCALE + TABLE)])
def test_all_bytes_may_be_declared_and_are_those_that_exist(tmp_path: Path, moved: str, read_bytes: int) -> None:
    assert work(case_of(tmp_path, assay=f"{{'floor': {{'bytes': '{moved}'}}}}")).read_bytes == read_bytes


def test_without_a_declaration_the_answer_is_counted(tmp_path: Path) -> None:
    found = work(case_of(tmp_path, "return x @ x.T"))
    assert found == Demand(X + MORE + SCALE, 6 * 6 * 4, 2.0 * 6 * 6 * 10, "float32", declared=False)
    floor = minimum_time_of(found, PEAKS, 100)
    assert (floor.read_bytes, floor.written_bytes, floor.moved_bytes, floor.operations, floor.declared) == (0, 144, 44, 0.0, False)


def test_the_larger_of_two_demands_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the outputs could be one expanded row."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    case = case_of(tmp_path, "return x * 0 if next(calls) % 2 else x * 2")
    vars(case.module)["calls"] = count(1)
    model = case.model(1)
    demands = [known_demand(case, model, Oracle(model, False), CPU) for _ in range(2)]
    assert next(vars(case.module)["calls"]) == 3, "what is kept needs no call"
    assert demands[0] == demands[1] and demands[0].written_bytes == X


def test_the_cases_own_constants_count(tmp_path: Path) -> None:
    case = case_of(tmp_path, assay="{'cases': {'full': {'rows': 9}}, 'floor': {'reads': [0], 'operations': 'rows'}}")
    assert work(case) == declared(X * 9 // 6, X * 9 // 6, 9.0)


@pytest.mark.parametrize(
    ("forward", "written_bytes"),
    [
        ("return x * 2, {'sum': x.sum(), 'sign': x > 0.5}", X + 4 + 60),
        ("return x.t().contiguous()", X),
        ("return x", 0),
        ("return x.t()", 0),
        ("return self.scale, self.table, x * 2", X),
        ("return (x * 2).chunk(2)", X),
        ("y = x * 2; return y, y.t(), y[1:]", X),
        ("return x.sum(1, keepdim=True).expand(6, 10)", 6 * 4),
        ("return x.sum(1, keepdim=True).expand(6, 10).contiguous()", 6 * 4),
        ("return torch.ones(6, 10)", 4),
        ("return x[:0]", 0),
        ("return x.to(torch.float64)", 2 * X),
        ("return torch.complex(x, x)", 2 * X),
    ],
)
def test_what_an_answer_may_share_or_repeat_need_not_be_written(tmp_path: Path, forward: str, written_bytes: int) -> None:
    assert work(case_of(tmp_path, forward)).written_bytes == written_bytes


@pytest.mark.parametrize(
    ("forward", "writes", "written_bytes"), [("return x.t().contiguous(), x * 2", [], 0), ("return x[:3] * 2, x * 2", [1], X)]
)
def test_what_is_declared_not_to_be_written_is_not_counted(tmp_path: Path, forward: str, writes: list[int], written_bytes: int) -> None:
    assert work(case_of(tmp_path, forward, f"{{'floor': {{'writes': {writes}}}}}")).written_bytes == written_bytes


@pytest.mark.parametrize(
    ("floor", "said"),
    [
        ("{'reads': [2]}", "argument 2; there are 2"),
        ("{'reads': ['weight']}", "parameter 'weight'; the reference has scale"),
        ("{'writes': [1]}", "output 1; there are 1"),
    ],
)
def test_a_declaration_that_does_not_fit_is_told(tmp_path: Path, floor: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        work(case_of(tmp_path, assay=f"{{'floor': {floor}}}"))


PEAKS, L2_BYTES = FloorPeaks(Peak(4e12), Peak(8e14)), 1_000_000


def minimum_time(read_bytes: int, written_bytes: int, operations: float) -> FloorEvidence:
    return minimum_time_of(declared(read_bytes, written_bytes, operations), PEAKS, L2_BYTES)


def test_the_floor_by_hand() -> None:
    # (5 MB - 1 MB) + (13 MB - 1 MB) at 4 TB/s are 4 µs; 8 GFLOP at 800 TFLOP/s are 10 µs.
    moving = minimum_time(5_000_000, 13_000_000, 0)
    assert (moving.moved_bytes, moving.margin) == (16_000_000, limits.PEAK_MARGIN)
    assert moving.floor_ms == pytest.approx(4e-3 / 1.3)
    assert minimum_time(5_000_000, 13_000_000, 8e9).floor_ms == pytest.approx(10e-3 / 1.3)
    assert minimum_time(5_000_000, 13_000_000, 8e8).floor_ms == moving.floor_ms


CALIBRATION = Calibration(
    device_id="GPU-1",
    device_name="x",
    torch="x",
    measured_at=now(),
    repetitions=5,
    ceilings=(
        Ceiling(name="copy", per_s=4e12, uncertainty=0.02),
        Ceiling(name="float32", per_s=5e13, uncertainty=0.5),
        Ceiling(name="float16", per_s=7e14, uncertainty=0.04),
        Ceiling(name="bfloat16", per_s=8e14, uncertainty=0.01),
    ),
)


def test_a_calibrations_uncertainty_widens_the_margin() -> None:
    calibrated = floor_peaks(CPU, CALIBRATION)
    assert calibrated == (Peak(4e12, 0.02), Peak(8e14, 0.01))
    certain, wider = (minimum_time_of(declared(0, 0, 8e9), each, L2_BYTES) for each in (PEAKS, calibrated))
    assert wider.margin == pytest.approx(1.02 * limits.PEAK_MARGIN)
    assert wider.floor_ms == pytest.approx(certain.floor_ms / 1.02)


def test_what_a_calibration_lacks_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "PEAK_METER", PeakMeter())
    monkeypatch.setattr(peaks, "measure", lambda name, _: {"copy": 3e12, "bfloat16": 6e14}.get(name))
    monkeypatch.setattr(PeakMeter, "_kept", lambda *_: None)
    monkeypatch.setattr(kept_figures, "write", lambda *_: None)
    only_copies = CALIBRATION.model_copy(update={"ceilings": CALIBRATION.ceilings[:1]})
    assert floor_peaks(CPU, only_copies) == (Peak(4e12, 0.02), Peak(6e14))
    assert floor_peaks(CPU) == floor_peaks(CPU, again=True) == (Peak(3e12), Peak(6e14))
    monkeypatch.setattr(peaks, "PEAK_METER", PeakMeter())
    monkeypatch.setattr(peaks, "measure", lambda name, _: {"copy": 3e12}.get(name))
    with pytest.raises(RuntimeError, match="neither copies nor matrix products"):
        floor_peaks(CPU)


def test_of_two_measurements_the_faster_counts() -> None:
    assert higher(Peak(4e12, 0.02), Peak(3e12)) == Peak(4e12, 0.02)
    assert higher(Peak(7e14, 0.02), Peak(8e14)) == Peak(8e14, 0.02)


def test_a_device_is_measured_again_before_a_time_is_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[bool] = []

    def found(_device: torch.device, _calibration: Calibration | None = None, *, again: bool = False) -> FloorPeaks:
        measured.append(again)
        return FloorPeaks(Peak(2e12 if again else 1e12), Peak(8e14))

    monkeypatch.setattr(minimum_time_module, "floor_peaks", found)
    monkeypatch.setattr(minimum_time_module, "known_demand", lambda *_: declared(0, 14_000_000, 0.0))
    monkeypatch.setattr(minimum_time_module, "cache_bytes", lambda _: 1_000_000)
    case = case_of(tmp_path)
    model = case.model(1)
    floors = [find_minimum_time(case, model, Oracle(model, False), torch.device("cuda"), None, ms) for ms in (None, 0.0101, 0.0099)]
    assert [floor and floor.floor_ms for floor in floors] == pytest.approx([0.01, 0.01, 0.005])
    assert measured == [False, False, False, True]


def test_what_the_cache_may_hold_costs_nothing() -> None:
    assert minimum_time(1_000_000, 1_000_000, 0).floor_ms == 0
    assert minimum_time(1_000_001, 400, 0).moved_bytes == 1


def test_a_reference_faster_than_its_floor_is_refused() -> None:
    floor = minimum_time(5_000_000, 13_000_000, 0)
    assert floor_finding(floor, floor.floor_ms) is None
    finding = floor_finding(floor, 0.9 * floor.floor_ms)
    assert finding is not None and finding.check == "floor"
    assert finding.message.startswith("the reference takes 0.002769 ms, less than the floor of 0.003077 ms")
    low = minimum_time(5_000_000, 1_000_000, 0)
    assert low.floor_ms < 2e-3 and floor_finding(low, 1e-6) is None


@pytest.mark.slow
def test_there_is_no_floor_on_the_cpu(tmp_path: Path, judge: Judge) -> None:
    case = case_of(tmp_path)
    model = case.model(1)
    assert find_minimum_time(case, model, Oracle(model, False), CPU) is None
    result = judge("import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, 1)\n")
    assert result.category is Category.NO_CUSTOM_KERNEL and result.evidence.floor is None


F = 4
"""Bytes of a float32."""
SMALL_WORK: dict[str, tuple[int, int, float]] = {
    "adamw_step": (4 * 10007 * F, 3 * 10007 * F, 0.0),
    "add_rms_norm": ((2 * 31 * 765 + 765) * F, 2 * 31 * 765 * F, 0.0),
    "argmax": (5 * 257 * 63 * F, 5 * 63 * 8, 0.0),
    "attention": (3 * 2 * 3 * 77 * 32 * 2, 2 * 3 * 77 * 32 * 2, 3.0 * 2 * 3 * 77 * 77 * 32),
    "batch_norm_inference": (3 * 5 * 17 * 13 * F, 3 * 5 * 17 * 13 * F, 0.0),
    "batch_norm_training": ((5 * 7 * 9 * 11 + 2 * 7) * F, 5 * 7 * 9 * 11 * F, 0.0),
    "batched_matmul": (5 * (33 * 65 + 65 * 47) * F, 5 * 33 * 47 * F, 2.0 * 5 * 33 * 65 * 47),
    "bias_residual_relu": ((2 * 43 * 771 + 771) * F, 43 * 771 * F, 0.0),
    "causal_attention": (3 * 2 * 3 * 77 * 32 * 2, 2 * 3 * 77 * 32 * 2, 1.5 * 2 * 3 * 77 * 77 * 32),
    "causal_conv1d": ((3 * 13 * 67 + 13 * 4 + 13) * F, 3 * 13 * 67 * F, 0.0),
    "conv2d": ((2 * 5 * 19 * 23 + 7 * 5 * 9 + 7) * F, 2 * 7 * 19 * 23 * F, 2.0 * 2 * 5 * 7 * 19 * 23),
    "cross_entropy": (37 * 1009 * F + 37 * 8, F, 0.0),
    "cross_entropy_backward": ((29 * 1009 + 29) * F + 29 * 8, 29 * 1009 * F, 0.0),
    "cumsum": (27 * 1021 * F, 27 * 1021 * F, 0.0),
    "decode_attention": ((3 * 4 * 32 + 2 * 3 * 2 * 77 * 32) * 2, 3 * 4 * 32 * 2, 0.0),
    "depthwise_conv2d": ((3 * 7 * 19 * 23 + 7 * 9 + 7) * F, 3 * 7 * 19 * 23 * F, 0.0),
    "embedding": (7 * 19 * 8, 7 * 19 * 61 * F, 0.0),
    "embedding_bag": (23 * 9 * 8, 23 * 61 * F, 0.0),
    "fp8_matmul": (61 * 160 * 2 + 203 * 160 + 7 * 5 * F, 61 * 203 * 2, 0.0),
    "gelu_tanh": (31 * 1013 * F, 31 * 1013 * F, 0.0),
    "group_norm": ((3 * 12 * 11 * 13 + 2 * 12) * F, 3 * 12 * 11 * 13 * F, 0.0),
    "kl_divergence": (2 * 61 * 517 * F, 61 * F, 0.0),
    "layer_norm": ((3 * 7 * 509 + 2 * 509) * F, 3 * 7 * 509 * F, 0.0),
    "leaky_relu": (33 * 1019 * F, 33 * 1019 * F, 0.0),
    "linear_gelu": ((67 * 129 + 129 * 93 + 93) * 2, 67 * 93 * 2, 1.5 * 67 * 129 * 93),
    "linear_recurrence": (2 * 3 * 37 * 29 * F, 3 * 37 * 29 * F, 0.0),
    "log_softmax": (23 * 1013 * F, 23 * 1013 * F, 0.0),
    "masked_softmax": (0, 3 * 77 * 77 * F, 0.0),
    "matmul": ((67 * 129 + 129 * 93) * F, 67 * 93 * F, 2.0 * 67 * 129 * 93),
    "matvec": ((211 * 1021 + 1021) * F, 211 * F, 0.0),
    "max_pool2d": (3 * 5 * 33 * 29 * F, 3 * 5 * 17 * 15 * F, 0.0),
    "mish": (31 * 1021 * F, 31 * 1021 * F, 0.0),
    "moe": (45 * 67 * 2 + 45 * 2 * (8 + 2), 45 * 51 * 2, 1.5 * 2 * 45 * 67 * 51),
    "mse_loss": (2 * 41 * 1013 * F, F, 0.0),
    "paged_attention": ((3 * 6 * 32 + 2 * 33 * 4 * 2 * 32) * 2 + 3 * 8, 3 * 6 * 32 * 2, 0.0),
    "quantised_matmul": ((5 * 131 + 77) * F + 77 * 131, 5 * 77 * F, 0.0),
    "rms_norm": ((29 * 771 + 771) * F, 29 * 771 * F, 0.0),
    "rms_norm_backward": ((2 * 29 * 515 + 515) * F, (2 * 29 * 515 + 515) * F, 0.0),
    "rms_norm_fp8": ((31 * 765 + 765) * 2, 31 * 765 + 31 * F, 0.0),
    "rms_norm_sizes": ((33 * 1024 + 1024) * F, 33 * 1024 * F, 0.0),
    "rope": (2 * 3 * 51 * 22 * F, 2 * 3 * 51 * 22 * F, 0.0),
    "rope_qk_norm": (29 * 8 * 22 * 2 + 29 * 8 + 2 * 22 * 2, 29 * 8 * 22 * 2, 0.0),
    "row_statistics": (53 * 1021 * F, 4 * 53 * F, 0.0),
    "selective_scan": ((2 * 3 * 37 * (29 + 5) + 29 * 5 + 29) * F, 3 * 37 * 29 * F, 0.0),
    "small_matmul": (2 * 301 * 169 * F, 301 * 169 * F, 0.0),
    "softmax": (17 * 1021 * F, 17 * 1021 * F, 0.0),
    "sort_rows": (13 * 501 * F, 13 * 501 * (F + 8), 0.0),
    "sum_reduction": (5 * 257 * 63 * F, 5 * 63 * F, 0.0),
    "swiglu": (37 * 2 * 509 * F, 37 * 509 * F, 0.0),
    "swiglu_mlp": ((29 * 64 + 3 * 64 * 171) * 2, 29 * 64 * 2, 4.5 * 29 * 64 * 171),
    "tensor_parallel_mlp": ((3 * 13 * 64 + 3 * 64 * 43) * 2, 3 * 13 * 64 * 2, 4.5 * 3 * 13 * 64 * 43),
    "top_p_sampling": (37 * 1009 * F, 37 * 8, 0.0),
    "topk": (13 * 701 * F, 13 * 7 * (F + 8), 0.0),
    "transformer_block": (
        (2 * 33 * 48 + 4 * 48 + 4 * 48 * 48 + 4 * 48 + 8 * 48 * 48 + 5 * 48) * F,
        2 * 33 * 48 * F,
        24.0 * 2 * 33 * 48 * 48,
    ),
    "transpose": (131 * 517 * F, 131 * 517 * F, 0.0),
    "w4a16_matmul": ((5 * 192 + 77 * 6) * 2 + 77 * 96, 5 * 77 * 2, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_work_of_the_shipped_problems(name: str) -> None:
    found = work(load(PROBLEMS[name]).instance("small"))
    assert found == declared(*SMALL_WORK[name], found.precision)


@pytest.mark.gpu
def test_a_device_is_measured_within_sane_limits(gpu: torch.device) -> None:
    first, again = floor_peaks(gpu, again=True), floor_peaks(gpu, again=True)
    l2_bytes = cache_bytes(gpu)
    assert 1e11 < first.copies.per_s < 2e13 and 5e12 < first.products.per_s < 1e16
    assert 1 << 20 <= l2_bytes <= 1 << 30
    assert first.copies.per_s <= again.copies.per_s < 1.1 * first.copies.per_s
    assert first.products.per_s <= again.products.per_s < 1.2 * first.products.per_s
    # Nothing that is honestly done goes past the margin: a sum reads only, a fill writes only.
    data = torch.zeros(8 * l2_bytes // 4, device=gpu)
    for done in (lambda: data.sum(), lambda: data.fill_(1.0)):
        assert (data.nbytes - l2_bytes) / best_s(done, gpu, 10) < limits.PEAK_MARGIN * again.copies.per_s


@pytest.mark.gpu
def test_a_time_below_a_calibrated_floor_is_held_against_a_measurement_too(gpu: torch.device) -> None:
    """A calibration on a slow day must disqualify no submission."""
    case = load(PROBLEMS["gelu_tanh"]).instance("full")
    model = case.model(1, gpu)
    slow = CALIBRATION.model_copy(update={"ceilings": tuple(each.model_copy(update={"per_s": 1e9}) for each in CALIBRATION.ceilings)})
    slack, strict = (find_minimum_time(case, model, Oracle(model, False), gpu, slow, runtime_ms) for runtime_ms in (1e6, 1.0))
    assert slack is not None and strict is not None
    assert slack.bytes_per_s == 1e9 and strict.bytes_per_s > 1e11
    assert strict.floor_ms < 1.0 < slack.floor_ms


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_shipped_reference_is_faster_than_its_floor_and_no_floor_is_idle(gpu: torch.device, name: str) -> None:
    case = load(PROBLEMS[name]).instance("full")
    model = case.model(fresh_seed(), gpu)
    oracle = Oracle(model, False)
    arguments = case.inputs(fresh_seed(), gpu)
    floor = find_minimum_time(case, model, oracle, gpu)
    assert floor is not None and floor.declared
    in_small_cache = minimum_time_of(known_demand(case, model, oracle, gpu), floor_peaks(gpu), min(floor.l2_bytes, SMALL_L2_BYTES))
    reference_ms = best_s(lambda: oracle.expected(arguments), gpu, 5) * 1e3
    assert floor_finding(floor, reference_ms) is None, (floor.floor_ms, reference_ms)
    assert in_small_cache.floor_ms > LEAST_FLOOR_MS, in_small_cache


@pytest.mark.gpu
def test_a_floor_that_counts_too_much_is_told_on_the_device(gpu: torch.device, tmp_path: Path) -> None:
    case = case_of(tmp_path, "return x[:1] * 2", "{'cases': {'full': {'rows': 20_000_000}}, 'floor': {'reads': [0]}}")
    model = case.model(1, gpu)
    floor = find_minimum_time(case, model, Oracle(model, False), gpu)
    assert floor is not None
    arguments = case.inputs(1, gpu)
    finding = floor_finding(floor, best_s(lambda: Oracle(model, False).expected(arguments), gpu, 5) * 1e3)
    assert finding is not None and finding.check == "floor"
