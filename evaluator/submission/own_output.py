"""Distinguishes the files of earlier runs, `--json` and `--feedback`, from submissions."""

import json
import re
from pathlib import Path

_RECORD = frozenset(("submission", "status", "category", "source_sha256"))
"""Fields of every result, which no line of a bundle has together."""
_FEEDBACK = re.compile(rb"## \d+: [^\n]*\n\n\*\*verdict:\*\* ")
_HEAD_BYTES = 16 << 10
_RECORD_BYTES = 4 << 20


def holds_results(path: Path) -> bool:
    """Whether a file begins like one that a run has written; False for an unreadable file."""
    try:
        if not path.is_file():  # reading a pipe would wait for a writer
            return False
        with path.open("rb") as file:
            if path.suffix.lower() == ".jsonl":
                return _is_record(file.readline(_RECORD_BYTES))
            return _FEEDBACK.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= _RECORD
