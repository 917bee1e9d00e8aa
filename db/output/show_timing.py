"""Text of an evaluation's times: both sides, the device meanwhile, the further baselines."""

import statistics
from collections.abc import Iterator

from db.output.facts import conditions_facts, spells, timing_facts
from db.output.layout import Item, facts_table, heading, table_of
from evaluator.results.evidence import Evidence, TimingEvidence
from evaluator.results.figures import percent
from evaluator.results.result import Result


def timing_section(timing: TimingEvidence) -> Iterator[Item]:
    suffix = "" if timing.unexplained_ms is None else f", {timing.unexplained_ms:+.4f} ms unexplained"
    yield heading(f"Times in ms (clock {timing.clock}, {timing.calls} calls{suffix})")
    table = table_of("side", "median", "lower quartile", "upper quartile", "samples", "wall clock, median")
    others = [(f"baseline {kind}", side) for kind, side in timing.others.items()]
    for name, side in (("submission", timing.candidate), ("baseline", timing.baseline), *others):
        figures = (f"{value:.5g}" for value in (side.median_ms, side.lower_quartile_ms, side.upper_quartile_ms))
        count = f"{len(side.samples_ms)}" + (f", {len(side.outliers)} far off" if side.outliers else "")
        table.add(name, *figures, count, f"{statistics.median(side.wall_ms):.5g}" if side.wall_ms else "")
    yield table
    yield facts_table(timing_facts(timing))


def device_section(evidence: Evidence) -> Iterator[Item]:
    """The state of the device: before and after each timing, and what it was within between them."""
    yield heading("The device while it was timed on")
    if evidence.device_states:
        table = table_of("when", "readings", "SM MHz", "memory MHz", "°C", "W", "clock held by", "others on it")
        for spell in spells(evidence.device_states):
            figures = (spell.sm_clock_mhz, spell.memory_clock_mhz, spell.temperature_c, spell.power_w, spell.throttled, spell.others)
            table.add(spell.stage, spell.readings, *figures)
        yield table
    if evidence.conditions is not None:
        yield facts_table(conditions_facts(evidence.conditions))


def baselines_text(result: Result) -> str | None:
    """The further baselines, the fastest of all named."""
    further = [
        f"{kind} {time_ms:.4g} ms, speedup {speedup:.4g}" for kind, (time_ms, speedup) in result.baselines.items() if kind != "eager"
    ]
    return "; ".join([*further, f"the best is {result.best_baseline}"]) if further else None


def speed_of_light_text(result: Result) -> str | None:
    share, baseline_share = result.speed_of_light, result.baseline_speed_of_light
    return None if share is None or baseline_share is None else f"{percent(share)}, baseline {percent(baseline_share)}"
