"""`assay calibrate`: it measures a device, prints and stores the rates, and the judge finds them."""

import json
import re
import sys
from pathlib import Path

import pytest

from command import calibrate as calibrate_command
from command.calibrate import EXIT_DISTURBED, EXIT_USAGE, main
from db.calibrations import newest
from db.store import Store
from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions
from evaluator.judge.roofline import calibration_run, peaks
from evaluator.judge.roofline.calibration_run import calibrate
from evaluator.machine import devices
from evaluator.machine.devices import choose
from evaluator.results.calibration import COPY, Calibration, Ceiling
from evaluator.results.evidence import ConditionsEvidence
from evaluator.results.result import now
from evaluator.sandbox import Zygote, best_level
from tests.judge.conftest import own_cpu
from tests.screens import WIDTHS, assert_fits

pytestmark = pytest.mark.slow(2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies and products of little work."""
    for name, value in {"LEAST_COPY_BYTES": 1 << 20, "HOST_PRODUCT_SIZE": 128, "cache_bytes": lambda _: 0}.items():
        monkeypatch.setattr(peaks, name, value)


@pytest.mark.usefixtures("small")
def test_a_calibration_is_printed_stored_and_found_by_a_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = own_cpu()
    monkeypatch.setattr(devices, "choose", lambda _: (device, False))
    url = f"sqlite:///{tmp_path}/assay.db"
    assert main(["--db", url, "--device", "cpu", "--json"]) == 0
    printed = Calibration.model_validate_json(capsys.readouterr().out)
    assert {ceiling.name for ceiling in printed.ceilings} >= {COPY, "float32"}
    assert all(0 <= ceiling.uncertainty < 1 for ceiling in printed.ceilings)
    with Store.open(url) as store:
        (stored,) = known = newest(store, [device.unique_id])
    assert stored.measured_at == printed.measured_at and stored.ceiling(COPY) == printed.ceiling(COPY)
    other = stored.model_copy(update={"torch": "1.0"})
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=tmp_path, calibrations=(other, *known))
    with Zygote.start((), best_level()) as zygote:
        assert make_context(options, zygote).calibration == stored


@pytest.mark.usefixtures("small")
def test_a_table_for_people_names_what_was_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "choose", lambda _: (own_cpu(), False))
    monkeypatch.setattr(calibration_run, "REPETITIONS", 1)
    assert main(["--db", f"sqlite:///{tmp_path}/assay.db"]) == 0
    told = capsys.readouterr()
    units = dict(re.findall(r"^(\w+) .*? .?(B/s|FLOP/s) ", told.out, re.MULTILINE))
    assert units[COPY] == "B/s" and units["float32"] == "FLOP/s", told.out
    assert "stored in" in told.err


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_fits(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = (COPY, "float32", "bfloat16", "float8_e4m3fn_with_a_name_that_is_long")
    ceilings = tuple(Ceiling(name=name, per_s=1e12, uncertainty=0.01) for name in names)
    device = {"device_id": "GPU-0", "device_name": "NVIDIA H200 of a name that is longer than most", "torch": "2.11.0"}
    made = Calibration(**device, measured_at=now(), repetitions=5, ceilings=ceilings)
    sys.stdout.write(calibrate_command._text(made))
    rows = assert_fits(capsys.readouterr().out, width, ["ceiling", "reached", "uncertainty"], ["ceiling", "reached"])
    assert len(rows) == len(names)


@pytest.mark.usefixtures("small")
def test_nothing_is_stored_of_a_disturbed_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ConditionsEvidence(shared=True, throttled="")
    measured = calibrate(own_cpu())[0]
    monkeypatch.setattr(calibration_run, "calibrate", lambda *_: (measured, shared))
    url = f"sqlite:///{tmp_path}/assay.db"
    assert main(["--db", url, "--device", "cpu", "--json"]) == EXIT_DISTURBED
    told = capsys.readouterr()
    assert json.loads(told.out)["device_id"] == measured.device_id
    assert "not stored: others' processes were on the device" in told.err
    with Store.open(url) as store:
        assert newest(store, [measured.device_id]) == ()


def test_a_device_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cuda:99", "--db", f"sqlite:///{tmp_path}/assay.db"]) == EXIT_USAGE
    assert "no device cuda:99" in capsys.readouterr().err
    assert not (tmp_path / "assay.db").exists()


@pytest.mark.gpu
def test_a_gpu_is_calibrated_in_little_time_and_to_a_few_percent() -> None:
    import time

    device, _ = choose("cuda")
    calibrate(device)  # the libraries' kernels are loaded
    start = time.monotonic()
    calibration, conditions = calibrate(device)
    took_s = time.monotonic() - start
    print(f"{took_s:.2f} s, {conditions}, {calibration}")
    assert took_s < 2
    assert all(ceiling.uncertainty < 0.1 for ceiling in calibration.ceilings), calibration
