"""Numba's CUDA: Python functions, compiled in the worker."""

import re

from evaluator.dsl.plugin import UNDEFINED_NAME, Dsl, Fault, Raised, Refused

ERRORS = frozenset(
    (
        *("TypingError", "LoweringError", "UnsupportedError", "UnsupportedBytecodeError", "NotDefinedError", "ForbiddenConstruct"),
        *("ByteCodeSupportError", "ConstantInferenceError", "NvvmError", "RequireLiteralValue", "LiteralTypingError"),
    )
)
_PLACE = re.compile(r'^File "[^"]{0,400}submission\.py", line (?P<line>\d{1,9}):')
_NAME = re.compile(r"\bname '(\w{1,200})' is not defined")
_UNDECLARED = re.compile(r"^Untyped global name|\bVariable '[^']*' is not defined")
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_PIPELINE = "Failed in "
_TRIAL = """
from numba import cuda

@cuda.jit
def kernel(x):
    x[0] = 1

try:
    from numba.cuda.descriptor import cuda_target
except ImportError:
    cuda_target = None

for context in ("typing_context", "target_context"):
    if hasattr(type(cuda_target), context):
        getattr(cuda_target, context).refresh()
"""
"""Numba sets itself up when it first compiles; that comes before anything that depends on the kernel or needs a GPU."""


def compile_error(raised: Raised) -> Refused | None:
    """Numba names files and lines, the innermost last."""
    if raised.type not in ERRORS:
        return None
    lines = [_ESCAPE.sub("", line).strip() for line in raised.message.splitlines()]
    text = next((line for line in lines if line and not line.startswith(_PIPELINE)), "")
    places = [int(match["line"]) for line in lines if (match := _PLACE.match(line))]
    name = _NAME.search(text)
    return Refused(text, _category(text), line=places[-1] if places else None, name=name[1] if name else "")


def _category(text: str) -> Fault:
    return "undeclared_identifier" if UNDEFINED_NAME.search(text) or _UNDECLARED.search(text) else "cuda_compile_error"


DSL = Dsl(
    name="numba",
    title="Numba",
    packages={"numba": "numba", "numba.cuda": "numba_cuda"},
    marks=frozenset(("cuda.jit",)),
    caches={"NUMBA_CACHE_DIR": "numba"},
    compile_error=compile_error,
    trial=_TRIAL,
)
