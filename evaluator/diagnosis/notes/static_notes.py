"""Notes from reading a submission without running it: advice beside the evidence, which decides no verdict."""

from collections.abc import Collection

from evaluator.diagnosis.notes import cuda_notes, launch_notes, python_notes, python_reader
from evaluator.diagnosis.notes.note import MAX_OF_A_KIND, Finder, Note, ParsedSubmission, Ran

MAX_NOTES = 12
LEAST_SIZE = 17
"""Smaller numbers are more often tile widths and the like than sizes of a problem."""
UNOBSERVED = Ran()


def notes(code: str, first_line: int = 1, sizes: Collection[int] = (), ran: Ran = UNOBSERVED) -> tuple[Note, ...]:
    """Notes on `code`, which begins on line `first_line` of its file. The most important come first."""
    script = python_reader.read(code)
    if script is None:
        return ()
    parsed = ParsedSubmission(script, frozenset(size for size in sizes if size >= LEAST_SIZE), ran)
    found: list[Note] = []
    for finder in FINDERS:
        of_a_kind: dict[Note, None] = {}
        for note in finder(parsed):
            of_a_kind[note] = None
            if len(of_a_kind) == MAX_OF_A_KIND:
                break
        found += [Note(note.line and note.line + first_line - 1, note.text) for note in of_a_kind]
    return tuple(found[:MAX_NOTES])


FINDERS: tuple[Finder, ...] = (
    python_notes.no_kernel,
    launch_notes.never_launched,
    python_notes.never_called,
    launch_notes.oversized,
    launch_notes.shared_without_asking,
    cuda_notes.barrier_in_branch,
    cuda_notes.early_return,
    cuda_notes.missing_barrier,
    cuda_notes.unguarded,
    cuda_notes.no_maximum,
    cuda_notes.hard_coded,
    cuda_notes.narrow,
    cuda_notes.fast_math,
    python_notes.computes_in_python,
    launch_notes.no_error_check,
    python_notes.synchronizes,
    python_notes.builds_in_forward,
)
"""In the order in which their notes are shown."""
