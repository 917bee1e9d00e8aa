"""Devices: chosen by name, told without torch."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.machine import devices
from evaluator.machine.devices import Device, DeviceError, choose, choose_all, cpu, cpu_count, cpu_name, node_minor

H200 = Device("cuda:0", "NVIDIA H200", "ab", (9, 0))
OTHER = Device("cuda:1", "NVIDIA L4", "cd", (8, 9))


INFORMATION = "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-1\nBus Location: \t 0000:e5:00.0\nDevice Minor: \t {}\nGPU Excluded:\t No\n"


@pytest.mark.parametrize(
    ("bus_id", "minor"), [("0000:65:00.0", 0), ("0000:E5:00.0", 3), ("0000:a1:00.0", None), ("0000:b2:00.0", None), ("", None)]
)
def test_the_driver_tells_which_node_is_a_gpus(tmp_path: Path, bus_id: str, minor: int | None) -> None:
    for name, text in (("0000:65:00.0", "0"), ("0000:e5:00.0", "3"), ("0000:a1:00.0", "5"), ("0000:b2:00.0", "?")):
        folder = tmp_path / "driver" / "nvidia" / "gpus" / name
        folder.mkdir(parents=True)
        (folder / "information").write_text(INFORMATION.format(text))
    for node in ("nvidia0", "nvidia3", "nvidiactl"):
        (tmp_path / node).touch()
    assert node_minor(bus_id, tmp_path, tmp_path) == minor


@pytest.fixture(params=[[], [H200], [H200, OTHER]], ids=["no GPU", "one GPU", "two GPUs"])
def shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """A machine with these GPUs."""
    found: list[Device] = request.param
    monkeypatch.setattr(devices, "gpus", lambda: found)
    return found


def test_auto_is_the_first_gpu_or_the_cpu_in_its_place(shown: list[Device]) -> None:
    assert choose("auto") == ((H200, False) if shown else (cpu(), True))


def test_the_cpu_asked_for_by_name_stands_in_for_nothing(shown: list[Device]) -> None:
    assert choose("cpu") == (cpu(), False)


@pytest.mark.parametrize("wanted", ["cuda", "cuda:0", "cuda:1", "cuda:7"])
def test_a_gpu_that_is_there_is_found_and_one_that_is_not_is_an_error(shown: list[Device], wanted: str) -> None:
    index = int(wanted[5:] or 0)
    if index < len(shown):
        assert choose(wanted) == (shown[index], False)
    else:
        with pytest.raises(DeviceError, match=f"no device {wanted}: this machine shows {len(shown)} GPU"):
            choose(wanted)


def test_auto_and_cuda_are_all_gpus_of_the_first_ones_model(shown: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_all("cpu") == ((cpu(),), False)
    if not shown:
        assert choose_all("auto") == ((cpu(),), True)
        return
    twin = replace(H200, spec="cuda:2", unique_id="ef")
    monkeypatch.setattr(devices, "gpus", lambda: [*shown, *([OTHER] if len(shown) < 2 else []), twin])
    assert choose_all("auto") == choose_all("cuda") == ((H200, twin), False)
    assert choose_all("cuda:1") == ((OTHER,), False)
    assert choose_all("cuda:2") == ((twin,), False)


@pytest.mark.parametrize("wanted", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "cuda:0\n", "cpu:0"])
def test_other_names_are_errors(wanted: str) -> None:
    with pytest.raises(DeviceError, match="auto, cuda, cuda:N or cpu"):
        choose(wanted)


def test_a_process_is_shown_its_own_device_alone() -> None:
    told = [(device.kind, device.torch_device, device.visible) for device in (cpu(), H200, OTHER)]
    assert told == [("cpu", "cpu", ""), ("cuda", "cuda:0", H200.unique_id), ("cuda", "cuda:0", OTHER.unique_id)]


def test_the_processor_has_a_name_and_a_count() -> None:
    assert cpu_name().strip() == cpu().name != ""
    assert cpu_count() >= 1


def test_telling_the_devices_does_not_import_torch() -> None:
    program = "import sys; from evaluator.machine.devices import choose; choose('auto'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.gpu
def test_every_gpu_has_a_name_an_id_and_a_capability() -> None:
    found = devices.gpus()
    assert found
    assert len({device.unique_id for device in found}) == len(found)
    for index, device in enumerate(found):
        assert device.spec == f"cuda:{index}"
        assert device.name
        assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", device.unique_id)
        assert device.capability is not None and device.capability >= (5, 0)
        assert device.memory_bytes is not None and device.memory_bytes > 1 << 30
