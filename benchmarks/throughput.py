"""Measures verdicts per hour: the command line against the yardstick, in one run; cold, then warm.

    python -m benchmarks.throughput --part seeds --responses DIR [--json FILE]
    python -m benchmarks.throughput --part variants [--variants N] [--yardsticks N]
    python -m benchmarks.throughput --part devices [--variants N] [--engine ray]
    python -m benchmarks.throughput --part cpu [--limit N]

The yardstick is benchmarks.stock_protocol, one submission after another. Cold: each with its own empty build folder; warm: with the first
run's builds. It judges all, or --yardsticks random ones, scaled to all. Ours is `pipeline.py` with an empty ASSAY_CACHE and a new
database, then with another new database and the filled cache. Torch is imported once before, so that neither pays for reading it from
disk. Submissions that are rejected unread cost the yardstick nothing here.

With --engine ray, `devices` compares the Ray engine on all GPUs of the machine with the local one on the first. Verdicts that differ
between the runs are listed.

--part may be repeated. With --builds DIR `variants` keeps its builds there, and `devices` uses them. After --budget seconds no further
yardstick begins, and a run of ours is interrupted. The yardstick runs submissions without a sandbox: use only trusted responses.
"""

import argparse
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import tables
from benchmarks.measuring import Bench
from benchmarks.pipeline_run import RunFailedError, busy
from benchmarks.stock_protocol import CALLS, Subject
from benchmarks.variants import origins, variants, write
from evaluator.build import Toolchain
from evaluator.machine import devices
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.submission.discover import find

PARTS = ("seeds", "variants", "devices", "cpu")
SUBMISSIONS = Path(__file__).resolve().parents[1] / "submissions"
ENOUGH_DEVICES = 2


def compare(bench: Bench, name: str, paths: Sequence[Path], subjects: Sequence[Subject]) -> None:
    """Ours cold and warm, then the yardstick cold and warm."""
    part: dict[str, Any] = {"submissions": len(subjects)}
    bench.report["parts"][name] = part
    cache, built = builds_of(bench, name), bench.folder / f"{name}-stock"
    if bench.options.only != "stock":
        for way in ("cold",) if bench.options.warm == "none" else ("cold", "warm"):
            bench.ours(part, f"ours {way}", paths, cache)
    if bench.options.only == "ours":
        return
    named = [replace(subject, label=bench.short(subject.label)) for subject in subjects]
    chosen = drawn(named, bench.options.yardsticks, bench.options.skip_yardsticks, bench.options.seed)
    for way in ("cold", "warm") if bench.options.warm == "both" else ("cold",):
        runs = bench.stock(part, f"stock {way}", chosen, built)
        chosen = chosen[: len(runs)]


def drawn(subjects: Sequence[Subject], count: int | None, skip: int, seed: int) -> list[tuple[int, Subject]]:
    """`count` of them, or all, with their numbers, in random order, so that those within the time limit are a fair sample.

    The first `skip` of that order are left out.
    """
    numbered = list(enumerate(subjects))
    random.Random(seed).shuffle(numbered)
    return numbered[skip : None if count is None else skip + count]


def subjects_of(paths: Sequence[Path], problem: str | None, case: str | None, kind: str) -> list[Subject]:
    """The submissions in `paths` that the yardstick can judge, as the command line would read them."""
    known = discover()
    found = []
    for item in find(paths, True, problem, None, known):
        if item.rejection is None and item.problem is not None:
            answered = load(known[item.problem])
            constants = answered.instance(case or answered.default_case(kind)).constants
            label = item.name + (f" [{item.block}]" if item.block else "")
            found.append(Subject(label, item.code, answered.path, constants))
    return found


def measure_seeds(bench: Bench) -> None:
    """Real responses, all their code blocks."""
    paths = [Path(bench.options.responses)]
    compare(bench, "seeds", paths, subjects_of(paths, bench.options.problem, bench.options.case, bench.device.kind))


def measure_variants(bench: Bench) -> None:
    """Distinct submissions made from the shipped ones of the device's kind."""
    paths = write_variants(bench, bench.folder / "variants")
    compare(bench, "variants", paths, subjects_of(paths, None, bench.options.case, bench.device.kind))


def measure_devices(bench: Bench) -> None:
    """One GPU against all, with the same builds, made beforehand; in the order all, one, one, all."""
    count = len(devices.gpus())
    paths, cache = write_variants(bench, bench.folder / "device-variants"), builds_of(bench, "devices")
    part: dict[str, Any] = {"submissions": bench.options.variants, "gpus": count}
    bench.report["parts"]["devices"] = part
    if not is_filled(cache):
        bench.ours(part, "builds", paths, cache)
    visible = {"one": "0", "all": ",".join(map(str, range(count)))}
    walls: dict[str, list[float]] = {"one": [], "all": []}
    verdicts: dict[str, set[str]] = {}
    for number, which in enumerate(("all", "one", "one", "all")):
        more = ("--engine", bench.options.engine) if which == "all" else ()
        run = bench.ours(part, f"{which} {number}", paths, cache, {"CUDA_VISIBLE_DEVICES": visible[which]}, more)
        used = len(busy(run.results).devices)
        if not run.complete:
            return
        if used != len(visible[which].split(",")):
            raise RunFailedError(f"{used} GPUs judged where {visible[which]} were to")
        walls[which].append(run.wall_s)
        for result in run.results:
            verdicts.setdefault(bench.short(result.submission), set()).add(result.category)
        part["differing"] = [f"{name}: {' or '.join(sorted(found))}" for name, found in verdicts.items() if len(found) > 1]
        if all(walls.values()):
            part["ratio"] = sum(walls["one"]) / len(walls["one"]) / (sum(walls["all"]) / len(walls["all"]))
            bench.write()


def measure_cpu(bench: Bench) -> None:
    """The shipped C++ submissions, except those that only a timeout ends."""
    labels = [origin.label for origin in origins("cpp")]
    paths = [SUBMISSIONS / f"{label}.py" for label in labels]
    chosen = paths[:: max(1, -(-len(paths) // bench.options.limit))] if bench.options.limit else paths
    compare(bench, "cpu", chosen, subjects_of(chosen, None, bench.options.case, "cpu"))


def builds_of(bench: Bench, name: str) -> Path:
    """The ASSAY_CACHE of a part."""
    return Path(bench.options.builds).absolute() if bench.options.builds else bench.folder / f"{name}-cache"


def is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def write_variants(bench: Bench, folder: Path) -> list[Path]:
    """A folder with the requested number of variants."""
    write(variants("cuda" if bench.device.kind == "cuda" else "cpp", bench.options.variants, bench.options.seed), folder)
    return [folder]


MEASURES: dict[str, Callable[[Bench], None]] = {
    "seeds": measure_seeds,
    "variants": measure_variants,
    "devices": measure_devices,
    "cpu": measure_cpu,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns exit code 0 if every part was measured completely, 1 if not, 2 for bad usage."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    parts = list(dict.fromkeys(options.part))
    device = devices.cpu() if parts == ["cpu"] else devices.choose(options.device)[0]
    if (reason := impossible(options, parts, device)) is not None:
        console.print(f"benchmarks.throughput: {reason}", highlight=False, markup=False, soft_wrap=True)
        return 2
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    failed = False
    with tempfile.TemporaryDirectory(prefix="assay-throughput-") as folder:
        bench = Bench(options, device, Path(folder), console, {"machine": machine(device), "command": sys.argv[1:], "parts": {}})
        for name in parts:
            try:
                MEASURES[name](bench)
            except RunFailedError as error:
                failed = True
                bench.report["parts"].setdefault(name, {})["error"] = str(error)
                bench.tell(f"{name}: {error}")
            bench.write()
    for table in tables.of_report(bench.report):
        Console(width=None if sys.stdout.isatty() else 150).print(table)
    incomplete = any(
        isinstance(run, dict) and run.get("complete") is False for part in bench.report["parts"].values() for run in part.values()
    )
    return 1 if failed or incomplete else 0


def impossible(options: argparse.Namespace, parts: Sequence[str], device: devices.Device) -> str | None:
    """Why the parts can't be measured here; None if they can."""
    if "cpu" in parts and len(parts) > 1:
        return "--part cpu judges on the CPU and the others on the GPU: measure it alone"
    if "seeds" in parts and not options.responses:
        return "--part seeds needs --responses DIR"
    if "devices" in parts and len(devices.gpus()) < ENOUGH_DEVICES:
        return f"--part devices needs {ENOUGH_DEVICES} GPUs"
    if options.builds and options.only != "stock" and parts != ["devices"] and is_filled(Path(options.builds)):
        return f"--builds {options.builds} is not empty, but cold runs need an empty folder"
    if options.builds and len({*parts} - {"devices"}) > 1:
        return "--builds works with one part, or with variants and devices"
    if "seeds" in parts and device.kind == "cpu":
        return "--part seeds needs a GPU"
    if parts != ["devices"] and options.only != "ours" and not _ninja():
        return "the yardstick needs ninja (pip install ninja), or --only ours"
    return None


def _ninja() -> bool:
    return any(shutil.which("ninja", path=path) for path in (None, str(Path(sys.executable).parent)))


def machine(device: devices.Device) -> dict[str, Any]:
    """Versions and hardware on which the figures depend."""
    toolchain = Toolchain.find(device.capability)
    return {
        "device": device.name,
        "kind": device.kind,
        "gpus": len(devices.gpus()),
        "cores": devices.cpu_count(),
        "torch": toolchain.torch.version,
        "nvcc": toolchain.nvcc.version if toolchain.nvcc else None,
        "cxx": toolchain.cxx.version if toolchain.cxx else None,
        "python": sys.version.split()[0],
        "load": list(itertools.islice(map(float, Path("/proc/loadavg").read_text().split()), 3)),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--part", action="append", choices=PARTS, required=True, help="what to measure (repeatable)")
    add("--responses", metavar="DIR", help="for seeds: a folder of model responses, with a manifest.toml or not")
    add("--problem", metavar="NAME", help="for seeds: all of them answer this problem")
    add("--variants", type=int, default=100, metavar="N", help="number of variants (default %(default)s)")
    add("--yardsticks", type=int, metavar="N", help="judge N random ones by the yardstick, and scale (default: all)")
    add("--skip-yardsticks", type=int, default=0, metavar="N", help="leave out the first N random ones, which another run has measured")
    add("--warm", choices=("both", "ours", "none"), default="both", help="measured warm too (default: %(default)s)")
    add("--only", choices=("ours", "stock"), help="measure only this one; another run has measured the other")
    add("--limit", type=int, metavar="N", help="for cpu: at most N submissions, spread evenly")
    add("--calls", type=int, default=CALLS, metavar="N", help="timed calls of the yardstick (default %(default)s)")
    add("--timeout", type=float, default=300.0, metavar="S", help="seconds until a yardstick is killed (default %(default)g)")
    add("--budget", type=float, default=36000.0, metavar="S", help="seconds for everything (default %(default)g)")
    add("--device", choices=("auto", "cuda", "cpu"), default="auto", help="default: %(default)s")
    add("--case", metavar="NAME", help="set of shapes; by default full on a GPU, small on a CPU")
    add("--jobs", type=int, metavar="N", help="judge processes, as for pipeline.py")
    add("--engine", choices=("local", "ray"), default="local", help="for devices: the engine for all of them (default: %(default)s)")
    add("--builds", metavar="DIR", help="build cache to keep (default: a temporary one)")
    add("--seed", type=int, default=0, metavar="N", help="random seed of variants and samples (default %(default)s)")
    add("--json", metavar="FILE", help="write the figures to FILE as they come")
    return parser


if __name__ == "__main__":
    sys.exit(main())
