"""`python -m reference`: makes a problem's file, lists the problems, or checks that they reject wrong answers."""

import argparse
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from configuration.options import use_file

if TYPE_CHECKING:
    from evaluator.machine.devices import Device
    from evaluator.problem.problem import Problem
    from reference._report import Broken, Checked, Listed

EXIT_ADMITTED, EXIT_REFUSED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
PROGRAM = "python -m reference"


class UsageError(Exception):
    """The request is impossible. The message is for the user."""


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Returns the exit code: 0 if all passed, 1 if one was refused, 2 for bad usage, 130 for Ctrl-C.

    program: the name by which it was called, for messages.
    """
    this = parser(program)
    use_file(this, arguments, "problems")
    options = this.parse_args(arguments, argparse.Namespace(program=program))
    # PyTorch's threads wait for each other awake, unless told otherwise before its import. On busy cores that takes most of the time.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    # The heavy imports come after the options, so that --help and errors in options are shown at once.
    from evaluator.machine.devices import DeviceError
    from evaluator.problem.execute import ProblemError
    from evaluator.results.display.text import plain_line
    from reference._creation import CreationError

    try:
        code: int = options.answer(options)
        return code
    except (UsageError, CreationError, ProblemError, DeviceError) as error:
        sys.stderr.write(f"{program}: {plain_line(str(error))}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe (`| head`). Nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog=program, description="Makes a problem's file, lists problems, or checks that they reject wrong answers."
    )
    commands = this.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="write a documented template", description="Write a template of a problem's file.")
    new.add_argument("name", metavar="NAME", help="name of the new problem")
    new.add_argument("--reference", type=Path, metavar="DIR", help="folder to write to (default: the shipped problems')")
    new.set_defaults(answer=_new)
    check = commands.add_parser(
        "check",
        help="refuse problems that accept a trivial answer",
        description="Check that each problem rejects trivial answers, and that its outputs depend only on its inputs.",
        epilog="Exit code: 0 all problems passed, 1 one was refused, 2 bad usage.",
    )
    check.set_defaults(answer=_check)
    listing = commands.add_parser("list", help="cases, dtypes, sizes, floor, and results of checks")
    listing.set_defaults(answer=_list)
    for command in (check, listing):
        command.add_argument("names", nargs="*", metavar="NAME", help="only these problems (default: all)")
        command.add_argument(
            "--reference", action="append", default=[], type=Path, metavar="DIR", help="folder of more problem files (repeatable)"
        )
    for command in (new, check, listing):
        command.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument("--dtype", metavar="TYPE", help="precision: fp16, bf16, fp32 or fp64 (default: the problem's)")
    check.add_argument("--device", default="cpu", metavar="DEVICE", help="auto, cuda, cuda:N or cpu (default: %(default)s)")
    cases = check.add_mutually_exclusive_group()
    cases.add_argument("--case", metavar="NAME", help="shapes (default: full on a GPU, small on a CPU)")
    cases.add_argument("--all-cases", action="store_true", help="every case")
    return this


def _new(options: argparse.Namespace) -> int:
    from evaluator.problem.catalogue import SHIPPED
    from evaluator.results.advice import assay_command
    from reference._creation import create

    path = create(options.name, options.reference or SHIPPED)
    where = f" --reference {shlex.quote(str(options.reference))}" if options.reference else ""
    check = re.sub("^assay ", lambda _: f"{assay_command()} ", options.program)
    judge = f"{assay_command()} judge{where} --problem {options.name} my_kernel.py"
    steps = {"check": f"{check} check {options.name}{where}", "judge": judge}
    if options.json:
        return _say(json.dumps({"problem": options.name, "file": str(path), **steps}, indent=2))
    return _say(f"{path}\n\nEdit it, then\n\n    {steps['check']}\n    {steps['judge']}")


def _meant(names: Sequence[str], folders: Sequence[Path]) -> dict[str, Path]:
    """The files of the problems with these names, or of all. Raises UsageError for an unknown name."""
    from evaluator.problem.catalogue import discover
    from evaluator.submission.attribution import Catalogue

    known = discover(folders)
    catalogue = Catalogue(known)
    meant = [catalogue.named(name) for name in names]
    for name, found in zip(names, meant, strict=True):
        if found is None:
            near = catalogue.nearest(name) or tuple(known)
            more = "" if folders else "; --reference DIR adds those of a folder"
            raise UsageError(f"there is no problem {name!r}; known: {', '.join(near[:20])}{' …' if len(near) > 20 else ''}{more}")
    return {name: known[name] for name in [name for name in meant if name] or known}


def _problem(name: str, path: Path) -> "Problem | Broken":
    from evaluator.problem.execute import ProblemError
    from evaluator.problem.load import load
    from reference._report import Broken

    try:
        return load(path)
    except ProblemError as error:
        return Broken(name, error)


def _list(options: argparse.Namespace) -> int:
    from evaluator.machine.devices import cpu, gpus
    from reference._report import Broken, listing, listing_record

    devices = {device.name for device in (cpu(), *gpus())}
    problems = [_problem(name, path) for name, path in _meant(options.names, options.reference).items()]
    found = [each if isinstance(each, Broken) else _listed(each, sorted(devices)) for each in problems]
    if options.json:
        return _say(json.dumps([listing_record(each) for each in found], indent=2))
    return _say(listing(found).removesuffix("\n"))


def _listed(problem: "Problem", devices: Sequence[str]) -> "Listed":
    from evaluator.problem.declaration import PRECISIONS
    from evaluator.problem.kept_figures import CheckedCase, check_of
    from reference._report import Listed

    precisions = dict.fromkeys((problem.declaration.dtype, *PRECISIONS.values()))
    subjects = [CheckedCase(problem.sha256, case, device, each) for case in problem.case_names for device in devices for each in precisions]
    return Listed(problem, _input_bytes(problem), [kept for subject in subjects if (kept := check_of(subject)) is not None])


def _input_bytes(problem: "Problem") -> int | None:
    from evaluator.problem.declaration import DEFAULT_CASE
    from evaluator.problem.execute import ProblemError
    from evaluator.worker.nested import tensors

    try:
        return sum(tensor.nbytes for tensor in tensors(problem.instance(DEFAULT_CASE).inputs(0, "meta")))
    except ProblemError:  # its random functions do not work without memory
        return None


def _check(options: argparse.Namespace) -> int:
    from evaluator.judge.device.environment import apply_settings
    from evaluator.machine.devices import choose
    from evaluator.results.display.progress import long_work
    from evaluator.worker.memory import keep_freed_memory
    from reference._report import Broken, check_record, checked_line, is_admitted, report

    device, _ = choose(options.device)
    cases = list(_cases(options, device))
    apply_settings()
    if device.kind == "cpu":
        keep_freed_memory()
    checked: list[Checked | Broken] = []
    too_large: list[str] = []
    with long_work("Checking", len(cases), colours={"admitted": "green", "refused": "red"}) as work:
        for found, case in cases:
            work.doing = f"{found.name}, case {case}" if case else found.name
            each = found if isinstance(found, Broken) else _checked(found, case, device)
            work.advance()
            if each is None:
                too_large.append(work.doing)
                continue
            checked.append(each)
            work.tallies["admitted" if is_admitted(each) else "refused"] += 1
            work.note(checked_line(each))
    _say(json.dumps([check_record(each) for each in checked], indent=2) if options.json else report(checked).removesuffix("\n"))
    if too_large:
        raise UsageError(f"{device.name} has too little memory for {'; '.join(too_large)}")
    return EXIT_ADMITTED if all(map(is_admitted, checked)) else EXIT_REFUSED


def _cases(options: argparse.Namespace, device: "Device") -> Iterator[tuple["Problem | Broken", str]]:
    """The problems to check, each with a case; a file that is no problem, with none. Raises UsageError."""
    from evaluator.problem.declaration import PRECISIONS
    from reference._report import Broken

    if options.dtype not in (None, *PRECISIONS):
        raise UsageError(f"--dtype is one of {', '.join(PRECISIONS)}, not {options.dtype!r}")
    precision = None if options.dtype is None else PRECISIONS[options.dtype]
    for name, path in _meant(options.names, options.reference).items():
        found = _problem(name, path)
        if isinstance(found, Broken):
            yield found, ""
            continue
        problem = found.in_precision(precision)
        for case in problem.case_names if options.all_cases else (options.case or problem.default_case(device.kind),):
            yield problem, case


def _checked(problem: "Problem", case: str, device: "Device") -> "Checked | Broken | None":
    """Check a case, and keep the result. None if the device has too little memory. Raises OptionError if there is no such case."""
    import torch

    from evaluator.judge.problem_check.check import check_case
    from evaluator.judge.problem_check.check_lookup import keep
    from evaluator.problem.execute import OptionError, ProblemError
    from reference._creation import TEMPLATE
    from reference._report import Broken, Checked

    start = time.monotonic()
    try:
        with _alone_on(device):
            admission = check_case(problem.instance(case), torch.device(device.spec))
    except (torch.OutOfMemoryError, MemoryError):
        return None
    except OptionError:
        raise
    except ProblemError as error:
        return Broken(problem.name, error)
    keep(problem, device, admission)
    if f'"description": "{problem.declaration.description}"' in TEMPLATE.read_text(encoding="utf-8"):
        admission = replace(admission, notes=(*admission.notes, "the description is still the template's: say what the problem computes"))
    return Checked(admission, round(time.monotonic() - start, 3))


@contextmanager
def _alone_on(device: "Device") -> Iterator[None]:
    """Hold the GPU exclusively: the reference is timed, so no judge may run a submission there."""
    from evaluator.judge.device.device_lock import DeviceLock

    if device.kind != "cuda":
        yield
        return
    lock = DeviceLock(device.unique_id)
    try:
        lock.acquire_exclusive()
        yield
    finally:
        lock.close()


def _say(text: str) -> int:
    sys.stdout.write(text + "\n")
    return EXIT_ADMITTED


if __name__ == "__main__":
    sys.exit(main())
