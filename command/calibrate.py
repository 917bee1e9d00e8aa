"""`python -m command.calibrate`: measures a device's highest rates, and stores them for later evaluations.

    python -m command.calibrate [--device auto|cuda|cuda:N|cpu] [--db URL] [--json]

If the GPU was shared or throttled meanwhile, nothing is stored.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from command import exits
from configuration.options import use_file
from db import DEFAULT_DATABASE

if TYPE_CHECKING:
    from evaluator.results.calibration import Calibration

EXIT_DISTURBED = 1
EXIT_USAGE = 2
PROGRAM = "python -m command.calibrate"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Returns the exit code: 0; 1 if the device was disturbed, and nothing is stored; 2 if the request can't be met;
    130 for Ctrl-C.
    """
    this = parser(program)
    use_file(this, arguments, "calibrate")
    options = this.parse_args(arguments)
    # The heavy imports come after the options, so that --help and errors in options are shown at once.
    import torch

    from db.calibrations import save
    from db.error import StoreError
    from db.store import Store
    from evaluator.judge.roofline import calibration_run
    from evaluator.machine import devices
    from evaluator.results.display.progress import long_work
    from evaluator.results.display.text import plain_line

    try:
        device, _ = devices.choose(options.device)
        with Store.open(options.db) as store:
            with long_work("Measuring", calibration_run.steps(device)) as work:
                calibration, conditions = calibration_run.calibrate(device, work.advance)
            stored = conditions is None or not conditions.disturbed
            if stored:
                save(store, calibration)
            sys.stdout.write(calibration.model_dump_json(indent=2) + "\n" if options.json else _text(calibration))
            told = f"stored in {store.name}" if stored else f"not stored: {conditions.remark if conditions else ''}"
    except (devices.DeviceError, StoreError, torch.OutOfMemoryError) as error:
        sys.stderr.write(plain_line(str(error)) + "\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing is stored\n")
        return exits.INTERRUPTED
    sys.stderr.write(plain_line(told) + "\n")
    return 0 if stored else EXIT_DISTURBED


def _text(calibration: "Calibration") -> str:
    from evaluator.results.calibration import COPY
    from evaluator.results.display.figures import percent, rate_text
    from evaluator.results.display.screen import rendered
    from evaluator.results.display.table import Column, Table

    columns = (Column("ceiling"), Column("reached", right=True), Column("uncertainty", 50, right=True))
    table = Table(columns, calibration.device_name)
    for ceiling in calibration.ceilings:
        unit = "B" if ceiling.name == COPY else "OP" if ceiling.name == "int8" else "FLOP"
        table.add(ceiling.name, rate_text(ceiling.per_s, unit), percent(ceiling.uncertainty))
    return rendered(table)


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog=program,
        description="Measures a device's highest rates, of copies and matrix products.",
    )
    this.add_argument("--device", metavar="DEVICE", default="auto", help="auto, cuda, cuda:N or cpu (default: %(default)s)")
    this.add_argument("--db", metavar="DB", default=DEFAULT_DATABASE, help="database (default: %(default)s)")
    this.add_argument("--json", action="store_true", help="print JSON")
    return this


if __name__ == "__main__":
    sys.exit(main())
