"""Measures errors of float32 sums of many terms, and whether the tolerance separates them from sums in lower precision.

    python -m benchmarks.long_sums --most 100000000 --json FILE

An error is the judge's: |value - exact| / (|exact| + rms of the exact outputs), the largest of several outputs. Each output is a sum of
its own terms: `positive` is torch.rand, `mixed` torch.randn, `constant` 0.7310586 throughout. The exact sums are float64's.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from evaluator.judge.correctness.tolerance import base_tolerance

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

// Rounds to nearest, ties to even, and drops the last bits of the mantissa. The exponent keeps float32's range.
static inline float rounded(float v, int bits) {
    uint32_t u;
    std::memcpy(&u, &v, 4);
    if (bits && std::isfinite(v)) u = (u + ((1u << (bits - 1)) - 1) + ((u >> bits) & 1)) & ~((1u << bits) - 1);
    std::memcpy(&v, &u, 4);
    return v;
}

template <class Real, class Term, class Round> Real in_parts(int64_t n, int64_t parts, Term term, Round round) {
    std::vector<Real> sums(parts, Real(0));
    int64_t i = 0;
    for (; i + parts <= n; i += parts)
        for (int64_t part = 0; part < parts; ++part) sums[part] = round(sums[part] + term(i + part));
    for (; i < n; ++i) sums[i % parts] = round(sums[i % parts] + term(i));
    for (int64_t half = parts / 2; half; half /= 2)
        for (int64_t part = 0; part < half; ++part) sums[part] = round(sums[part] + sums[part + half]);
    return sums[0];
}

extern "C" {
float blocked(const float* x, int64_t n, int64_t parts) {
    return in_parts<float>(n, parts, [=](int64_t i) { return x[i]; }, [](float v) { return v; });
}
float kahan(const float* x, int64_t n) {
    float sum = 0.0f, lost = 0.0f;
    for (int64_t i = 0; i < n; ++i) {
        const float term = x[i] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    return sum;
}
float narrow(const float* x, int64_t n, int64_t parts, int bits, float largest) {
    return in_parts<float>(n, parts, [=](int64_t i) { return rounded(x[i], bits); }, [=](float v) {
        const float kept = rounded(v, bits);
        return std::fabs(kept) > largest ? std::copysign(INFINITY, kept) : kept;
    });
}
float product(const float* x, const float* y, int64_t n, int64_t parts, int bits) {
    return in_parts<float>(n, parts, [=](int64_t i) { return rounded(x[i], bits) * rounded(y[i], bits); }, [](float v) { return v; });
}
double exact(const float* x, int64_t n) {
    return in_parts<double>(n, 256, [=](int64_t i) { return double(x[i]); }, [](double v) { return v; });
}
double exact_product(const float* x, const float* y, int64_t n) {
    return in_parts<double>(n, 256, [=](int64_t i) { return double(x[i]) * y[i]; }, [](double v) { return v; });
}
}
"""
COMPILE = ("c++", "-O2", "-ffp-contract=off", "-shared", "-fPIC")
"""Additions keep their order: nothing here allows reassociation."""
PARTS = 256
HALF_BITS, HALF_LARGEST = 13, 65504.0
"""Bits that TF32 and float16 drop of float32's mantissa, and float16's largest number."""
BFLOAT_BITS, BFLOAT_LARGEST = 16, 3.3895314e38
KINDS: dict[str, Callable[[int], torch.Tensor]] = {
    "positive": torch.rand,
    "mixed": torch.randn,
    "constant": lambda terms: torch.full((terms,), 0.7310586),
}
FLOAT32 = ("one after the other", "torch.sum", "256 partial sums", "1024 partial sums", "Kahan")
"""Kernels that should be accepted."""
NARROW = ("TF32 product", "half accumulator", "bfloat16 accumulator")
"""Kernels that should be caught: products of 10-bit factors, summed in float32, and 256 sums rounded after every addition."""


@dataclass(frozen=True)
class Row:
    """Sums of a number of terms of one kind."""

    terms: int
    kind: str
    outputs: int
    allowed: float
    errors: dict[str, float]
    """Error by kernel."""

    @property
    def accepted(self) -> list[str]:
        """The float32 kernels within the tolerance."""
        return [kernel for kernel in FLOAT32 if self.errors[kernel] <= self.allowed]

    @property
    def caught(self) -> list[str]:
        """The lower-precision kernels beyond it."""
        return [kernel for kernel in NARROW if not self.errors[kernel] <= self.allowed]


def compiled(folder: Path) -> ctypes.CDLL:
    """Compile the kernels. Raises CalledProcessError."""
    (folder / "sums.cpp").write_text(SOURCE, encoding="utf-8")
    subprocess.run([*COMPILE, "-o", "sums.so", "sums.cpp"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "sums.so"))
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    signatures = {
        "blocked": (ctypes.c_float, pointer, count, count),
        "kahan": (ctypes.c_float, pointer, count),
        "narrow": (ctypes.c_float, pointer, count, count, ctypes.c_int, ctypes.c_float),
        "product": (ctypes.c_float, pointer, pointer, count, count, ctypes.c_int),
        "exact": (ctypes.c_double, pointer, count),
        "exact_product": (ctypes.c_double, pointer, pointer, count),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def measure(library: ctypes.CDLL, terms: int, kind: str) -> Row:
    """Run every kernel on the same random terms, one output after another."""
    outputs = 1 if kind == "constant" else 64 if terms <= 10**6 else 16 if terms <= 10**7 else 8
    found: dict[str, list[float]] = {kernel: [] for kernel in (*FLOAT32, *NARROW)}
    exact: dict[str, list[float]] = {"sum": [], "product": []}
    for _ in range(outputs):
        left, right = KINDS[kind](terms), KINDS[kind](terms)
        x, y = left.data_ptr(), right.data_ptr()
        values = (
            library.blocked(x, terms, 1),
            float(left.sum()),
            library.blocked(x, terms, 256),
            library.blocked(x, terms, 1024),
            library.kahan(x, terms),
            library.product(x, y, terms, PARTS, HALF_BITS),
            library.narrow(x, terms, PARTS, HALF_BITS, HALF_LARGEST),
            library.narrow(x, terms, PARTS, BFLOAT_BITS, BFLOAT_LARGEST),
        )
        for kernel, value in zip(found, values, strict=True):
            found[kernel].append(value)
        exact["sum"].append(library.exact(x, terms))
        exact["product"].append(library.exact_product(x, y, terms))
    errors = {kernel: _largest_error(values, exact["product" if "product" in kernel else "sum"]) for kernel, values in found.items()}
    return Row(terms, kind, outputs, base_tolerance(torch.float32, terms), errors)


def _largest_error(values: Sequence[float], exact: Sequence[float]) -> float:
    value, oracle = torch.tensor(values, dtype=torch.float64), torch.tensor(exact, dtype=torch.float64)
    return float(((value - oracle).abs() / (oracle.abs() + oracle.square().mean().sqrt())).max())


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown; misses are bold."""
    yield f"| terms | kind | allowed | {' | '.join((*FLOAT32, *NARROW))} | accepted | caught |"
    yield "| ---: | --- " + "| ---: " * (len(FLOAT32) + len(NARROW) + 3) + "|"
    for row in rows:
        right = {*row.accepted, *row.caught}
        cells = (f"{error:.1e}" if kernel in right else f"**{error:.1e}**" for kernel, error in row.errors.items())
        counts = f"{len(row.accepted)} of {len(FLOAT32)} | {len(row.caught)} of {len(NARROW)}"
        yield f"| {row.terms:,} | {row.kind} | {row.allowed:.1e} | {' | '.join(cells)} | {counts} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10**8, metavar="N", help="the largest number of terms (default: 100,000,000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        counts = [10**power for power in range(2, 9) if 10**power <= options.most]
        rows = [measure(library, terms, kind) for terms in counts for kind in KINDS]
    print("\n".join(table(rows)))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
