"""`python -m evaluator.judge.roofline.calibration_run`: measures what the device reaches at the most, and stores it for the evaluations to come.

    python -m evaluator.judge.roofline.calibration_run [--device auto|cuda|cuda:N|cpu] [--db URL] [--json]

Each ceiling is measured several times over, all of them in turn, so that a minute of a slower clock meets none of them alone. Nothing is
stored of a GPU that was shared or throttled meanwhile.
"""

import argparse
import sys
import time
from collections.abc import Sequence

import torch
from rich.table import Table

from db import DEFAULT_URL
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.device.environment import apply_settings, gpu_driver
from evaluator.judge.device.gpu_monitor import GpuMonitor, watch_of
from evaluator.judge.roofline.peaks import formats, measure
from evaluator.machine.devices import Device, DeviceError, choose, cpu_count
from evaluator.results.calibration import COPY, Calibration, Ceiling
from evaluator.results.evidence import ConditionsEvidence
from evaluator.results.figures import percent, rate_text
from evaluator.results.result import now
from evaluator.results.text import cell, plain_line, rendered

REPETITIONS = 5
LEAST_REPETITIONS = 2
ENOUGH_S = 1.5
"""With LEAST_REPETITIONS done, no more are begun after this, which one to warm up is a part of."""
ATTEMPTS = 2
EXIT_DISTURBED = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0; 1 where the device was disturbed, and nothing is stored; 2 where what is asked for can't be done."""
    options = _parser().parse_args(arguments)
    from db.calibrations import save
    from db.error import StoreError
    from db.store import Store

    try:
        device, _ = choose(options.device)
        with Store.open(options.db) as store:
            calibration, conditions = calibrate(device)
            stored = conditions is None or not conditions.disturbed
            if stored:
                save(store, calibration)
            sys.stdout.write(calibration.model_dump_json(indent=2) + "\n" if options.json else _text(calibration))
            told = f"stored in {store.name}" if stored else f"not stored: {conditions.remark if conditions else ''}"
    except (DeviceError, StoreError, torch.OutOfMemoryError) as error:
        sys.stderr.write(plain_line(str(error)) + "\n")
        return EXIT_USAGE
    sys.stderr.write(plain_line(told) + "\n")
    return 0 if stored else EXIT_DISTURBED


def calibrate(device: Device) -> tuple[Calibration, ConditionsEvidence | None]:
    """Measure a device, once more where it was shared or throttled, while no submission computes on it; and how it was meanwhile.

    On a large GPU it takes about ENOUGH_S and what the libraries take to load. Raises torch.OutOfMemoryError.
    """
    apply_settings()
    if device.kind == "cpu":
        torch.set_num_threads(cpu_count())
    lock = DeviceLock(device.unique_id)
    try:
        lock.acquire()
        for attempt in range(1, ATTEMPTS + 1):
            measured_at, (ceilings, repetitions), conditions = now(), *_watched(device)
            if conditions is None or not conditions.disturbed:
                break
            conditions = conditions.model_copy(update={"repeated": attempt == ATTEMPTS})
    finally:
        lock.close()
    calibration = Calibration(
        device_id=device.unique_id,
        device_name=device.name,
        driver=gpu_driver() if device.kind == "cuda" else None,
        torch=torch.__version__,
        measured_at=measured_at,
        repetitions=repetitions,
        ceilings=ceilings,
    )
    return calibration, conditions


def _watched(device: Device) -> tuple[tuple[tuple[Ceiling, ...], int], ConditionsEvidence | None]:
    target = torch.device(device.spec)
    watch = watch_of(device)
    if watch is None:
        return _measured(target, None), None
    torch.zeros(1, device=target)  # a context, by which this process finds itself among those on the device
    with watch.timing("calibration"):
        measured = _measured(target, watch)
    return measured, watch.conditions()


def _measured(device: torch.device, watch: GpuMonitor | None) -> tuple[tuple[Ceiling, ...], int]:
    """All ceilings of the device, and how many times each was measured."""
    names = [COPY, *formats(device)]
    found: dict[str, list[float]] = {name: [] for name in names}
    start = time.monotonic()
    for repetition in range(REPETITIONS + 1):
        if repetition > LEAST_REPETITIONS and time.monotonic() - start > ENOUGH_S:
            break
        for name in list(found):
            per_s = measure(name, device)
            if per_s is None:
                del found[name]
            elif repetition:  # the first one loads libraries, and the clock rises in it
                found[name].append(per_s)
            if watch is not None:
                watch.look()
    ceilings = tuple(Ceiling(name=name, per_s=max(rates), uncertainty=1 - min(rates) / max(rates)) for name, rates in found.items())
    return ceilings, len(found[COPY])


def _text(calibration: Calibration) -> str:
    table = Table(box=None, header_style="bold", title=cell(calibration.device_name), title_justify="left")
    for name, justify in (("ceiling", "left"), ("reached", "right"), ("uncertainty", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for ceiling in calibration.ceilings:
        unit = "B" if ceiling.name == COPY else "OP" if ceiling.name == "int8" else "FLOP"
        table.add_row(*map(cell, (ceiling.name, rate_text(ceiling.per_s, unit), percent(ceiling.uncertainty))))
    return rendered(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evaluator.judge.roofline.calibration_run",
        description="Measures what a device reaches at the most: copies and matrix products.",
    )
    parser.add_argument("--device", metavar="DEVICE", default="auto", help="auto, cuda, cuda:N or cpu (default: %(default)s)")
    parser.add_argument("--db", metavar="URL", default=DEFAULT_URL, help="SQLAlchemy URL of the database (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
