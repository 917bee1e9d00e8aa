"""`python -m command.calibrate`: measures what a device reaches at the most, and stores it for the evaluations to come.

    python -m command.calibrate [--device auto|cuda|cuda:N|cpu] [--db URL] [--json]

Nothing is stored of a GPU that was shared or throttled meanwhile.
"""

import argparse
import sys
from collections.abc import Sequence

import torch
from rich.table import Table

from db import DEFAULT_URL
from db.calibrations import save
from db.error import StoreError
from db.store import Store
from evaluator.judge.roofline.calibration_run import calibrate
from evaluator.machine.devices import DeviceError, choose
from evaluator.results.calibration import COPY, Calibration
from evaluator.results.figures import percent, rate_text
from evaluator.results.text import cell, plain_line, rendered

EXIT_DISTURBED = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0; 1 where the device was disturbed, and nothing is stored; 2 where the request can't be met."""
    options = _parser().parse_args(arguments)
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
        prog="python -m command.calibrate",
        description="Measures what a device reaches at the most: copies and matrix products.",
    )
    parser.add_argument("--device", metavar="DEVICE", default="auto", help="auto, cuda, cuda:N or cpu (default: %(default)s)")
    parser.add_argument("--db", metavar="URL", default=DEFAULT_URL, help="SQLAlchemy URL of the database (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
