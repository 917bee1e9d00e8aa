"""Calls of NVML, with answers and errors."""

import pytest

from evaluator.judge.device.nvml import Nvml, nvml_of
from evaluator.machine.devices import choose
from evaluator.results.evidence import DeviceState
from tests.judge.stand_in_nvml import UUID, StandIn


def opened(library: StandIn) -> Nvml:
    found = Nvml.open(UUID, library)
    assert found is not None
    return found


def test_a_state_has_its_units() -> None:
    assert opened(StandIn()).state("before", 0.5, 3) == DeviceState(
        stage="before",
        at_s=0.5,
        sm_clock_mhz=1980.0,
        memory_clock_mhz=3201.0,
        temperature_c=41.0,
        power_w=123.5,
        throttled="",
        other_processes=3,
    )


@pytest.mark.parametrize(("mask", "told"), [(0x5, "sw_power_cap"), (1 << 40, "")])
def test_reasons_are_named_and_idleness_is_none(mask: int, told: str) -> None:
    assert opened(StandIn(reasons=lambda: mask)).state("", 0.0, None).throttled == told


def test_what_is_refused_is_not_known() -> None:
    names = (
        "ClockInfo",
        "Temperature",
        "PowerUsage",
        "UtilizationRates",
        "CurrentClocksEventReasons",
        "ComputeRunningProcesses",
        "FieldValues",
        "ViolationStatus",
    )
    mute = opened(StandIn(refused=frozenset(f"nvmlDeviceGet{name}" for name in names)))
    assert mute.state("before", 0.5, None) == DeviceState(stage="before", at_s=0.5)
    assert mute.processes() is None and mute.lowered_ms() == {} and mute.utilization() is None


def test_utilization_is_a_share() -> None:
    assert opened(StandIn()).utilization() == 0.64


def test_functions_that_an_older_module_lacks_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = opened(StandIn())
    monkeypatch.delattr(StandIn, "nvmlDeviceGetCurrentClocksEventReasons")
    state = watched.state("", 0.0, None)
    assert state.throttled is None and state.power_w == 123.5


def test_a_device_that_nvml_does_not_know_is_none() -> None:
    assert Nvml.open("GPU-other", StandIn()) is None
    assert Nvml.open(UUID, StandIn(refused=frozenset({"nvmlInit"}))) is None


def test_counters_are_milliseconds_and_those_that_the_driver_lacks_are_left_out() -> None:
    assert opened(StandIn(lowered_ns=lambda: {270: 5_000_000, 271: 0})).lowered_ms() == {
        "hw_thermal_slowdown": 5.0,
        "hw_power_brake_slowdown": 0.0,
    }
    assert opened(StandIn()).lowered_ms() == {"sw_thermal_slowdown": 7.0}, "an older driver counts heat as a whole"


def test_nothing_is_ever_set() -> None:
    library = StandIn()
    watched = opened(library)
    watched.state("", 0.0, None)
    watched.processes()
    watched.lowered_ms()
    assert all(name in ("nvmlInit",) or name.startswith("nvmlDeviceGet") for name in library.asked), library.asked


def test_without_a_driver_there_is_no_nvml() -> None:
    assert nvml_of("GPU-00000000-0000-0000-0000-000000000000") is None


@pytest.mark.gpu
def test_a_gpu_tells_of_itself() -> None:
    device, _ = choose("cuda")
    nvml = nvml_of(device.unique_id)
    assert nvml is not None
    state = nvml.state("now", 0.0, None)
    assert state.sm_clock_mhz is not None and 100 < state.sm_clock_mhz < 5000
    assert state.temperature_c is not None and 10 < state.temperature_c < 110
    assert state.power_w is None or 5 < state.power_w < 2000
    print(state, nvml.processes(), nvml.lowered_ms())
