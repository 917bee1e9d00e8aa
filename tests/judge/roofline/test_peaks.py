"""Measured peak rates of a device."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from evaluator.judge.roofline import peaks
from evaluator.judge.roofline.peaks import PeakMeter, best_s, cache_bytes, formats, measure
from evaluator.machine.devices import choose
from evaluator.results.calibration import COPY

pytestmark = pytest.mark.slow(30)

CPU = torch.device("cpu")


def test_a_processor_copies_and_multiplies_at_believable_rates() -> None:
    copied = measure(COPY, CPU)
    assert copied is not None and 1e8 < copied < 5e12
    rates = {name: measure(name, CPU) for name in formats(CPU)}
    assert all(rate is not None and 1e7 < rate < 1e15 for rate in rates.values()), rates


def test_the_last_cache_is_the_largest_that_the_kernel_tells_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, size in enumerate(("32K", "1024K", "32M", "x")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{size}\n")
    monkeypatch.setattr(peaks, "HOST_CACHES", tmp_path)
    assert cache_bytes(CPU) == 32 << 20
    monkeypatch.setattr(peaks, "HOST_CACHES", tmp_path / "nowhere")
    assert cache_bytes(CPU) == 0


def test_the_shortest_counts_and_not_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    durations_s, now_s = iter([1.0, 8.0, 2.0, 4.0]), [0.0]

    def work() -> None:
        now_s[0] += next(durations_s)

    monkeypatch.setattr(peaks, "time", SimpleNamespace(perf_counter=lambda: now_s[0]))
    assert best_s(work, CPU, 3) == 2.0


def test_a_format_that_the_device_does_not_have_has_no_rate_and_the_setting_of_tf32_is_put_back() -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    assert measure("float3", CPU) is None
    assert measure("tf32", CPU) is not None
    assert torch.backends.cuda.matmul.allow_tf32 is before


def test_the_best_measurement_of_a_process_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    figures = iter([2.0, 5.0, 3.0, None])
    monkeypatch.setattr(peaks, "measure", lambda *_: next(figures))
    meter = PeakMeter()
    assert [meter.measure(COPY, CPU) for _ in range(4)] == [2.0, 5.0, 5.0, 5.0]
    assert meter.recall(COPY, CPU) == 5.0, "without measuring again"


def test_what_two_measurements_have_reached_is_kept_for_other_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither one that is too high, nor one that failed, counts for ever."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    figures = iter([None, 2.0, 9e15, 3.0])
    monkeypatch.setattr(peaks, "measure", lambda *_: next(figures))
    assert PeakMeter().measure(COPY, CPU) is None
    meter = PeakMeter()
    assert [meter.measure(COPY, CPU) for _ in range(3)] == [2.0, 9e15, 9e15]
    assert PeakMeter().recall(COPY, CPU) == 3.0


def test_a_processors_peak_is_measured_once_for_all_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    figures = iter([2.0, 2.01])
    monkeypatch.setattr(peaks, "measure", lambda *_: next(figures))
    assert [PeakMeter().recall(COPY, CPU), PeakMeter().recall(COPY, CPU)] == [2.01, 2.0], "the rate that two measurements reached"


@pytest.mark.gpu
def test_a_gpu_reaches_what_it_is_known_for() -> None:
    device, _ = choose("cuda")
    gpu = torch.device(device.spec)
    rates = {name: measure(name, gpu) for name in (COPY, *formats(gpu))}
    print({name: rate and f"{rate:.4g}" for name, rate in rates.items()})
    copied, single, half = rates[COPY], rates["float32"], rates["float16"]
    assert copied is not None and single is not None and half is not None
    assert 1e11 < copied < 2e13 and 1e12 < single < half < 1e16
    tf32, eight = rates["tf32"], rates["float8"]
    if device.capability is not None and device.capability >= (8, 0):
        assert tf32 is not None and single < tf32 < half
    if device.capability is not None and device.capability >= (9, 0):
        assert eight is not None and eight > half and rates["int8"] is not None
