"""A calibration that was stored is what a run's times are held against."""

from pathlib import Path

import pytest

from db.calibrations import save
from db.store import Store
from evaluator.judge.roofline import calibration_run
from evaluator.machine.devices import cpu
from tests.command_line import PROBLEM, Bench, submission

pytestmark = pytest.mark.slow(10)


def test_a_run_holds_times_against_the_stored_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    bench.write("problems/square.py", PROBLEM.format(operation="@ x"))
    bench.write("square/right.py", submission("x @ x"))
    monkeypatch.setattr(calibration_run, "measure", lambda *_: 1e6)
    calibration, _ = calibration_run.calibrate(cpu())
    with Store.open(f"sqlite:///{bench.database}") as store:
        save(store, calibration)
    (record,) = bench.run("square", "--json", "-").records
    with Store.open(f"sqlite:///{bench.database}", read_only=True) as store:
        stored = store.get(record["id"])
    assert stored is not None
    light = stored.result.evidence.light
    assert light is not None and light.calibrated_at == calibration.measured_at
    assert light.light_ms == pytest.approx(2 * 16**3 / 1e6 * 1e3)
    assert record["speed_of_light"] == pytest.approx(light.light_ms / record["runtime_ms"])
    assert record["baseline_speed_of_light"] == pytest.approx(light.light_ms / record["baseline_ms"])
