"""Describes to the judge the exception that ended a request."""

import re
import traceback

import torch

from evaluator.dsl import dsls
from evaluator.worker.protocol import Message

MAX_MESSAGE_CHARS = 20_000
_WRAPPING = tuple(dsl.wraps_errors_of for dsl in dsls() if dsl.wraps_errors_of)
"""Prefixes of the modules whose exceptions have a more precise cause."""
_VALUES = re.compile(r"\b(?P<kind>tensor|array)\(\[[^()=]{40,}\]")
"""The values of a tensor or NumPy array, as they are printed; a few numbers may matter, and stay."""


def describe_failure(error: BaseException, path: str, *, on_device: bool) -> Message:
    """The fields of a `failed` reply; `path` is the submission's file, and only its lines are named."""
    frames = _frames(error, path)
    lines = "".join(f"line {frame.lineno}, in {frame.name}\n    {frame.line}\n" for frame in frames[-20:])
    try:
        message = _VALUES.sub(r"\g<kind>([…]", _message(error))
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
    """The places in the submission that an exception comes from. A DSL's exception may wrap another, whose place is more exact."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    cause = error.__cause__
    return own + _frames(cause, path) if cause is not None and _wraps_others(error) else own


def _message(error: BaseException) -> str:
    """An exception's text. A DSL's exception may leave it to its cause, which comes from a function that the kernel calls."""
    cause = error.__cause__ if _wraps_others(error) else None
    return f"{error}\n{_message(cause)}" if cause is not None and _wraps_others(cause) else str(error)


def _wraps_others(error: BaseException) -> bool:
    return type(error).__module__.startswith(_WRAPPING)


def _device_error() -> int | None:
    """The sticky error of this process's CUDA context (700 for an illegal access, …), or None if the context is sound."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    from cuda.bindings import driver

    return int(driver.cuCtxSynchronize()[0]) or None
