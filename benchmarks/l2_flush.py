"""Measures with ncu how much of a buffer the judge's flush leaves in the L2 cache.

    python -m benchmarks.l2_flush [--json FILE]

A kernel reads a buffer several times, with a cache hint. Then a kernel without a hint reads it once more, at once or after a flush. ncu
counts the sectors that the last one finds in the cache.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch.utils.cpp_extension import load_inline

from evaluator.judge.timing.gpu.l2_flush import flush_bytes
from evaluator.profiler.report import read
from evaluator.profiler.tool import find
from evaluator.worker.memory import reset_persisting

HINTS = ("none", "evict_last", "evict_first")
SIZES_MIB = (4, 16)
READS = 20
READ, HIT = "lts__t_sectors_op_read.sum", "lts__t_sectors_op_read_lookup_hit.sum"
_KERNEL = """
__global__ void keep_{name}(const float4* from, float* sink, int count) {{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {{
        float4 v;
        {load}
        sum += v.x + v.y + v.z + v.w;
    }}
    if (sum == 12345.678f) *sink = sum;
}}
"""
_PLAIN = "v = __ldcg(from + i);"
_HINTED = """
        unsigned long long policy;
        asm("createpolicy.fractional.L2::{hint}.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("ld.global.L2::cache_hint.v4.f32 {{%0, %1, %2, %3}}, [%4], %5;"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from + i), "l"(policy));"""
_FUNCTION = """
void {name}(torch::Tensor from, torch::Tensor sink) {{
    keep_{name}<<<264, 256>>>(reinterpret_cast<const float4*>(from.data_ptr<float>()), sink.data_ptr<float>(), from.numel() / 4);
}}
"""


def cases() -> Iterator[tuple[str, int, bool]]:
    """Hint, MiB of the buffer, and whether a flush comes between."""
    return product(HINTS, SIZES_MIB, (False, True))


def run() -> None:
    """Inside ncu: one launch of `keep_probe` per case."""
    loads = {hint: _PLAIN if hint == "none" else _HINTED.format(hint=hint) for hint in HINTS} | {"probe": _PLAIN}
    source = "".join(_KERNEL.format(name=name, load=load) + _FUNCTION.format(name=name) for name, load in loads.items())
    declared = "".join(f"void {name}(torch::Tensor, torch::Tensor);" for name in loads)
    module = load_inline("l2_flush", declared, source, functions=list(loads))  # type: ignore[no-untyped-call]
    sink = torch.zeros(1, device="cuda")
    area = torch.zeros(flush_bytes(sink.device) // 8, dtype=torch.int64, device="cuda")
    word = torch.ones((), dtype=torch.int64, device="cuda")
    for hint, mib, flushes in cases():
        buffer = torch.ones(mib << 18, device="cuda")
        for _ in range(READS):
            getattr(module, hint)(buffer, sink)
        if flushes:
            reset_persisting()
            area.copy_(word)
        module.probe(buffer, sink)
    torch.cuda.synchronize()


def measure() -> list[dict[str, object]]:
    """The share of sectors that hit, by case. Raises ToolMissingError, and RuntimeError if ncu measured nothing."""
    arguments = (find().program, "--csv", "--page", "raw", "--metrics", f"{READ},{HIT}", "--kernel-name", "keep_probe")
    controls = ("--cache-control", "none", "--clock-control", "none", "--replay-mode", "application")
    command = [*arguments, *controls, sys.executable, "-m", "benchmarks.l2_flush", "--inside"]
    done = subprocess.run(command, capture_output=True, text=True)
    rows, asked = read(done.stdout).rows, list(cases())
    if len(rows) != len(asked):
        raise RuntimeError(f"ncu measured {len(rows)} of {len(asked)} launches:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [
        {"hint": hint, "mib": mib, "flushed": flushed, "hits": row.values[HIT] / row.values[READ]}
        for (hint, mib, flushed), row in zip(asked, rows, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write the shares if requested."""
    parser = argparse.ArgumentParser(description="Measures with ncu how much of a buffer the judge's flush leaves in the L2 cache.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.inside:
        run()
        return 0
    found = measure()
    table = Table("hint of the loads", "buffer, MiB", "in the cache at once", "after a flush")
    for before, after in zip(found[::2], found[1::2], strict=True):
        table.add_row(str(before["hint"]), str(before["mib"]), f"{before['hits']:.1%}", f"{after['hits']:.1%}")
    Console(width=120).print(table)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
