"""Judges the corpus of faulty submissions, and writes a document.

    python -m benchmarks.diagnosis --device cpu > FILE.md

Judges tests/diagnosis/corpus and the faults of tests/diagnosis/fault.py, and writes the found categories and lines. The exit code is 1 if
a category is not the expected one.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.corpus import Entry
from tests.diagnosis.fault import FAULTS
from tests.diagnosis.test_corpus import ON_CPU, ON_CUDA, Records, has_its_line, judged

MAX_MESSAGE_CHARS = 160
INSTALLED = re.compile(r"/\S*/site-packages/")
"""This machine's package folder, which is removed from messages."""
SHOWN = ("semicolon_missing.py", "sorting_a_list.py", "without_the_maximum.py", "tail_left_at_zero.py", "exception_across_noexcept.py")
"""Submissions whose whole feedback is shown."""


def main() -> int:
    """Judge, and write the document to standard output."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    kind: str = options.parse_args().device
    names = ON_CPU if kind == "cpu" else ON_CUDA
    with tempfile.TemporaryDirectory(prefix="assay-diagnosis-") as folder:
        records = judged(names, Path(folder), kind)
    faults = {name: FAULTS[name] for name in names}
    sys.stdout.write("\n".join(document(faults, records, kind)) + "\n")
    return 0 if all(_is_right(fault, records[name], kind) for name, fault in faults.items()) else 1


def document(faults: dict[str, Entry], records: Records, kind: str) -> Iterator[str]:
    """The document's lines."""
    right = sum(_is_right(fault, records[name], kind) for name, fault in faults.items())
    marked = [name for name, fault in faults.items() if fault.lines]
    lines = sum(has_its_line(faults[name], records[name]) for name in marked)
    yield "# The corpus of faulty submissions"
    yield f"\n    python -m benchmarks.diagnosis --device {kind}\n"
    yield f"{len(faults)} faulty submissions on {kind}: the category is the expected one for {right},"
    yield f"and the line for {lines} of the {len(marked)} in which one is to blame."
    yield "The submissions are those of `tests/diagnosis/corpus` and `tests/diagnosis/fault.py`."
    yield "Those that only a GPU shows are run by `pytest -m gpu tests/diagnosis`.\n"
    yield "| submission | what is wrong | verdict | line | message |"
    yield "| --- | --- | --- | --- | --- |"
    for name, fault in sorted(faults.items(), key=lambda item: (sorted(item[1].verdicts[kind]), item[0])):
        yield _row(name, fault, records[name], kind)
    for name in SHOWN:
        if name in records:
            yield f"\n## Feedback on `{name}`\n"
            yield from (f"    {line}" for line in records[name]["feedback"].splitlines())


def _row(name: str, fault: Entry, record: dict[str, Any], kind: str) -> str:
    verdict = f"{record['status']}/{record['category']}"
    if not _is_right(fault, record, kind):
        verdict += f" (expected {' | '.join(fault.verdicts[kind])})"
    line = record["line"] if record["line"] is not None else ""
    if not has_its_line(fault, record):
        line = f"{line} (expected {fault.lines[0]})"
    message = INSTALLED.sub("", " ".join(record["message"].split()))[:MAX_MESSAGE_CHARS].replace("|", "\\|").replace("<", "\\<")
    return f"| `{name}` | {fault.about} | {verdict} | {line} | {message} |"


def _is_right(fault: Entry, record: dict[str, Any], kind: str) -> bool:
    return f"{record['status']}/{record['category']}" in fault.verdicts[kind]


if __name__ == "__main__":
    sys.exit(main())
