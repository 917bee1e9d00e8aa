"""Measures verdicts per hour: the command line against the yardstick, in one run; cold, then warm.

    python -m benchmarks.throughput --part seeds --responses DIR [--warm none] [--yardsticks N] [--json FILE]
    python -m benchmarks.throughput --part variants [--variants N] [--warm none] [--yardsticks N]
    python -m benchmarks.throughput --part devices [--variants N]
    python -m benchmarks.throughput --part cpu [--limit N]

The yardstick is benchmarks.stock_protocol, one submission after another, each with its own empty build folder. It judges all, or
--yardsticks random ones, scaled to all. Ours is `pipeline.py` with an empty ASSAY_CACHE and a new database, then with another new database
and the filled cache. Torch is imported once before, so that neither pays for reading it from disk. Submissions that are rejected unread
cost the yardstick nothing here.

`devices` compares all GPUs of the machine with the first. Verdicts that differ between its runs are listed.

After --budget seconds no further yardstick begins, and a run of ours is interrupted. The yardstick runs submissions without a sandbox: use
only trusted responses.
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
from benchmarks.pipeline_run import RunFailedError
from benchmarks.stock_protocol import Subject
from benchmarks.variants import origins, variants, write
from evaluator.build import Toolchain
from evaluator.machine import devices
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.submission.discover import find

SUBMISSIONS = Path(__file__).resolve().parents[1] / "submissions"
ENOUGH_DEVICES = 2


def compare(bench: Bench, name: str, paths: Sequence[Path], subjects: Sequence[Subject]) -> None:
    """Ours cold and warm, then the yardstick."""
    part: dict[str, Any] = {"submissions": len(subjects)}
    bench.report["parts"][name] = part
    for way in ("cold",) if bench.options.warm == "none" else ("cold", "warm"):
        bench.ours(part, f"ours {way}", paths, bench.folder / f"{name}-cache")
    named = [replace(subject, label=bench.short(subject.label)) for subject in subjects]
    bench.stock(part, "stock cold", drawn(named, bench.options.yardsticks), bench.folder / f"{name}-stock")


def drawn(subjects: Sequence[Subject], count: int | None) -> list[tuple[int, Subject]]:
    """`count` of them, or all, with their numbers, in random order, so that those within the time limit are a fair sample."""
    numbered = list(enumerate(subjects))
    random.Random(0).shuffle(numbered)
    return numbered[:count]


def subjects_of(paths: Sequence[Path], kind: str) -> list[Subject]:
    """The submissions in `paths` that the yardstick can judge, as the command line would read them."""
    known = discover()
    found = []
    for item in find(paths, True, None, None, known):
        if item.rejection is None and item.problem is not None:
            answered = load(known[item.problem])
            constants = answered.instance(answered.default_case(kind)).constants
            label = item.name + (f" [{item.block}]" if item.block else "")
            found.append(Subject(label, item.code, answered.path, constants))
    return found


def measure_seeds(bench: Bench) -> None:
    """Real responses, all their code blocks."""
    paths = [Path(bench.options.responses)]
    compare(bench, "seeds", paths, subjects_of(paths, bench.device.kind))


def measure_variants(bench: Bench) -> None:
    """Distinct submissions made from the shipped ones of the device's kind."""
    paths = write_variants(bench, bench.folder / "variants")
    compare(bench, "variants", paths, subjects_of(paths, bench.device.kind))


def measure_devices(bench: Bench) -> None:
    """One GPU against all, with the same builds, made beforehand; in the order all, one, one, all."""
    count = len(devices.gpus())
    paths, cache = write_variants(bench, bench.folder / "device-variants"), bench.folder / "devices-cache"
    part: dict[str, Any] = {"submissions": bench.options.variants, "gpus": count}
    bench.report["parts"]["devices"] = part
    bench.ours(part, "builds", paths, cache)
    visible = {"one": "0", "all": ",".join(map(str, range(count)))}
    walls: dict[str, list[float]] = {"one": [], "all": []}
    verdicts: dict[str, set[str]] = {}
    for number, which in enumerate(("all", "one", "one", "all")):
        run = bench.ours(part, f"{which} {number}", paths, cache, {"CUDA_VISIBLE_DEVICES": visible[which]})
        used = len(part[f"{which} {number}"]["devices"])
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
    compare(bench, "cpu", chosen, subjects_of(chosen, "cpu"))


def write_variants(bench: Bench, folder: Path) -> list[Path]:
    """A folder with the requested number of variants."""
    write(variants("cuda" if bench.device.kind == "cuda" else "cpp", bench.options.variants), folder)
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
    name = options.part
    device = devices.cpu() if name == "cpu" else devices.choose(options.device)[0]
    if (reason := impossible(options, device)) is not None:
        console.print(f"benchmarks.throughput: {reason}", highlight=False, markup=False, soft_wrap=True)
        return 2
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    failed = False
    with tempfile.TemporaryDirectory(prefix="assay-throughput-") as folder:
        bench = Bench(options, device, Path(folder), console, {"machine": machine(device), "command": sys.argv[1:], "parts": {}})
        try:
            MEASURES[name](bench)
        except RunFailedError as error:
            failed = True
            bench.report["parts"].setdefault(name, {})["error"] = str(error)
            bench.tell(f"{name}: {error}")
        bench.write()
    for table in tables.of_report(bench.report):
        Console(width=None if sys.stdout.isatty() else 150).print(table)
    runs = bench.report["parts"][name].values()
    incomplete = any(isinstance(run, dict) and run.get("complete") is False for run in runs)
    return 1 if failed or incomplete else 0


def impossible(options: argparse.Namespace, device: devices.Device) -> str | None:
    """Why the part can't be measured here; None if it can."""
    if options.part == "seeds" and not options.responses:
        return "--part seeds needs --responses DIR"
    if options.part == "devices" and len(devices.gpus()) < ENOUGH_DEVICES:
        return f"--part devices needs {ENOUGH_DEVICES} GPUs"
    if options.part == "seeds" and device.kind == "cpu":
        return "--part seeds needs a GPU"
    if options.part != "devices" and not _ninja():
        return "the yardstick needs ninja (pip install ninja)"
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
    add("--part", choices=tuple(MEASURES), required=True, help="what to measure")
    add("--responses", metavar="DIR", help="for seeds: a folder of model responses, with a manifest.toml or not")
    add("--variants", type=int, default=100, metavar="N", help="number of variants (default %(default)s)")
    add("--yardsticks", type=int, metavar="N", help="judge N random ones by the yardstick, and scale (default: all)")
    add("--warm", choices=("ours", "none"), default="ours", help="measured warm too (default: %(default)s)")
    add("--limit", type=int, metavar="N", help="for cpu: at most N submissions, spread evenly")
    add("--budget", type=float, default=36000.0, metavar="S", help="seconds for everything (default %(default)g)")
    add("--device", choices=("auto", "cuda", "cpu"), default="auto", help="default: %(default)s")
    add("--json", metavar="FILE", help="write the figures to FILE as they come")
    return parser


if __name__ == "__main__":
    sys.exit(main())
