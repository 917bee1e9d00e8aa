"""Everything known about one evaluation, as text and as JSON."""

import json
import shlex
import statistics
from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from db.output.facts import conditions_facts, floor_text, light_facts, shape_words, spells, timing_facts
from db.store import StoredEvaluation
from evaluator.results.evidence import (
    AblationEvidence,
    BuildEvidence,
    ErrorFigures,
    Evidence,
    ExceptionEvidence,
    ExitEvidence,
    RoundEvidence,
    SanitizerEvidence,
    TimingEvidence,
)
from evaluator.results.figures import percent
from evaluator.results.result import Environment, Result
from evaluator.results.text import block, cell, rendered


def evaluation_json(stored: StoredEvaluation, with_source: bool) -> str:
    """The fields of the result with its `evidence` and `environment`, `id` and `speedup_interval`; with the source also `source` and
    `source_exact`."""
    value = {"id": stored.id, "speedup_interval": stored.speedup_interval} | json.loads(stored.result.model_dump_json())
    value |= stored.result.derived() | {"speedup_interval": stored.speedup_interval}
    if with_source:
        value |= {"source": stored.source, "source_exact": stored.source_exact}
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def evaluation_text(stored: StoredEvaluation, with_source: bool) -> str:
    """Sections for what there is; what was not observed has none."""
    result = stored.result
    items = [*_verdict(stored), *_evidence(result.evidence), *_stages(result)]
    if result.environment is not None:
        items += [_heading("Environment"), _facts(_environment_facts(result.environment))]
    if with_source:
        items += [_heading("Source" if stored.source_exact else "Source (cut, or not UTF-8)"), block(stored.source, indent="")]
    return rendered(*items)


def _verdict(stored: StoredEvaluation) -> Iterator[RenderableType]:
    result = stored.result
    yield Text(f"Evaluation {stored.id}: {result.status.value}/{result.category.value}", style="bold")
    yield block(result.message)
    if result.hint:
        yield block("hint: " + result.hint)
    speedup = None if result.speedup is None else f"{result.speedup:.4g} ({result.baseline_ms:.4g} ms / {result.runtime_ms:.4g} ms)"
    low, high = stored.speedup_interval or (None, None)
    yield _facts(
        {
            "speedup": speedup,
            "of the speed of light": _light_text(result),
            "times to be doubted": (result.evidence.conditions.remark or None) if result.evidence.conditions else None,
            "95 % interval": None if low is None or low == high else f"{low:.4g} to {high:.4g}",
            "other baselines": _baselines_text(result),
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


def _evidence(evidence: Evidence) -> Iterator[RenderableType]:
    if evidence.timing is not None:
        yield from _timing(evidence.timing)
    if evidence.device_states or evidence.conditions is not None:
        yield from _device(evidence)
    if evidence.light is not None:
        yield _heading("The speed of light")
        yield _facts(light_facts(evidence.light))
    if evidence.floor is not None:
        yield _heading("The least time that a call can take")
        yield block(floor_text(evidence.floor))
    if evidence.rounds:
        yield from _rounds(evidence.rounds)
    if evidence.ablation is not None:
        yield _heading("Without its own kernels")
        yield block(_ablation_text(evidence.ablation))
    if evidence.trivial:
        yield _heading("The problem accepts answers that take no work")
        yield block(", ".join(evidence.trivial))
    if evidence.shapes:
        yield from _shapes(evidence)
    for build in evidence.builds:
        yield from _build(build)
    if evidence.launches:
        yield from _launches(evidence)
    if evidence.fault is not None:
        yield _heading("The kernel that broke the device or did not end, by a second run")
        yield _facts(dict(evidence.fault))
    if evidence.sanitizer is not None:
        yield from _sanitizer(evidence.sanitizer)
    if evidence.exception is not None:
        yield from _exception(evidence.exception)
    if evidence.exit is not None:
        yield _heading("Exit of the worker")
        yield _facts(_exit_facts(evidence.exit))
    for title, text in (("Standard output", evidence.stdout), ("Standard error", evidence.stderr), ("Detail", evidence.detail)):
        if text:
            yield _heading(title)
            yield block(text)


def _timing(timing: TimingEvidence) -> Iterator[RenderableType]:
    suffix = "" if timing.unexplained_ms is None else f", {timing.unexplained_ms:+.4f} ms unexplained"
    yield _heading(f"Times in ms (clock {timing.clock}, {timing.calls} calls{suffix})")
    table = _table("side", "median", "lower quartile", "upper quartile", "samples", "wall clock, median")
    others = [(f"baseline {kind}", side) for kind, side in timing.others.items()]
    for name, side in (("submission", timing.candidate), ("baseline", timing.baseline), *others):
        figures = (f"{value:.5g}" for value in (side.median_ms, side.lower_quartile_ms, side.upper_quartile_ms))
        count = f"{len(side.samples_ms)}" + (f", {len(side.outliers)} far off" if side.outliers else "")
        table.add_row(*map(cell, (name, *figures, count, f"{statistics.median(side.wall_ms):.5g}" if side.wall_ms else "")))
    yield table
    yield _facts(timing_facts(timing))


def _baselines_text(result: Result) -> str | None:
    """The further baselines, the fastest of all named."""
    further = [
        f"{kind} {time_ms:.4g} ms, speedup {speedup:.4g}" for kind, (time_ms, speedup) in result.baselines.items() if kind != "eager"
    ]
    return "; ".join([*further, f"the best is {result.best_baseline}"]) if further else None


def _device(evidence: Evidence) -> Iterator[RenderableType]:
    """The state of the device: before and after each timing, and what it was within between them."""
    yield _heading("The device while it was timed on")
    if evidence.device_states:
        table = _table("when", "readings", "SM MHz", "memory MHz", "°C", "W", "clock held by", "others on it")
        for spell in spells(evidence.device_states):
            figures = (spell.sm_clock_mhz, spell.memory_clock_mhz, spell.temperature_c, spell.power_w, spell.throttled, spell.others)
            table.add_row(*map(cell, (spell.stage, spell.readings, *figures)))
        yield table
    if evidence.conditions is not None:
        yield _facts(conditions_facts(evidence.conditions))


def _light_text(result: Result) -> str | None:
    share, baseline_share = result.speed_of_light, result.baseline_speed_of_light
    return None if share is None or baseline_share is None else f"{percent(share)}, baseline {percent(baseline_share)}"


def _ablation_text(ablation: AblationEvidence) -> str:
    return "still right" if ablation.still_right else f"{ablation.category or 'failed'}: {ablation.message}"


def _rounds(rounds: Iterable[RoundEvidence]) -> Iterator[RenderableType]:
    yield _heading("Correctness rounds")
    rounds = tuple(rounds)
    table = _table("round", "seed", "verdict", "message")
    for item in rounds:
        table.add_row(*map(cell, (item.index, item.seed, "passed" if item.passed else item.category or "failed", item.message)))
    yield table
    columns = (
        "round",
        "output",
        "elements",
        "wrong",
        "max error",
        "tolerance",
        "reference error",
        "RMS error",
        "non-finite",
        "first wrong",
    )
    figures = _table(*columns)
    for item in rounds:
        for output in item.outputs:
            first = (
                "" if output.first_index is None else f"{list(output.first_index)}: {output.first_value} instead of {output.first_expected}"
            )
            errors = (f"{value:.3g}" for value in (output.max_error, output.tolerance, output.reference_error, output.rms_error))
            counts = (item.index, output.output or "(tensor)", output.elements, output.wrong)
            figures.add_row(*map(cell, (*counts, *errors, output.nonfinite_mismatch, first)))
    if figures.row_count:
        yield figures
    for item in rounds:
        for output in item.outputs:
            if output.wrong:
                yield _heading(f"Wrong in round {item.index}{f', output {output.output}' if output.output else ''}")
                yield from _wrong(output)


def _wrong(output: ErrorFigures) -> Iterator[RenderableType]:
    shown = (f"{list(element.index)}: {element.value:.7g} instead of {element.expected:.7g}" for element in output.examples)
    yield _facts({"where": output.pattern or None, "like": output.likeness or None, "the first, and the worst": "; ".join(shown) or None})
    if output.error_map is not None:
        cell_size = f"{output.error_map.rows_per_cell} × {output.error_map.columns_per_cell}"
        yield f"  largest error of each {cell_size} patch, in half decades above what is allowed:"
        yield block("\n".join(output.error_map.rows), indent="    ")


def _build(build: BuildEvidence) -> Iterator[RenderableType]:
    outcome = "succeeded" if build.ok else f"failed: {build.category.value if build.category else 'unknown'}"
    yield _heading(f"Build {build.name}: {outcome}")
    kind = "CUDA and C++" if build.uses_cuda else "C++"
    yield _facts(
        {"key": build.key, "languages": kind, "from cache": "yes" if build.cached else "no", "duration": f"{build.duration_s:.2f} s"}
    )
    if build.diagnostics:
        table = _table("line", "where", "severity", "message")
        for item in build.diagnostics:
            place = ":".join(str(part) for part in (item.file, item.line, item.column) if part is not None)
            where = f"{place} (not its own)" if item.foreign else place
            table.add_row(*map(cell, (item.source_line, where, item.severity, item.message)))
        yield table
    if build.output:
        yield "  compiler output:"
        yield block(build.output, indent="    ")


def _shapes(evidence: Evidence) -> Iterator[RenderableType]:
    yield _heading(f"In other shapes (generalises: {evidence.generalises})")
    table = Table("shapes", "inputs", "verdict", "")
    for shape in evidence.shapes:
        name, verdict = shape_words(shape)
        table.add_row(cell(name), cell("; ".join(shape.inputs)), cell(verdict), cell(shape.message))
    yield table


def _launches(evidence: Evidence) -> Iterator[RenderableType]:
    yield _heading("Kernel launches")
    columns = ("kernel", "of", "object", "api", "count", "grid", "block", "shared bytes", "registers", "local bytes", "code", "first")
    times = evidence.kernel_times
    table = _table(*columns, *(("ms a launch", "of a call's time") if times else ()))
    for item in evidence.launches:
        sizes = ("×".join(map(str, item.grid)), "×".join(map(str, item.block)), item.shared_bytes)
        origin = "own" if item.own else "library"
        limits = (item.limits.registers, item.limits.local_bytes) if item.limits else (None, None)
        took = (None if item.each_ms is None else f"{item.each_ms:.4g}", _share(evidence.device_share(item))) if times else ()
        table.add_row(*map(cell, (item.kernel, origin, item.object, item.api, item.count, *sizes, *limits, item.code, item.first, *took)))
    yield table
    if times:
        each_ms = times.call_ms / max(times.calls, 1)
        yield f"  times by events around each launch, in {times.calls} further calls that took {each_ms:.4g} ms each"


def _share(share: float | None) -> str | None:
    return None if share is None else percent(share)


def _sanitizer(sanitizer: SanitizerEvidence) -> Iterator[RenderableType]:
    yield _heading(f"compute-sanitizer {sanitizer.version}, on the case {sanitizer.case}")
    runs = _table("tool", "outcome", "reports", "time", "remark")
    for run in sanitizer.runs:
        runs.add_row(*map(cell, (run.tool, run.outcome, run.reports, f"{run.duration_s:.1f} s", run.remark)))
    yield runs
    if not sanitizer.findings:
        return
    found = _table("tool", "line", "where", "kernel", "of", "severity", "reports", "message", "more")
    for item in sanitizer.findings:
        where = f"{item.file}:{item.line}" if item.line is not None else item.file
        others = (f"{other.role}, line {other.source_line or f'{other.file}:{other.line}'}" for other in item.others)
        more = "; ".join([*others, *([item.detail] if item.detail else [])])
        origin = "own" if item.own else "library"
        found.add_row(*map(cell, (item.tool, item.source_line, where, item.kernel, origin, item.severity, item.count, item.message, more)))
    yield found


def _exception(exception: ExceptionEvidence) -> Iterator[RenderableType]:
    place = "" if exception.line is None else f", line {exception.line}"
    yield _heading(f"Exception in stage {exception.stage}{place}")
    yield block(f"{exception.type}: {exception.message}")
    if exception.traceback:
        yield block(exception.traceback)


def _exit_facts(ended: ExitEvidence) -> dict[str, object]:
    return {
        "stage": ended.stage,
        "code": ended.code,
        "signal": ended.signal,
        "killed after": None if ended.deadline_s is None else f"{ended.deadline_s:g} s",
        "killed beyond": None if ended.memory_limit_bytes is None else f"{ended.memory_limit_bytes} bytes",
        "killed beyond, on disk": None if ended.disk_limit_bytes is None else f"{ended.disk_limit_bytes} bytes",
    }


def _environment_facts(environment: Environment) -> dict[str, object]:
    facts: dict[str, object] = {name: value for name, value in environment if name != "settings"}
    return facts | {f"setting {name}": value for name, value in environment.settings.items()}


def _stages(result: Result) -> Iterator[RenderableType]:
    """Where the time went, in the order of the stages."""
    stages_s = result.evidence.stages_s
    if not stages_s:
        return
    named_s = sum(stages_s.values())
    total_s = max(result.duration_s, named_s)
    yield _heading("Stages")
    table = _table("stage", "time", "share")
    for stage, seconds in (*stages_s.items(), ("between them", total_s - named_s), ("all", total_s)):
        table.add_row(*map(cell, (stage, f"{seconds:.3f} s", f"{seconds / total_s:.1%}" if total_s else "")))
    yield table


def _heading(title: str) -> Text:
    return Text("\n", style="bold") + cell(title)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _facts(facts: dict[str, object]) -> Table:
    """A line for everything that is known."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, value in facts.items():
        if value is not None:
            table.add_row(cell(name), cell(value))
    return table
