"""All that is known about one evaluation, as text and as JSON."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict

from rich.text import Text

from db.output.facts import ablation_text, environment_facts, floor_text, light_facts, own_work_text, parameters_facts
from db.output.layout import Item, facts_table, heading, table_of
from db.output.show_correctness import inputs_section, rounds_section, sanitizer_section, shapes_section
from db.output.show_execution import build_section, exception_section, exit_facts, launches_section, profile_section
from db.output.show_timing import baselines_text, device_section, speed_of_light_text, timing_section, workloads_section
from db.store import StoredEvaluation
from evaluator.results.display.screen import rendered
from evaluator.results.display.text import block
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result

MAX_ORIGINS = 20
"""Maximum requests of training runs that are shown; the JSON has all."""
LEAST_HELD_S = 0.0005
"""Minimum seconds of a stage's device time that are shown, with three decimals."""


def evaluation_json(stored: StoredEvaluation, with_source: bool) -> str:
    """The result's fields, `evidence`, `environment`, `id`, `speedup_interval` and `origins`; with the source also `source` and
    `source_exact`."""
    value = {"id": stored.id, "speedup_interval": stored.speedup_interval} | json.loads(stored.result.model_dump_json())
    value |= stored.result.derived() | {"speedup_interval": stored.speedup_interval, "origins": [asdict(each) for each in stored.origins]}
    if with_source:
        value |= {"source": stored.source, "source_exact": stored.source_exact}
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def evaluation_text(stored: StoredEvaluation, with_source: bool) -> str:
    """A section for each part of the evidence that was observed."""
    result = stored.result
    items = [*_verdict(stored), *_evidence(result.evidence), *_stages(result)]
    if result.environment is not None:
        items += [heading("Environment"), facts_table(environment_facts(result))]
    if with_source:
        items += [heading("Source" if stored.source_exact else "Source (cut, or not UTF-8)"), block(stored.source, indent="")]
    return rendered(*items)


def _verdict(stored: StoredEvaluation) -> Iterator[Item]:
    result = stored.result
    yield Text(f"Evaluation {stored.id}: {result.status.value}/{result.category.value}", style="bold")
    yield block(result.message)
    if result.hint:
        yield block("hint: " + result.hint)
    speedup = None if result.speedup is None else f"{result.speedup:.4g} ({result.baseline_ms:.4g} ms / {result.runtime_ms:.4g} ms)"
    low, high = stored.speedup_interval or (None, None)
    yield facts_table(
        {
            "speedup": speedup,
            "of the speed of light": speed_of_light_text(result),
            "doubtful times": (result.evidence.conditions.remark or None) if result.evidence.conditions else None,
            "95 % interval": None if low is None or low == high else f"{low:.4g} to {high:.4g}",
            "other baselines": baselines_text(result),
            "submission": result.submission,
            "block": result.block,
            "author": result.author,
            "sample": result.sample_id,
            "problem": result.problem,
            "case": result.case,
            "precision": result.precision,
            "protocol": None if result.evidence.timing else result.protocol,
            "device": result.device,
            "started": result.started_at.isoformat(sep=" ", timespec="seconds"),
            "duration": f"{result.duration_s:.2f} s",
            "evaluator": result.evaluator_version,
            "source sha256": result.source_sha256,
            "problem sha256": result.problem_sha256,
            "sandbox": result.evidence.sandbox,
            "last stage": result.evidence.stage,
            "command": stored.command and shlex.join(stored.command.words),
        }
    )
    if stored.origins:
        yield heading("Requested by training runs")
        table = table_of("step", "prompt", "tags")
        for step, prompt, tags in origin_rows(stored):
            table.add(step, prompt, tags)
        yield table
        if (left := len(stored.origins) - MAX_ORIGINS) > 0:
            yield block(f"and {left} more")


def origin_rows(stored: StoredEvaluation) -> list[tuple[int | str, str, str]]:
    """Step, prompt and tags of the first origins."""
    return [
        (
            "" if origin.step is None else origin.step,
            origin.prompt or "",
            ", ".join(f"{name}={value}" for name, value in origin.tags.items()),
        )
        for origin in stored.origins[:MAX_ORIGINS]
    ]


def _evidence(evidence: Evidence) -> Iterator[Item]:
    if evidence.timing is not None:
        yield from timing_section(evidence.timing)
        yield from workloads_section(evidence.timing)
    if evidence.device_states or evidence.conditions is not None:
        yield from device_section(evidence)
    if evidence.light is not None:
        yield heading("Speed of light")
        yield facts_table(light_facts(evidence.light))
    if evidence.floor is not None:
        yield heading("Minimum time of a call")
        yield block(floor_text(evidence.floor))
    if evidence.parameters is not None:
        yield heading("Parameters and buffers")
        yield facts_table(parameters_facts(evidence.parameters))
    if evidence.rounds:
        yield from rounds_section(evidence.rounds)
    if evidence.ablation is not None:
        yield heading("Without its own kernels")
        yield block(ablation_text(evidence.ablation))
    if evidence.own_work is not None:
        yield heading("Work of its own kernels")
        yield block(own_work_text(evidence.own_work))
    if evidence.trivial:
        yield heading("The problem accepts trivial answers")
        yield block(", ".join(evidence.trivial))
    if evidence.shapes:
        yield from shapes_section(evidence)
    if evidence.changed_inputs:
        yield from inputs_section(evidence)
    for build in evidence.builds:
        yield from build_section(build)
    if evidence.launches:
        yield from launches_section(evidence)
    if evidence.profile is not None:
        yield from profile_section(evidence.profile)
    if evidence.fault is not None:
        yield heading("The kernel that failed or did not end, found in a second run")
        yield facts_table(dict(evidence.fault))
    if evidence.sanitizer is not None:
        yield from sanitizer_section(evidence.sanitizer)
    if evidence.exception is not None:
        yield from exception_section(evidence.exception)
    if evidence.exit is not None:
        yield heading("Exit of the worker")
        yield facts_table(exit_facts(evidence.exit))
    for title, text in (("Standard output", evidence.stdout), ("Standard error", evidence.stderr), ("Detail", evidence.detail)):
        if text:
            yield heading(title)
            yield block(text)


def _stages(result: Result) -> Iterator[Item]:
    """Time by stage, in the order of the stages."""
    rows = stage_rows(result)
    if not rows:
        return
    yield heading("Stages")
    table = table_of("stage", "time", "share", "with the device")
    for stage, seconds, share, held_s in rows:
        table.add(stage, f"{seconds:.3f} s", f"{share:.1%}", f"{held_s:.3f} s" if held_s >= LEAST_HELD_S else "")
    yield table


def stage_rows(result: Result) -> list[tuple[str, float, float, float]]:
    """Each stage with its seconds, its share of the evaluation, and the seconds that it held the device; then the time between stages, and
    the sum. Empty if no stage is known."""
    stages_s, held_s = result.evidence.stages_s, result.evidence.held_s
    if not stages_s:
        return []
    named_s = sum(stages_s.values())
    total_s = max(result.duration_s, named_s)
    rows = [(stage, seconds, held_s.get(stage, 0.0)) for stage, seconds in stages_s.items()]
    rows += [("between them", total_s - named_s, 0.0), ("all", total_s, sum(held_s.values()))]
    return [(stage, seconds, seconds / total_s if total_s else 0.0, held) for stage, seconds, held in rows]
