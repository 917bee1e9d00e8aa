"""Text of an evaluation's builds, kernel launches, profile, exceptions and exit."""

from collections.abc import Iterator

from db.output.facts import KERNEL_COLUMNS, kernel_cells, profile_facts
from db.output.layout import Item, facts_table, heading, table_of
from evaluator.results.display.figures import percent
from evaluator.results.display.text import block
from evaluator.results.evidence import BuildEvidence, Evidence, ExceptionEvidence, ExitEvidence, ProfileEvidence


def build_section(build: BuildEvidence) -> Iterator[Item]:
    outcome = "succeeded" if build.ok else f"failed: {build.category.value if build.category else 'unknown'}"
    yield heading(f"Build {build.name}: {outcome}")
    kind = "CUDA and C++" if build.uses_cuda else "C++"
    yield facts_table(
        {"key": build.key, "languages": kind, "from cache": "yes" if build.cached else "no", "duration": f"{build.duration_s:.2f} s"}
    )
    if build.diagnostics:
        table = table_of("line", "where", "severity", "message")
        for item in build.diagnostics:
            place = ":".join(str(part) for part in (item.file, item.line, item.column) if part is not None)
            where = f"{place} (in another file)" if item.foreign else place
            table.add(item.source_line, where, item.severity, item.message)
        yield table
    if build.output:
        yield "  compiler output:"
        yield block(build.output, indent="    ")


def launches_section(evidence: Evidence) -> Iterator[Item]:
    yield heading("Kernel launches")
    columns = ("kernel", "of", "object", "api", "count", "grid", "block", "shared bytes", "registers", "local bytes", "code", "first")
    times = evidence.kernel_times
    table = table_of(*columns, *(("ms a launch", "of a call's time") if times else ()))
    for item in evidence.launches:
        sizes = ("×".join(map(str, item.grid)), "×".join(map(str, item.block)), item.shared_bytes)
        origin = "own" if item.own else "library"
        limits = (item.limits.registers, item.limits.local_bytes) if item.limits else (None, None)
        took = (None if item.each_ms is None else f"{item.each_ms:.4g}", _share(evidence.device_share(item))) if times else ()
        table.add(item.kernel, origin, item.object, item.api, item.count, *sizes, *limits, item.code, item.first, *took)
    yield table
    if times:
        each_ms = times.call_ms / max(times.calls, 1)
        yield f"  times by events around each launch, in {times.calls} further calls that took {each_ms:.4g} ms each"


def profile_section(profile: ProfileEvidence) -> Iterator[Item]:
    case = f", on the case {profile.case}" if profile.case else ""
    yield heading(f"Profile by Nsight Compute {profile.version}".rstrip() + case)
    yield facts_table(profile_facts(profile))
    sides = [(profile.submission, "library"), (profile.reference, "reference")]
    rows = [kernel_cells(kernel, of) for side, of in sides if side is not None for kernel in side.kernels]
    if rows:
        table = table_of(*KERNEL_COLUMNS)
        for row in rows:
            table.add(*row)
        yield table


def _share(share: float | None) -> str | None:
    return None if share is None else percent(share)


def exception_section(exception: ExceptionEvidence) -> Iterator[Item]:
    place = "" if exception.line is None else f", line {exception.line}"
    yield heading(f"Exception in stage {exception.stage}{place}")
    yield block(f"{exception.type}: {exception.message}")
    if exception.traceback:
        yield block(exception.traceback)


def exit_facts(ended: ExitEvidence) -> dict[str, object]:
    return {
        "stage": ended.stage,
        "code": ended.code,
        "signal": ended.signal,
        "killed by the timeout of": None if ended.deadline_s is None else f"{ended.deadline_s:g} s",
        "killed by the memory limit of": None if ended.memory_limit_bytes is None else f"{ended.memory_limit_bytes} bytes",
        "killed by the disk limit of": None if ended.disk_limit_bytes is None else f"{ended.disk_limit_bytes} bytes",
    }
