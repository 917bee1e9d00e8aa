"""What is kept of an exception that a worker reports."""

import pytest

from evaluator.judge.workers.exception_report import without_output
from evaluator.results.category import Category
from tests.diagnosis.evidence import build, exception

TRACE = "In file included from a.h:2,\n                 from m.cpp:2:\nb.h:4:10: fatal error: c.h: No such file or directory"


@pytest.mark.parametrize(
    ("message", "ok", "kept"),
    [
        (f"Error building extension 'x': {TRACE}", False, "Error building extension 'x': its output is with the build"),
        (f"mine: Error building extension 'x': {TRACE[-30:]}", False, "mine: Error building extension 'x': its output is with the build"),
        (f"Error building extension 'y': {TRACE}", False, f"Error building extension 'y': {TRACE}"),
        (f"Error building extension 'x': {TRACE}", True, f"Error building extension 'x': {TRACE}"),
        (f"mine: {TRACE}", False, f"mine: {TRACE}"),
    ],
    ids=["failed", "wrapped", "another", "built", "no build's"],
)
def test_the_output_of_a_failed_build_is_kept_once(message: str, ok: bool, kept: str) -> None:
    builds = [build(None if ok else Category.CPP_COMPILE_ERROR, TRACE)]
    assert without_output(exception("RuntimeError", message), builds).message == kept
