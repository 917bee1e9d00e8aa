"""Text of an evaluation's times: both sides, the device's state, the further baselines."""

import statistics
from collections.abc import Iterator

from db.output.facts import conditions_facts, spells, timing_facts
from db.output.layout import Item, facts_table, heading, table_of
from evaluator.results.display.figures import percent
from evaluator.results.evidence import Evidence, TimingEvidence
from evaluator.results.result import Result
from evaluator.results.score import interval_in, speedup_in


def timing_section(timing: TimingEvidence) -> Iterator[Item]:
    yield heading(f"Times in ms (clock {timing.clock}, {timing.calls} calls)")
    table = table_of("side", "median", "lower quartile", "upper quartile", "samples", "wall clock, median")
    others = [(f"baseline {kind}", side) for kind, side in timing.others.items()]
    for name, side in (("submission", timing.candidate), ("baseline", timing.baseline), *others):
        figures = (f"{value:.5g}" for value in (side.median_ms, side.lower_quartile_ms, side.upper_quartile_ms))
        count = f"{len(side.samples_ms)}" + (f", {len(side.outliers)} far off" if side.outliers else "")
        table.add(name, *figures, count, f"{statistics.median(side.wall_ms):.5g}" if side.wall_ms else "")
    yield table
    yield facts_table(timing_facts(timing))


def workloads_section(timing: TimingEvidence) -> Iterator[Item]:
    """The times in each workload; nothing if there is only one case."""
    if not timing.workloads:
        return
    yield heading(f"Workloads ({len(timing.workloads)}; the score is the geometric mean of the speedups)")
    table = table_of("workload", "bytes of inputs", "submission in ms", "baseline in ms", "speedup", "95 % interval", "message")
    for each in timing.workloads:
        held = interval_in(each)
        times = ("", "") if each.timing is None else (f"{each.timing.runtime_ms:.5g}", f"{each.timing.baseline_ms:.5g}")
        between = "" if held is None else f"{held[0]:.3g} to {held[1]:.3g}"
        table.add(each.case, each.input_bytes or "", *times, f"{speedup_in(each):.3g}", between, each.message)
    yield table


def device_section(evidence: Evidence) -> Iterator[Item]:
    """The device's state before, during and after each timing."""
    yield heading("The device during the timing")
    if evidence.device_states:
        table = table_of("when", "readings", "SM MHz", "memory MHz", "°C", "W", "clock limited by", "other processes")
        for spell in spells(evidence.device_states):
            figures = (spell.sm_clock_mhz, spell.memory_clock_mhz, spell.temperature_c, spell.power_w, spell.throttled, spell.others)
            table.add(spell.stage, spell.readings, *figures)
        yield table
    if evidence.conditions is not None:
        yield facts_table(conditions_facts(evidence.conditions))


def baselines_text(result: Result) -> str | None:
    """The further baselines, and which of all is the fastest."""
    further = [
        f"{kind} {time_ms:.4g} ms, speedup {speedup:.4g}" for kind, (time_ms, speedup) in result.baselines.items() if kind != "eager"
    ]
    return "; ".join([*further, f"the best is {result.best_baseline}"]) if further else None


def speed_of_light_text(result: Result) -> str | None:
    share, baseline_share = result.speed_of_light, result.baseline_speed_of_light
    return None if share is None or baseline_share is None else f"{percent(share)}, baseline {percent(baseline_share)}"
