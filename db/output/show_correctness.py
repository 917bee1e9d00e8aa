"""Text of an evaluation's correctness: rounds, errors, other shapes, other inputs, sanitizer reports."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from db.output.facts import inputs_word, shape_words
from db.output.layout import Item, facts_table, heading, table_of
from evaluator.results.display.text import block
from evaluator.results.evidence import ErrorFigures, Evidence, RoundEvidence, SanitizerEvidence
from evaluator.results.evidence.rounds import EVERYTHING


def rounds_section(rounds: Iterable[RoundEvidence]) -> Iterator[Item]:
    yield heading("Correctness rounds")
    rounds = tuple(rounds)
    caused = any(item.cause for item in rounds)
    table = table_of("round", "seed", "verdict", "message", *(("cause",) if caused else ()))
    for item in rounds:
        verdict = "passed" if item.passed else item.category or "failed"
        table.add(item.number, item.seed, verdict, item.message, *((item.cause,) if caused else ()))
    yield table
    gross = any(output.gross_error is not None for item in rounds for output in item.outputs)
    columns = (
        "round",
        "output",
        "elements",
        "wrong",
        "max error",
        "tolerance",
        "reference error",
        "RMS error",
        *(("gross error",) if gross else ()),
        "non-finite",
        "first wrong",
    )
    figures = table_of(*columns)
    for item in rounds:
        for output in item.outputs:
            first = (
                "" if output.first_index is None else f"{list(output.first_index)}: {output.first_value} instead of {output.first_expected}"
            )
            shown = (output.max_error, output.tolerance, output.reference_error, output.rms_error)
            errors = ("" if value is None else f"{value:.3g}" for value in shown)
            counts = (item.number, output.output or "(tensor)", output.elements, output.wrong)
            more = ("" if output.gross_error is None else f"{output.gross_error:.3g}",) if gross else ()
            figures.add(*counts, *errors, *more, output.nonfinite_mismatch, first)
    if figures.rows:
        yield figures
    for item in rounds:
        for output in item.outputs:
            if output.wrong:
                yield heading(f"Wrong in round {item.number}{f', output {output.output}' if output.output else ''}")
                yield from _wrong_output(output)


def _wrong_output(output: ErrorFigures) -> Iterator[Item]:
    shown = (f"{list(element.index)}: {element.value:.7g} instead of {element.expected:.7g}" for element in output.examples)
    yield facts_table({"where": output.pattern or None, "like": output.likeness or None, "first and worst": "; ".join(shown) or None})
    if output.error_map is not None and output.pattern != EVERYTHING:
        cell_size = f"{output.error_map.rows_per_cell} × {output.error_map.columns_per_cell}"
        yield f"  largest error of each {cell_size} patch, in half decades above the tolerance:"
        runs = ((row, sum(1 for _ in same)) for row, same in groupby(output.error_map.rows))
        yield block("\n".join(f"{row} ({count} such rows)" if count > 1 else row for row, count in runs), indent="    ")


def shapes_section(evidence: Evidence) -> Iterator[Item]:
    yield heading(f"In other shapes (generalises: {evidence.generalises})")
    table = table_of("shapes", "inputs", "verdict", "message")
    for shape in evidence.shapes:
        name, verdict = shape_words(shape)
        table.add(name, "; ".join(shape.inputs), verdict, shape.message)
    yield table


def inputs_section(evidence: Evidence) -> Iterator[Item]:
    yield heading(f"On inputs of other distributions (robust: {evidence.robust})")
    table = table_of("distribution", "answer", "category", "max error", "message")
    for changed in evidence.changed_inputs:
        error = "" if changed.max_error is None else f"{changed.max_error:.3g}"
        table.add(changed.distribution, inputs_word(changed), changed.category, error, changed.message)
    yield table


def sanitizer_section(sanitizer: SanitizerEvidence) -> Iterator[Item]:
    yield heading(f"compute-sanitizer {sanitizer.version}, on the case {sanitizer.case}")
    runs = table_of("tool", "outcome", "reports", "time", "remark")
    for run in sanitizer.runs:
        runs.add(run.tool, run.outcome, run.reports, f"{run.duration_s:.1f} s", run.remark)
    yield runs
    if not sanitizer.findings:
        return
    found = table_of("tool", "line", "where", "kernel", "of", "severity", "reports", "message", "more")
    for item in sanitizer.findings:
        where = f"{item.file}:{item.line}" if item.line is not None else item.file
        others = (f"{other.role}, line {other.source_line or f'{other.file}:{other.line}'}" for other in item.others)
        more = "; ".join([*others, *([item.detail] if item.detail else [])])
        origin = "own" if item.own else "library"
        found.add(item.tool, item.source_line, where, item.kernel, origin, item.severity, item.count, item.message, more)
    yield found
