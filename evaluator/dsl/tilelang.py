"""TileLang: Python functions, which it traces and compiles with nvcc in the worker."""

import functools
import re
import sys
from collections.abc import Callable
from typing import Any

from evaluator.dsl.plugin import UNDEFINED_NAME, Dsl, Fault, Raised, Refused, passes_submission

JIT = "tilelang.jit"
_PLACE = re.compile(r"^[ \t]*--> .{0,400}submission\.py:(?P<line>\d{1,9})", re.MULTILINE)


class TileLangError(Exception):
    """A kernel that TileLang rejected. TileLang raises generic exceptions; this class marks one, which is its cause."""


def install(_: Any) -> Callable[[], None]:
    """In a worker: distinguish TileLang's errors about a kernel from the submission's own, once that has imported it."""
    watched: list[Any] = []

    def watch() -> None:
        module = sys.modules.get(JIT)
        if module is None or watched or not hasattr(module, "JITImpl"):
            return
        compile_kernel = module.JITImpl.compile
        watched.append(compile_kernel)

        @functools.wraps(compile_kernel)
        def told(*args: Any, **kwargs: Any) -> Any:
            try:
                return compile_kernel(*args, **kwargs)
            except Exception as error:
                if not (type(error).__module__.startswith("tvm.") or passes_submission(error.__traceback__)):
                    raise  # the machine lacks something, such as nvcc
                raise TileLangError(f"{type(error).__name__}: {error}") from error

        module.JITImpl.compile = told

    return watch


def compile_error(raised: Raised) -> Refused | None:
    """Errors of its passes name the line; tracing errors are raised at theirs."""
    if raised.type != "TileLangError":
        return None
    place = _PLACE.search(raised.message)
    text = next((line.strip() for line in raised.message.splitlines() if line.strip()), "TileLang refuses this")
    category: Fault = "undeclared_identifier" if UNDEFINED_NAME.search(text) else "cuda_compile_error"
    return Refused(text, category, line=int(place["line"]) if place else None)


DSL = Dsl(
    name="tilelang",
    title="TileLang",
    packages={"tilelang": "tilelang"},
    marks=frozenset(("tilelang.jit", "T.prim_func")),
    caches={"TILELANG_CACHE_DIR": "tilelang"},
    settings={"TILELANG_PRINT_ON_COMPILATION": "0"},
    in_worker="evaluator.dsl.tilelang:install",
    kernel_names=("{name}_kernel", "{name}_kernel_*"),
    wraps_errors_of="evaluator.dsl.tilelang",
    compile_error=compile_error,
    trial="import tilelang, tilelang.language",
)
