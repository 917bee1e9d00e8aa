"""Reads a worker's report of an exception as hostile bytes."""

import re
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from evaluator.results.evidence import BuildEvidence, ExceptionEvidence
from evaluator.worker.protocol import Message


class _Report(BaseModel):
    """The fields of a report that are kept, within limits."""

    model_config = ConfigDict(extra="ignore")

    type: str = Field(max_length=1000)
    message: str = Field(max_length=100_000)
    traceback: str = Field(max_length=100_000)
    line: int | None = Field(default=None, ge=0, lt=1 << 31)
    cuda_error: int | None = Field(default=None, ge=0, lt=1 << 31)


def read_exception(message: Message, stage: str, first_line: int) -> ExceptionEvidence:
    """The exception that a worker reports, in lines of the submitted file, in which its source begins on `first_line`.

    Raises ValidationError.
    """
    exception = ExceptionEvidence(stage=stage, **_Report.model_validate(message).model_dump())
    lines = first_line - 1
    if not lines:
        return exception
    traceback = re.sub(r"(?m)^line (\d{1,9}),", lambda match: f"line {int(match[1]) + lines},", exception.traceback)
    return exception.model_copy(update={"line": exception.line and exception.line + lines, "traceback": traceback})


def without_output(exception: ExceptionEvidence, builds: Iterable[BuildEvidence]) -> ExceptionEvidence:
    """The exception without the output of a failed build, with which PyTorch's message ends: the build's evidence has it."""
    for build in builds:
        before, announced, output = exception.message.partition(f"Error building extension '{build.name}': ")
        if output and build.output and not build.ok:
            return exception.model_copy(update={"message": f"{before}{announced}its output is with the build"})
    return exception
