"""List the sandbox levels that work on this machine: `python -m evaluator.sandbox check`. Exit code 0 if one does, else 1."""

import argparse
import sys
from collections.abc import Sequence

from evaluator.sandbox.level_choice import LevelReport, probe

PROGRAM = "python -m evaluator.sandbox"


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog=program, description="Say which sandbox levels work on this machine. Exit code 0 if one does, else 1."
    )
    this.add_argument("action", nargs="?", choices=["check"], default="check", help="what to do (may be left out)")
    return this


def _text(report: LevelReport) -> str:
    from evaluator.results.display.screen import rendered
    from evaluator.results.display.table import Column, Table

    table = Table((Column("level"), Column("there"), Column("detail", kind="text")))
    for trial in report.trials:
        detail = f"memory limited by {trial.memory_limited_by}" if trial.available else trial.reason
        table.add(trial.level, "yes" if trial.available else "no", detail)
    layers = {"landlock": f"version {report.landlock_abi}" if report.landlock_abi else "not in this kernel"}
    layers["seccomp"] = "" if report.seccomp else "no table for this architecture"
    for name, there in (("landlock", report.landlock_abi), ("seccomp", report.seccomp)):
        table.add(f"{name} (as a layer)", "yes" if there else "no", layers[name])
    table.add("bwrap", "yes" if report.bubblewrap else "no", report.bubblewrap or "not installed")
    return rendered(table, f"best level: {report.best or 'none'}")


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Returns the exit code: 0 if a sandbox level works, else 1."""
    parser(program).parse_args(arguments)
    report = probe()
    sys.stdout.write(_text(report))
    return 0 if report.best else 1


if __name__ == "__main__":
    sys.exit(main())
