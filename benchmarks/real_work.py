"""Measures real work: one run of the command line judges submissions to KernelBench's own problems, with a cold cache.

    python -m benchmarks.real_answers PATH/TO/KernelBench/KernelBench ANSWERS
    python -m benchmarks.real_work PATH/TO/KernelBench/KernelBench ANSWERS [--limit S] [--json FILE]

Meanwhile it samples the GPU's utilization twice a second, and every 50 ms whether a judge holds the device (by /proc/locks). The judging
phase is from the first hold to the last release. After --limit seconds it interrupts the run, and reports the results so far.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.device_watch import DeviceWatch
from benchmarks.measuring import written
from benchmarks.pipeline_run import Place, RunFailedError, run_pipeline
from benchmarks.real_work_report import report, tables
from benchmarks.throughput import machine
from evaluator.machine import devices

DAY_S = 86400.0


def expectations(answers: Path) -> dict[str, list[str]]:
    """The fair verdicts by file name, from the folder's manifest. Raises OSError, ValueError."""
    document = tomllib.loads((answers / "manifest.toml").read_text(encoding="utf-8"))
    return {entry["file"]: entry["expect"] for entry in document.get("submission", []) if "expect" in entry}


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns exit code 0 if all were judged as expected, 1 if not, 2 for bad usage."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        expected = expectations(options.answers)
        chosen = [devices.choose(options.device)[0]] if options.device == "cpu" else devices.gpus()
        if not chosen:
            raise ValueError("there is no GPU; use --device cpu to try it out")
    except (OSError, ValueError) as error:
        console.print(f"benchmarks.real_work: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    subprocess.run([sys.executable, "-c", "import torch"], check=True)  # so that the run does not wait for the disk
    with tempfile.TemporaryDirectory(prefix="assay-real-work-") as temporary:
        watch = DeviceWatch(chosen, Path(tempfile.gettempdir()))
        command = [str(options.answers), "--reference", str(options.problems), "--device", options.device]
        watch.start()
        try:
            place = Place(Path(temporary), Path(temporary, "cache"))
            run = run_pipeline(command, place, timeout_s=options.limit, tell=console.print)
        except RunFailedError as error:
            console.print(f"benchmarks.real_work: {error}", highlight=False, markup=False, soft_wrap=True)
            return 2
        finally:
            watch.stop()
    found = {"machine": machine(chosen[0]), "command": sys.argv[1:], **report(run, expected, watch.utilization, watch.held)}
    if options.json:
        written(options.json, found)
    for table in tables(found):
        Console(width=None if sys.stdout.isatty() else 150).print(table)
    return 0 if found["as_expected"] == found["submissions"] else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_work", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("problems", type=Path, help="the folder that holds level1, level2, level3")
    add("answers", type=Path, help="output folder of benchmarks.real_answers")
    add("--limit", type=float, default=DAY_S, metavar="S", help="interrupt the run after S seconds (default: a day)")
    add("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="default: %(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
