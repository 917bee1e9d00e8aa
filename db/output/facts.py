"""Parts of the evidence in words, shared by the command line and the pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluator.results.category import CATEGORIES, Status
from evaluator.results.display.figures import cores_text, count_text, percent, rate_text
from evaluator.results.evidence import (
    AblationEvidence,
    ChangedInputsEvidence,
    ConditionsEvidence,
    DeviceState,
    FloorEvidence,
    KernelProfile,
    LightEvidence,
    OwnWorkEvidence,
    ParametersEvidence,
    ProfiledSide,
    ProfileEvidence,
    ShapeEvidence,
    TimingEvidence,
)
from evaluator.results.protocol_names import DESCRIPTIONS
from evaluator.results.result import Result

_OF_CUDA = ("nvcc", "setting matmul_tf32", "setting cudnn_tf32", "setting cudnn_benchmark", "setting arch")
_FIGURES = ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w")


@dataclass(frozen=True, slots=True)
class Spell:
    """Consecutive readings of the device in one stage. Figures are their minimum and maximum; empty if not known."""

    stage: str
    readings: int
    sm_clock_mhz: str
    memory_clock_mhz: str
    temperature_c: str
    power_w: str
    throttled: str
    """Reasons that limited its clock, each once."""
    others: int | str
    """Maximum number of other processes seen on it."""


def spells(states: Sequence[DeviceState]) -> Iterator[Spell]:
    """The readings, grouped by stage."""
    for stage, group in groupby(states, key=lambda state: state.stage):
        found = list(group)
        sm_clock, memory_clock, temperature, power = (_range([getattr(state, name) for state in found]) for name in _FIGURES)
        reasons = dict.fromkeys(reason for state in found if state.throttled for reason in state.throttled.split(", "))
        others = max((state.other_processes for state in found if state.other_processes is not None), default=None)
        told = "not known" if others is None else others
        yield Spell(stage, len(found), sm_clock, memory_clock, temperature, power, ", ".join(reasons), told)


def _protocol_text(name: str | None) -> str | None:
    return f"{name}: {DESCRIPTIONS[name]}" if name in DESCRIPTIONS else name


def _statistic_text(timing: TimingEvidence) -> str | None:
    if timing.of_baselines == "median":
        return None
    if timing.statistic == timing.of_baselines:
        return "the lower quartile of its samples"
    return "the median of the submission's samples, since its other processes compute; the lower quartile of the baseline's"


def timing_facts(timing: TimingEvidence) -> dict[str, object]:
    """What a time measures, how the timing went, and what was added to it; None for facts that don't apply."""
    cores = f"{cores_text(timing.cores)}, {len(timing.cores)} in all" if timing.cores else None
    charged = {
        "work before the call": timing.ahead_ms,
        "late outputs": max(timing.deferred_ms, timing.arrives_late_ms),
        "work after the output": timing.background_ms,
        "time missing from the claims": timing.unclaimed_ms,
    }
    facts: dict[str, object] = {
        "protocol": _protocol_text(timing.protocol),
        "not timed as requested": timing.fallback or None,
        "a side's time": _statistic_text(timing),
        "ended": _ending_text(timing) if timing.stop else None,
        "host time to launch a call, not included": _host_text(timing),
        "subtracted from each call": f"{timing.candidate.blank_ms * 1e3:.3g} µs, the time of its events"
        if timing.candidate.launch_lead_ms
        else None,
        "pinned to cores": f"{cores}; a thread had left them" if timing.strayed else cores,
    }
    facts |= {f"added for {what}": f"{ms:.4g} ms" for what, ms in charged.items() if ms}
    facts |= {f"baseline {kind} could not be timed": reason for kind, reason in timing.failed_baselines.items()}
    if timing.contested is not None:
        other = timing.contested
        facts["timed twice, since the judge's clock added to the claims; other time"] = (
            f"{other.runtime_ms:.5g} ms, of which {other.late_ms:.4g} ms were added; baseline {other.baseline_ms:.5g} ms"
        )
    return facts | {"baseline without the submission, which counts": f"{timing.baseline_ms:.5g} ms" if timing.disturbed else None}


def _host_text(timing: TimingEvidence) -> str | None:
    """Host time to launch a call on a GPU; None if the times include it, and on the CPU."""
    sides = {"(submission)": timing.candidate, "(baseline)": timing.baseline}
    told = [f"{side.host_ms:.3g} ms {name}" for name, side in sides.items() if side.host_ms is not None and side.launch_lead_ms]
    return ", ".join(told) or None


def _ending_text(timing: TimingEvidence) -> str:
    """How the timing began and ended."""
    why = {"precise": "the speedup was known to 1 %", "budget": "its time budget was spent"}.get(timing.stop, timing.stop)
    began = f"{timing.warm_up_calls} calls of each to warm up{'' if timing.steady else ', after which times still changed'}"
    return f"when {why}: {timing.blocks} timing blocks of {timing.calls_in_block} calls, after {began}"


def shape_words(shape: ShapeEvidence) -> tuple[str, str]:
    """The name of a shape, and its verdict."""
    verdict = "right" if shape.right else "not known" if shape.right is None else str(shape.category)
    return shape.case if shape.declared else f"{shape.case} (made from the problem's numbers)", verdict


def inputs_word(changed: ChangedInputsEvidence) -> str:
    """The verdict on inputs of another distribution."""
    return {True: "right", False: "wrong", None: "left out"}[changed.right]


def parameters_facts(parameters: ParametersEvidence) -> dict[str, object]:
    """Where the submission's parameters come from; None for facts that don't apply."""
    copied = parameters.source == "copied"
    return {
        "source": "copied from the reference, by name and shape" if copied else "its own, initialized with the reference's seed",
        "kept: equal to a reference parameter of another name": ", ".join(parameters.kept) or None,
        "converted from the reference's dtype": ", ".join(parameters.converted) or None,
        "without a counterpart in the reference": ", ".join(parameters.unmatched) or None,
        "missing: reference parameters without a counterpart": ", ".join(parameters.missing) or None,
    }


def conditions_facts(conditions: ConditionsEvidence) -> dict[str, object]:
    """Whether the device was undisturbed during the timing; None for facts that are unknown."""
    shared = {True: "yes", False: "no", None: None}[conditions.shared]
    first = None
    if conditions.first_runtime_ms is not None:
        first = f"{conditions.first_runtime_ms:.5g} ms, baseline {conditions.first_baseline_ms:.5g} ms"
    throttled = None if conditions.throttled is None else conditions.throttled or "no"
    crowded = None if conditions.crowded is None else percent(conditions.crowded)
    slow = "too slow to be subtracted" if conditions.slow_requests else None
    found: dict[str, object] = {"shared": shared, "clock lowered": throttled, "waits for CPU cores": crowded, "empty requests": slow}
    return found | {"timed twice; first time": first}


def light_facts(light: LightEvidence) -> dict[str, object]:
    """The speed of light and what it is computed from; None for facts that don't apply."""
    moved = f"{light.moved_bytes / 1e9:.4g} GB" + (f" at {rate_text(light.bytes_per_s, 'B')}" if light.bytes_per_s else "")
    done = f"{light.operations / 1e9:.4g} G" + (f" at {rate_text(light.operations_per_s, 'FLOP')}" if light.operations_per_s else "")
    ceilings = "measured by this evaluation's judge"
    if light.calibrated_at is not None and light.uncertainty is not None:
        ceilings = f"calibrated {light.calibrated_at.isoformat(sep=' ', timespec='seconds')}, to {percent(light.uncertainty)}"
    return {
        "time of a call": f"{light.light_ms:.5g} ms, bound by {light.bound}",
        "bytes to move": moved,
        "operations to compute": f"{done}{f' of {light.arithmetic}' if light.arithmetic else ''}" if light.operations else None,
        "from": "the problem's declaration" if light.declared else "the sizes of inputs and output, and PyTorch's count of operations",
        "ceilings": ceilings,
    }


KERNEL_COLUMNS = (
    *("kernel", "of", "ms", "of memory's peak", "of arithmetic's peak", "occupancy", "limited by", "registers", "shared bytes"),
    *("L2 hits", "MB read", "MB written", "instructions", "waits"),
)
"""Columns of a profile's table."""


def kernel_cells(kernel: KernelProfile, side: str) -> list[str]:
    """The cells of a profiled launch, in the order of KERNEL_COLUMNS; empty if not measured."""

    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    def size(count: int | None) -> str:
        return "" if count is None else f"{count / 1e6:.4g}"

    limit = "" if kernel.occupancy_limit is None else f" of {percent(kernel.occupancy_limit)}"
    counts = ("" if count is None else str(count) for count in (kernel.registers, kernel.shared_bytes))
    return [
        *(kernel.kernel, "its own" if kernel.own else side, "" if kernel.duration_ms is None else f"{kernel.duration_ms:.4g}"),
        *(share(kernel.memory_share), share(kernel.arithmetic_share), f"{share(kernel.occupancy)}{limit}", ", ".join(kernel.limited_by)),
        *(*counts, share(kernel.l2_hit_share), size(kernel.read_bytes), size(kernel.written_bytes)),
        "" if kernel.instructions is None else f"{kernel.instructions:.4g}",
        ", ".join(f"{stall.reason} {percent(stall.share)}" for stall in kernel.stalls),
    ]


def profile_facts(profile: ProfileEvidence) -> dict[str, object]:
    """What was profiled, and the whole calls of both sides; None for facts that don't apply."""
    light = profile.light
    needed = None
    if light is not None:
        needed = f"{light.read_bytes / 1e6:.4g} MB read, {light.written_bytes / 1e6:.4g} MB written"
        needed += f", {light.operations / 1e9:.4g} G operations" if light.operations else ""
    return {
        "remark": profile.remark or None,
        "the problem needs": needed,
        "submission": _side_text(profile.submission),
        "reference": _side_text(profile.reference),
    }


def _side_text(side: ProfiledSide | None) -> str | None:
    if side is None:
        return None
    words = [side.outcome] + ([side.remark] if side.remark else [])
    if side.kernels:
        count = count_text(len(side.kernels), "kernel")
        words.append(f"{count}, only a part of the call" if side.partial else count)
    if side.duration_ms is not None:
        words.append(f"{side.duration_ms:.4g} ms")
    if side.moved_bytes is not None:
        words.append(f"{side.moved_bytes / 1e6:.4g} MB to and from device memory")
    if side.passes is not None:
        words.append(f"{count_text(side.passes, 'pass', 'passes')}, {side.duration_s:.1f} s")
    return "; ".join(words)


def ablation_text(ablation: AblationEvidence) -> str:
    """The result of the check without own kernels; a wrong output is expected."""
    if ablation.still_right:
        return "still right: the output does not depend on its own kernels"
    observed = f"{ablation.category or 'failed'}: {ablation.message}"
    if ablation.category is not None and CATEGORIES[ablation.category].status is Status.DISQUALIFIED:
        return observed
    return f"no longer right, as expected: this proves that its own kernels are used ({observed})"


def own_work_text(own_work: OwnWorkEvidence) -> str:
    """The own kernels' share of a call's work, and whether it is enough."""
    return f"{own_work.words}{': too little to count as their result' if own_work.is_too_little else ''}"


def floor_text(floor: FloorEvidence) -> str:
    """The minimum time of a call, and its terms."""
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


def environment_facts(result: Result) -> dict[str, object]:
    """Versions and settings, without those of CUDA if the CPU did all."""
    if result.environment is None:
        return {}
    facts = {name: value for name, value in result.environment if name != "settings"}
    facts |= {f"setting {name}": value for name, value in result.environment.settings.items()}
    uses_cuda = result.device != "cpu" or any(build.uses_cuda for build in result.evidence.builds)
    return {name: value for name, value in facts.items() if uses_cuda or name not in _OF_CUDA}
