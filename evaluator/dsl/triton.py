"""Triton: compiled in the worker for a GPU; without one, its interpreter runs."""

import functools
import math
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from evaluator.dsl.plugin import UNDEFINED_NAME, Dsl, Fault, Raised, Refusal, Refused

ERRORS = frozenset(("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"))
BEHIND = "PTXASError"
"""Raised if ptxas rejects the code that Triton generated."""
INTERPRETER = "InterpreterError"
INTERPRETING = "triton.runtime.interpreter"
_PLACE = re.compile(r"^at (?P<line>\d{1,6}):(?P<column>\d{1,3}):$", re.MULTILINE)
_NO_MEMBER = re.compile(r"""^AttributeError\("module 'triton\.language[\w.]*' has no attribute""")
_NO_COMPILER = "Failed to find C compiler"
_LAUNCHER = "cuda_utils.c"
"""The file that Triton compiles with the machine's C compiler before its first launch."""
_RAN = "assay: ran"
"""Key that no argument's name is equal to."""


def compile_error(raised: Raised) -> Refused | None:
    """Triton names places from the outermost function to the innermost, with the code above each; the last one with a message counts. ptxas
    and the interpreter name none. The interpreter raises any exception of a kernel; only undefined names count as compile errors."""
    if raised.type in (BEHIND, INTERPRETER):
        text = " ".join(raised.message.split())
        wanted = raised.type == BEHIND or _category(text) == "undeclared_identifier"
        return Refused(text, _category(text), kernel_line=raised.line) if wanted else None
    places = list(_PLACE.finditer(raised.message)) if raised.type in ERRORS else []
    if not places:
        return None
    ends = [place.start() for place in places[1:]] + [len(raised.message)]
    said = [(place, *_excerpt(raised.message[place.end() : end])) for place, end in zip(places, ends, strict=True)]
    place, quoted, text = next((item for item in reversed(said) if item[2]), said[-1])
    return Refused(
        text or "Triton refuses this",
        _category(text),
        quoted=quoted,
        kernel_line=int(place["line"]),
        column=int(place["column"]) + 1,
    )


def launch_error(raised: Raised) -> Refusal | None:
    """Triton checks the device's limits before it launches, and refuses as the device would."""
    if raised.type != "OutOfResources" or not raised.message.startswith("out of resource: "):
        return None
    return "oversized_block" if raised.message.startswith("out of resource: threads") else "invalid_launch"


def lacks(raised: Raised) -> str:
    """What this machine lacks to build Triton's launcher."""
    if _NO_COMPILER in raised.message and not (shutil.which("gcc") or shutil.which("clang")):
        return "Triton needs a C compiler, which this machine lacks"
    header = Path(sysconfig.get_paths(scheme="posix_prefix")["include"]) / "Python.h"
    if raised.type == "CalledProcessError" and _LAUNCHER in raised.message and not header.exists():
        return "Triton needs the headers of Python (Python.h), which this machine lacks"
    return ""


def install(process: Any) -> Callable[[], None]:
    """In a worker, once the submission has imported Triton: record or skip the kernels that the interpreter runs; on a GPU, say when it
    compiles."""
    watched: list[Any] = []

    def watch() -> None:
        if process.on_device and not watched:
            watched.extend(say_when_it_compiles(process.compiling))
            if watched and process.leaves_out:
                take_first_configuration()  # times of kernels that are left out say nothing
        module = sys.modules.get(INTERPRETING)
        if module is None or watched:
            return
        run = module.GridExecutor.__call__
        watched.append(run)

        def grid() -> tuple[int, ...]:
            found = getattr(module.interpreter_builder, "grid_dim", None)
            return tuple(found) if isinstance(found, list | tuple) else (1, 1, 1)

        @functools.wraps(run)
        def noted(executor: Any, *args: Any, **kwargs: Any) -> Any:
            return process.host_kernels.run(executor.fn, run, (executor, *args), kwargs, grid)

        module.GridExecutor.__call__ = noted

    return watch


def say_when_it_compiles(compiling: Callable[[], AbstractContextManager[None]]) -> list[Any]:
    """Have Triton compile in this context. Returns what was wrapped; nothing before it is imported, or in a version without the method."""
    compiler = getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    compile_ = getattr(compiler, "_do_compile", None)
    if compiler is None or compile_ is None:
        return []

    @functools.wraps(compile_)
    def told(*args: Any, **kwargs: Any) -> Any:
        with compiling():
            return compile_(*args, **kwargs)

    compiler._do_compile = told
    return [compile_]


def take_first_configuration() -> None:
    """Have Triton's autotuner take the first configuration that runs, unless this version has no such method."""
    tuner = getattr(sys.modules.get("triton.runtime.autotuner"), "Autotuner", None)
    bench = getattr(tuner, "_bench", None)
    if tuner is None or bench is None:
        return

    @functools.wraps(bench)
    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _RAN in self.nargs:  # the arguments of one call
            return [math.inf] * 3

        def run(kernel: Callable[[], object], **_: Any) -> list[float]:
            kernel()
            self.nargs[_RAN] = True
            return [0.0] * 3

        self.do_bench = run
        return bench(self, *args, **kwargs)

    tuner._bench = first


def _excerpt(text: str) -> tuple[tuple[str, ...], str]:
    """The kernel's lines up to the one with the error, and the message below the caret."""
    lines = text.strip("\n").split("\n")
    caret = next((number for number, line in enumerate(lines) if line.strip() == "^"), None)
    if caret is None:
        return (), " ".join(text.split())
    return tuple(lines[:caret]), " ".join(" ".join(lines[caret + 1 :]).split())


def _category(text: str) -> Fault:
    return "undeclared_identifier" if UNDEFINED_NAME.search(text) or _NO_MEMBER.search(text) else "cuda_compile_error"


DSL = Dsl(
    name="triton",
    title="Triton",
    packages={"triton": "triton"},
    marks=frozenset(("triton.jit", "triton.autotune", "triton.heuristics", "triton_op")),
    caches={"TRITON_CACHE_DIR": "triton"},
    without_device={"TRITON_INTERPRET": "1"},
    in_worker="evaluator.dsl.triton:install",
    library_kernels=(
        *("_bmm_outer_product_kernel", "_sampled_addmm_kernel", "_bsr_strided_dense_rowspace_kernel", "_bsr_softmax_kernel"),
        *("_scatter_mm2_kernel", "_scatter_mm6_kernel", "_bsr_strided_addmm_kernel"),
    ),  # come with PyTorch, and its operators launch them
    wraps_errors_of="triton.",
    compile_error=compile_error,
    launch_error=launch_error,
    lacks=lacks,
    trial="import triton, triton.language",
)
