"""What the judge is told of an exception that ended a request."""

import traceback

import torch

from evaluator.dsl import dsls
from evaluator.worker.protocol import Message

MAX_MESSAGE_CHARS = 20_000
_WRAPPING = tuple(dsl.wraps_errors_of for dsl in dsls() if dsl.wraps_errors_of)
"""Begin the modules of exceptions whose causes tell more."""


def describe_failure(error: BaseException, path: str, *, on_device: bool) -> Message:
    """The fields of a `failed` answer; `path` is the submission's file, whose lines alone are named."""
    frames = _frames(error, path)
    lines = "".join(f"line {frame.lineno}, in {frame.name}\n    {frame.line}\n" for frame in frames[-20:])
    try:
        message = _message(error)
    except Exception as second:  # noqa: BLE001  (an exception class of the submission's own)
        message = f"(no message: {type(second).__name__})"
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS // 2] + message[-MAX_MESSAGE_CHARS // 2 :]
    return {
        "type": type(error).__name__[:200],
        "message": message,
        "traceback": lines[:MAX_MESSAGE_CHARS],
        "line": frames[-1].lineno if frames else None,
        "cuda_error": _device_error() if on_device else None,
    }


def _frames(error: BaseException, path: str) -> list[traceback.FrameSummary]:
    """Where in the submission an exception comes from. One of a DSL's may wrap another, which tells the place more exactly."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    cause = error.__cause__
    return own + _frames(cause, path) if cause is not None and _wraps_others(error) else own


def _message(error: BaseException) -> str:
    """An exception's text. One of a DSL's may leave it to its cause, which comes from a function that the kernel calls."""
    cause = error.__cause__ if _wraps_others(error) else None
    return f"{error}\n{_message(cause)}" if cause is not None and _wraps_others(cause) else str(error)


def _wraps_others(error: BaseException) -> bool:
    return type(error).__module__.startswith(_WRAPPING)


def _device_error() -> int | None:
    """The sticky error of this process's CUDA context (700 for an illegal access, …), or None where the context is sound."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    from cuda.bindings import driver

    return int(driver.cuCtxSynchronize()[0]) or None
