"""The options of the command line. Heavy packages are imported only when an option needs them."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from command import exits
from evaluator.judge.timing.protocols import names
from evaluator.log import add_option
from evaluator.results.nearest import unknown

if TYPE_CHECKING:
    from evaluator.problem.declaration import PrecisionName
    from evaluator.sandbox import Level
    from evaluator.sanitizer.tools import Wish


PROGRAM = "pipeline.py"
"""The command line's name, unless another one started it."""


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, with the nearest option."""

    def error(self, message: str) -> NoReturn:
        from evaluator.results.advice import runnable

        mistyped = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        if mistyped:
            message = unknown("option", mistyped[1], (name for action in self._actions for name in action.option_strings))
        self.exit(exits.USAGE, runnable(f"{self.prog}: {message}; `{self.prog} --help` lists all\n"))


class _Explain(argparse.Action):
    """Prints the meaning of a category, and ends. It needs no PATH."""

    def __call__(self, parser: argparse.ArgumentParser, _namespace: Any, values: Any, _option: str | None = None) -> None:
        from evaluator.diagnosis.explanation import UnknownCategoryError, explain

        try:
            sys.stdout.write(explain(values))
        except UnknownCategoryError as error:
            parser.exit(exits.USAGE, f"{parser.prog}: {error}\n")
        parser.exit()


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line's options."""
    this = _Parser(
        prog=program,
        description="Judge generated GPU kernels: compile, run in a sandbox, compare with the reference, time, and store every verdict.",
        epilog="Exit code: 0 all were evaluated, 1 some could not be, 2 bad usage, 3 found by --fail-on, 130 interrupted. "
        "Defaults come from assay.toml, or from [tool.assay] in pyproject.toml, in this folder or the nearest parent "
        "that has one.",
    )
    add = this.add_argument
    add(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="submissions (.py), model responses (.txt, .md), bundles (.jsonl), or folders",
    )
    add("--problem", metavar="NAME", help="problem of every submission")
    add("--reference", action="append", default=[], type=Path, metavar="DIR", help="folder of more problem files (repeatable)")
    add("--reference-network", action="store_true", help="let problem files use the network while they are imported")
    add("--every-block", action="store_true", help="judge each ModelNew block of a response, not only the last")
    add("--device", default="auto", metavar="DEVICE", help="auto (a GPU if there is one), cuda, cuda:N or cpu")
    add("--case", metavar="NAME", help="shapes (default: full on a GPU, small on a CPU)")
    add(
        "--dtype",
        type=_precision,
        metavar="TYPE",
        help="precision: fp16, bf16, fp32 or fp64 (default: the problem's)",
    )
    add("--db", default="assay.db", metavar="DB", help="database (default: %(default)s)")
    add("--json", metavar="FILE", help="write a JSON object per evaluation; - is standard output")
    add(
        "--feedback",
        nargs=2,
        metavar=("FORMAT", "FILE"),
        help="write feedback on each submission; FORMAT: markdown",
    )
    add("--junit", metavar="FILE", help="write a JUnit file")
    add(
        "--fail-on",
        choices=("incorrect", "any"),
        help="exit with 3 if one is not correct, or (any) not evaluated",
    )
    add("--jobs", type=_positive, metavar="N", help="judge processes (default: from cores and memory)")
    add("--timeout", type=float, default=60.0, metavar="S", help="timeout of one call, in seconds (default: %(default)g)")
    shapes = this.add_mutually_exclusive_group()
    shapes.add_argument("--strict-shapes", action="store_true", help="fail if wrong in other shapes")
    shapes.add_argument("--own-shapes", action="store_true", help="don't test other shapes")
    add("--strict-inputs", action="store_true", help="fail if wrong on any input distribution")
    add("--rerun", action="store_true", help="judge already judged submissions again")
    add("--author", metavar="NAME", help="author, unless a bundle names one")
    add("--author-from", choices=("folder",), help="the first folder below PATH is the author, before --author")
    gpu, cpu = (", ".join(names(kind)) for kind in ("cuda", "cpu"))
    add("--protocol", metavar="NAME", help=f"timing protocol: {gpu} on a GPU, {cpu} on a CPU (default: the first)")
    add(
        "--timing",
        action=argparse.BooleanOptionalAction,
        help="take times (default); without, a right submission is `untimed`",
    ).default = True  # as an argument it would be part of the help, in some versions of Python
    add(
        "--cores",
        type=_cores,
        default=(),
        metavar="LIST",
        help="CPU cores to time on, as in 0-3 (default: all but the first; of up to four, the last)",
    )
    add(
        "--baseline",
        type=_baselines,
        default=("eager",),
        metavar="KINDS",
        help="eager (default), or eager,compile: torch.compile too",
    )
    add(
        "--headers",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="folder of C++ headers for submissions (repeatable)",
    )
    add("--engine", choices=("local", "ray"), default="local", help="judge here, or on a Ray cluster")
    add("--ray-address", metavar="ADDRESS", help="HOST:PORT of the cluster (default: RAY_ADDRESS, one running here, or a new one)")
    add("--device-kind", metavar="NAME", help="Ray: only devices with NAME in their names")
    add("--explain", action=_Explain, metavar="CATEGORY", help="only print a category's meaning and what to do")
    add(
        "--sanitize",
        type=_wish,
        metavar="TOOLS",
        help="run compute-sanitizer: memcheck,racecheck,initcheck,synccheck, all, or auto (all, after a failure)",
    )
    add(
        "--profile",
        action="store_true",
        help="profile correct submissions, after the verdict, and the reference with Nsight Compute (ncu)",
    )
    sandbox = this.add_mutually_exclusive_group()
    sandbox.add_argument("--sandbox", choices=("namespaces", "bubblewrap", "landlock"), help="sandbox level (default: the best one here)")
    sandbox.add_argument("--no-sandbox", action="store_true", help="no sandbox: only for code that you trust")
    add_option(this)
    this.set_defaults(from_file="")  # a line that says which options are from a file
    return this


def level_of(options: argparse.Namespace) -> "Level | None":
    """The sandbox level requested; None for the best one."""
    from evaluator.sandbox import Level

    if options.no_sandbox:
        return Level.NONE
    return Level(options.sandbox) if options.sandbox else None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def _precision(text: str) -> "PrecisionName":
    from evaluator.problem.declaration import PRECISIONS

    if text not in PRECISIONS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(PRECISIONS)}, not {text!r}")
    return PRECISIONS[text]


def _baselines(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(["eager", *text.split(",")]))
    if unknown := set(kinds) - {"eager", "compile"}:
        raise argparse.ArgumentTypeError(f"there is no baseline {', '.join(sorted(unknown))}; use eager or eager,compile")
    return kinds


def _cores(text: str) -> tuple[int, ...]:
    from evaluator.judge.device.cpu_affinity import read_cores

    try:
        return read_cores(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _wish(text: str) -> "Wish":
    from evaluator.sanitizer.tools import read_wish

    try:
        return read_wish(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
