"""`python -m reference`: lists the problems, or checks whether they are fit to judge by."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.declaration import Floor
    from evaluator.devices import Device
    from evaluator.judge.admission import Admission
    from evaluator.problem import Problem

EXIT_ADMITTED, EXIT_REFUSED, EXIT_USAGE = 0, 1, 2


class UsageError(Exception):
    """What was asked for can't be done; the message is for the person who asked."""


@dataclass(frozen=True)
class _Checked:
    admission: "Admission"
    duration_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 where all were admitted, 1 where one was refused, 2 for bad usage."""
    options = _parser().parse_args(arguments)
    # The heavy imports come after the options, so that --help and mistyped options answer at once.
    from evaluator.devices import DeviceError
    from evaluator.plain import plain_line
    from evaluator.problem import ProblemError

    try:
        problems = _problems(options.names, options.reference)
        return _list(problems, options.json) if options.command == "list" else _check(problems, options)
    except (UsageError, ProblemError, DeviceError) as error:
        sys.stderr.write(f"python -m reference: {plain_line(str(error))}\n")
        return EXIT_USAGE
    except BrokenPipeError:
        # The reader has seen enough (`| head`); nothing may be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reference", description="Lists problems, or checks whether they are fit to judge by.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check",
        help="refuse problems that accept a trivial answer",
        description="Hold trivial answers, and what a reference must never do, against each problem.",
        epilog="Exit code: 0 all problems were admitted, 1 one was refused, 2 bad usage.",
    )
    listing = commands.add_parser("list", help="names, cases and descriptions")
    for command in (check, listing):
        command.add_argument("names", nargs="*", metavar="NAME", help="only these problems (default: all)")
        command.add_argument(
            "--reference", action="append", default=[], type=Path, metavar="DIR", help="a folder with more problem files (repeatable)"
        )
        command.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument("--device", default="cpu", metavar="DEVICE", help="auto, cuda, cuda:N or cpu (default: %(default)s)")
    cases = check.add_mutually_exclusive_group()
    cases.add_argument("--case", metavar="NAME", help="which set of shapes (default: small on a CPU, full on a GPU)")
    cases.add_argument("--all-cases", action="store_true", help="every case that the problem declares")
    return parser


def _problems(names: Sequence[str], folders: Sequence[Path]) -> list["Problem"]:
    from evaluator.problem import discover, load

    known = discover(folders)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.5) or list(known)
            raise UsageError(f"there is no problem {name!r}; there is {', '.join(near)}")
    return [load(known[name]) for name in dict.fromkeys(names or known)]


def _list(problems: Sequence["Problem"], as_json: bool) -> int:
    from rich.table import Table

    from evaluator.plain import cell, rendered

    if as_json:
        rows = [_described(each) for each in problems]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return EXIT_ADMITTED
    table = Table("problem", "cases", "description", "floor", box=None, header_style="bold")
    for problem in problems:
        declared = problem.declaration
        table.add_row(cell(problem.name), cell(", ".join(problem.case_names)), cell(declared.description), cell(_floor(declared.floor)))
    sys.stdout.write(rendered(table))
    return EXIT_ADMITTED


def _described(problem: "Problem") -> dict[str, Any]:
    declared = problem.declaration
    floor = declared.floor.model_dump() if declared.floor else None
    return {"problem": problem.name, "cases": problem.case_names, "description": declared.description, "floor": floor}


def _floor(floor: "Floor | None") -> str:
    """What a call can't do without, in short."""
    if floor is None:
        return "writes all"
    reads, writes = (each if isinstance(each, str) else ", ".join(map(str, each)) for each in (floor.reads, floor.writes))
    parts = [f"reads {reads}" if reads else "", f"writes {writes}" if writes else "", floor.operations if floor.operations != "0" else ""]
    return "; ".join(part for part in parts if part)


def _check(problems: Sequence["Problem"], options: argparse.Namespace) -> int:
    checked = list(_checked(problems, options))
    if options.json:
        sys.stdout.write(json.dumps([_record(each) for each in checked], indent=2) + "\n")
    else:
        sys.stdout.write(_report(checked))
    return EXIT_ADMITTED if all(each.admission.admitted for each in checked) else EXIT_REFUSED


def _checked(problems: Sequence["Problem"], options: argparse.Namespace) -> Iterator[_Checked]:
    import torch

    from evaluator.devices import choose
    from evaluator.judge.admission import check_case
    from evaluator.judge.environment import apply_settings

    device, _ = choose(options.device)
    apply_settings()
    for problem in problems:
        cases = problem.case_names if options.all_cases else (options.case or problem.default_case(device.kind),)
        for case in cases:
            start = time.monotonic()
            try:
                with _alone_on(device):
                    admission = check_case(problem.instance(case), torch.device(device.spec))
            except (torch.OutOfMemoryError, MemoryError) as error:
                raise UsageError(f"{problem.name}, case {case}: {device.name} has too little memory") from error
            yield _Checked(admission, round(time.monotonic() - start, 3))


@contextmanager
def _alone_on(device: "Device") -> Iterator[None]:
    """On a GPU the reference is timed, and no judge may have a submission there meanwhile."""
    from evaluator.judge.lock import DeviceLock

    if device.kind != "cuda":
        yield
        return
    lock = DeviceLock(device.unique_id)
    try:
        lock.acquire()
        yield
    finally:
        lock.close()


def _record(checked: _Checked) -> dict[str, Any]:
    admission = checked.admission
    return {**asdict(admission), "admitted": admission.admitted, "duration_s": checked.duration_s}


def _report(checked: Sequence[_Checked]) -> str:
    from rich.table import Table
    from rich.text import Text

    from evaluator.plain import cell, rendered

    timed = any(each.admission.floor_ms is not None for each in checked)
    table = Table("problem", "case", "verdict", *(["floor", "reference"] if timed else []), "reason", box=None, header_style="bold")
    for each in checked:
        admission = each.admission
        verdict = Text("admitted", style="green") if admission.admitted else Text("refused", style="red")
        reasons = "; ".join(finding.message for finding in admission.findings)
        times = ["–" if each is None else f"{each:.4g} ms" for each in (admission.floor_ms, admission.reference_ms)]
        table.add_row(cell(admission.problem), cell(admission.case), verdict, *(times if timed else []), cell(reasons))
    refused = sum(not each.admission.admitted for each in checked)
    return rendered(table, f"{len(checked)} checked, {refused} refused as degenerate or unsound")


if __name__ == "__main__":
    sys.exit(main())
