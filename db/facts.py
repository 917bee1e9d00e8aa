"""Parts of the evidence in words, for whatever shows an evaluation: the command line and the pages say the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluator.evidence import ConditionsEvidence, DeviceState, FloorEvidence, LightEvidence
from evaluator.figures import percent, rate_text

_FIGURES = ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w")


@dataclass(frozen=True, slots=True)
class Spell:
    """Readings of the device in a row, in one stage; figures are the least and the largest of them, empty where they are not known."""

    stage: str
    readings: int
    sm_clock_mhz: str
    memory_clock_mhz: str
    temperature_c: str
    power_w: str
    throttled: str
    """What held its clock, each reason once."""
    others: int | str
    """The most processes of others that were seen on it."""


def spells(states: Sequence[DeviceState]) -> Iterator[Spell]:
    """The readings, those of one stage together."""
    for stage, group in groupby(states, key=lambda state: state.stage):
        found = list(group)
        sm_clock, memory_clock, temperature, power = (_range([getattr(state, name) for state in found]) for name in _FIGURES)
        reasons = dict.fromkeys(reason for state in found if state.throttled for reason in state.throttled.split(", "))
        others = max((state.other_processes for state in found if state.other_processes is not None), default=None)
        told = "not known" if others is None else others
        yield Spell(stage, len(found), sm_clock, memory_clock, temperature, power, ", ".join(reasons), told)


def conditions_facts(conditions: ConditionsEvidence) -> dict[str, object]:
    """Whether the times are those of an undisturbed device; None stands for what does not apply."""
    shared = {True: "yes", False: "no", None: "not known"}[conditions.shared]
    first = None
    if conditions.first_runtime_ms is not None:
        first = f"{conditions.first_runtime_ms:.5g} ms, baseline {conditions.first_baseline_ms:.5g} ms"
    throttled = "not known" if conditions.throttled is None else conditions.throttled or "no"
    return {"shared": shared, "clock lowered": throttled, "timed twice; the first time": first}


def light_facts(light: LightEvidence) -> dict[str, object]:
    """What the speed of light is here, and what it rests on; None stands for what does not apply."""
    moved = f"{light.moved_bytes / 1e9:.4g} GB" + (f" at {rate_text(light.bytes_per_s, 'B')}" if light.bytes_per_s else "")
    done = f"{light.operations / 1e9:.4g} G" + (f" at {rate_text(light.operations_per_s, 'FLOP')}" if light.operations_per_s else "")
    ceilings = "measured for this evaluation's judge"
    if light.calibrated_at is not None and light.uncertainty is not None:
        ceilings = f"calibrated {light.calibrated_at.isoformat(sep=' ', timespec='seconds')}, to {percent(light.uncertainty)}"
    return {
        "time of a call": f"{light.light_ms:.5g} ms, bound by {light.bound}",
        "to be moved": moved,
        "to be computed": f"{done}{f' of {light.arithmetic}' if light.arithmetic else ''}" if light.operations else None,
        "both as": "the problem declares" if light.declared else "the inputs' and the answer's size and PyTorch's count of operations say",
        "ceilings": ceilings,
    }


def floor_text(floor: FloorEvidence) -> str:
    """The least time of a call, with what it is made of."""
    what = f"{floor.moved_bytes / 1e9:.4g} GB at {floor.bytes_per_s / 1e12:.3g} TB/s"
    if floor.operations:
        what += f", {floor.operations / 1e12:.4g} T operations at {floor.operations_per_s / 1e12:.4g} T/s"
    return f"{floor.floor_ms:.5g} ms: {what}, with a margin of {floor.margin:.4g}"


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = f"{min(known):.4g}", f"{max(known):.4g}"
    return low if low == high else f"{low}–{high}"
