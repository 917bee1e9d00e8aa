"""Makes hundreds of distinct submissions: variants of the shipped ones, each with its origin's fair verdict.

A variant renames the kernels and the functions that Python calls, and changes the block size, unroll factor or schedule if the origin
allows it. So each is compiled: no build cache can share a build between variants, or with an origin.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "submissions"
KINDS = ("cuda", "cpp")
LEFT_OUT = ("timeout", "import_error", "load_inline_misuse", "cached_output")
"""Categories of origins without variants: a timeout would measure only the timeout, the next two never reach a compiler, and
the last uses another's extension."""

_EXPECTATION = re.compile(r"^# expect: (cuda|cpu) (.+)$", re.MULTILINE)
_KERNEL = re.compile(r"__global__(?:\s+__\w+__\s*\([^()]*\)|\s+(?:static|inline|void))*\s+([A-Za-z]\w*)\s*\(")
_FUNCTIONS = re.compile(r"\bfunctions\s*=\s*\[([^\]]*)\]")
_UNROLL = ("#pragma unroll 4", ("#pragma unroll 2", "#pragma unroll 4", "#pragma unroll 8"))
_SCHEDULE = ("schedule(static)", ("schedule(static)", "schedule(static, 64)", "schedule(static, 256)"))
TUNINGS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "gelu_tanh/vectorized": (("kThreads = 256;", ("kThreads = 128;", "kThreads = 256;", "kThreads = 512;")),),
    "leaky_relu/vectorized": (("kThreads = 256;", ("kThreads = 128;", "kThreads = 256;", "kThreads = 512;")), _UNROLL),
    "softmax/online": (_UNROLL,),
    "softmax/three_pass": (("kThreads = 512;", ("kThreads = 256;", "kThreads = 512;", "kThreads = 1024;")),),
    "gelu_tanh/cpp_parallel": (_SCHEDULE,),
    "gelu_tanh/cpp_wrong_constant": (_SCHEDULE,),
    "leaky_relu/cpp_parallel": (_SCHEDULE,),
    "softmax/cpp_divides_by_count": (_SCHEDULE,),
    "softmax/cpp_parallel": (_SCHEDULE,),
}
"""Texts of origins, and replacements that don't change the verdict."""


@dataclass(frozen=True)
class Origin:
    """A shipped submission from which variants can be made."""

    label: str
    """problem/name"""
    code: str
    expected: frozenset[str]
    """Its fair verdicts (status/category), on a GPU for CUDA and on the CPU for C++."""


@dataclass(frozen=True)
class Variant:
    """A variant of an origin."""

    label: str
    """problem/name_vNNN"""
    origin: Origin
    code: str


def origins(kind: str) -> list[Origin]:
    """The shipped submissions of a kind, cuda or cpp, that reach a compiler and don't end by a timeout; sorted."""
    found = []
    for path in sorted(FOLDER.glob("*/*.py")):
        code = path.read_text(encoding="utf-8")
        is_cpp = path.name.startswith("cpp_")
        if "load_inline(" not in code or is_cpp != (kind == "cpp"):
            continue
        expectations = {device: frozenset(text.split(" | ")) for device, text in _EXPECTATION.findall(code)}
        expected = expectations["cpu" if is_cpp else "cuda"]
        if not any(verdict.endswith(f"/{category}") for verdict in expected for category in LEFT_OUT):
            found.append(Origin(f"{path.parent.name}/{path.stem}", code, expected))
    return found


def variants(kind: str, count: int, seed: int = 0) -> list[Variant]:
    """`count` variants, of all origins in turn, in an order that depends on the seed; equal for equal seeds."""
    draw = random.Random(seed)
    shuffled = origins(kind)
    draw.shuffle(shuffled)
    return [_variant(shuffled[number % len(shuffled)], number, draw) for number in range(count)]


def write(made: Iterable[Variant], folder: Path) -> list[Path]:
    """Write each as <folder>/<label>.py; returns the paths."""
    paths = []
    for variant in made:
        path = folder / f"{variant.label}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(variant.code, encoding="utf-8")
        paths.append(path)
    return paths


def _variant(origin: Origin, number: int, draw: random.Random) -> Variant:
    code = origin.code
    for text, choices in TUNINGS.get(origin.label, ()):
        code = code.replace(text, draw.choice(choices))
    suffix = f"_v{number:03d}"
    for name in _own_names(code):
        code = re.sub(rf"\b{name}\b", name + suffix, code)
    return Variant(origin.label + suffix, origin, code)


def _own_names(code: str) -> list[str]:
    """Names of kernels and bound functions."""
    bound = [name.strip().strip("'\"") for names in _FUNCTIONS.findall(code) for name in names.split(",")]
    return list(dict.fromkeys([*_KERNEL.findall(code), *filter(None, bound)]))
