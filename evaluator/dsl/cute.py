"""CuTe DSL, NVIDIA's `cutlass.cute`: Python functions, which it traces and compiles in the worker, without nvcc.

It names a kernel after its function. A name that a submission sets itself, by `set_name_prefix`, is not recognised as its own.
"""

import functools
import re
import sys
from collections.abc import Callable
from typing import Any

from evaluator.dsl.plugin import UNDEFINED_NAME, Dsl, Fault, Raised, Refused, passes_submission

TRACER = "cutlass.base_dsl.dsl"
OF_OTHERS = ("cutlass.base_dsl", "torch")
"""Prefixes of the modules whose exceptions tell by themselves what they are about."""
ERRORS = frozenset(
    (
        *("CuteError", "DSLUserCodeError", "DSLUserCodeRuntimeError", "DSLUserCodeTypeError", "CompilerDiagnosticError"),
        *("DSLOperationBuildError", "DSLNotImplemented", "DSLCudaVerNotImplemented", "DSLAstPreprocessorError"),
    )
)
INTERNAL = "DSLRuntimeError"
"""Errors of CuTe DSL's own; they are about a kernel if they name its line."""
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_PLACE = re.compile(r"^[ \t]*--> .{0,400}submission\.py:(?P<line>\d{1,9})", re.MULTILINE)
_LABEL = re.compile(r"^(?:\[Error\]|error(?:\[\w{1,80}\])?:)\s*")
_BEHIND = re.compile(r"(?:; error ?:|libNVVM extra log: Error:) (?P<text>.{1,400}?)(?= ptxas | suggestion: |$)")
"""The first message of ptxas or libNVVM."""
_NO_MEMBER = re.compile(r"^AttributeError: module 'cutlass[\w.]*' has no attribute")


class CuteError(Exception):
    """A kernel whose tracing failed. Python's own exceptions pass through CuTe DSL; this class marks one, which is its cause."""


def install(_: Any) -> Callable[[], None]:
    """In a worker: distinguish errors while a kernel is traced from the submission's others, once that has imported CuTe DSL."""
    watched: list[Any] = []

    def watch() -> None:
        module = sys.modules.get(TRACER)
        if module is None or watched or not hasattr(module, "BaseDSL"):
            return
        run = module.BaseDSL._func
        watched.append(run)
        traced: list[Any] = []

        @functools.wraps(run)
        def told(*args: Any, **kwargs: Any) -> Any:
            if traced:
                return run(*args, **kwargs)  # a function that is called by the one being traced
            traced.append(run)
            try:
                return run(*args, **kwargs)
            except Exception as error:
                if type(error).__module__.startswith(OF_OTHERS) or not passes_submission(error.__traceback__):
                    raise
                raise CuteError(f"{type(error).__name__}: {error}") from error
            finally:
                traced.clear()

        module.BaseDSL._func = told

    return watch


def compile_error(raised: Raised) -> Refused | None:
    """CuTe DSL's own messages name file and line. Errors of tracing have the line that raised them."""
    if raised.type not in ERRORS and raised.type != INTERNAL:
        return None
    message = _ESCAPE.sub("", raised.message)
    place = _PLACE.search(message)
    if raised.type == INTERNAL and not place:
        return None
    whole = " ".join(message.split())
    text = whole if raised.type == "CuteError" else _first_line(message)
    if behind := _BEHIND.search(whole):
        text = f"{text}: {behind['text']}"
    return Refused(text, _category(text), line=int(place["line"]) if place else None)


def _first_line(message: str) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return _LABEL.sub("", line) or "CuTe DSL refuses this"


def _category(text: str) -> Fault:
    return "undeclared_identifier" if UNDEFINED_NAME.search(text) or _NO_MEMBER.search(text) else "cuda_compile_error"


DSL = Dsl(
    name="cute",
    title="CuTe DSL",
    packages={"cutlass": "nvidia_cutlass_dsl", "cutlass.cute": "nvidia_cutlass_dsl"},
    marks=frozenset(("cute.kernel", "cute.jit")),
    caches={"CUTE_DSL_CACHE_DIR": "cute", "CUTE_EXPERIMENTAL_DSL_CACHE_DIR": "cute_experimental"},
    in_worker="evaluator.dsl.cute:install",
    kernel_names=("kernel_cutlass_{name}_*",),
    wraps_errors_of="evaluator.dsl.cute",
    compile_error=compile_error,
    trial="import cutlass, cutlass.cute",
)
