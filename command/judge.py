"""The command line of the judge: reads submissions, judges each in a sandbox, stores every result, and prints a summary.

Heavy modules are imported only when needed.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from command import exits
from command.checks import check_options, check_protocol, problem_meant
from command.folders import usable_folders
from command.options import PROGRAM, level_of, parser
from configuration.options import use_file
from evaluator.dsl import PluginError
from evaluator.log import LogLevelError, show

if TYPE_CHECKING:
    from evaluator.engine.warm_parents import EarlyStart


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM, check_file: Callable[[], None] | None = None) -> int:
    """Run the command line; returns the exit code. `check_file` checks the file of options against all commands."""
    this = parser(program)
    from_file = use_file(this, arguments, "judge", check_file)
    options = this.parse_args(arguments)
    options.from_file = from_file
    try:
        show("command", options.verbose)
        with usable_folders(), _early_start(options) as early:
            return _answer(options, early, program)
    except (LogLevelError, PluginError, exits.UsageError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return exits.USAGE
    except KeyboardInterrupt:
        return exits.INTERRUPTED  # before anything was judged


def _early_start(options: argparse.Namespace) -> "contextlib.AbstractContextManager[EarlyStart | None]":
    """Start the fork servers, which import PyTorch while this process imports the rest. Skip them if they are clearly not needed."""
    if options.engine != "local" or not all(path.exists() for path in options.paths):
        return contextlib.nullcontext()
    from evaluator.engine.warm_parents import EarlyStart

    return EarlyStart(options.device, level_of(options))


def _answer(options: argparse.Namespace, early: "EarlyStart | None", program: str) -> int:
    """Call `run`, and report its errors in one line."""
    # File names and messages of submissions may have characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return run(options, early)
    except BrokenPipeError:
        # The reader closed the pipe (`| head`). Nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.SOME_NOT_EVALUATED
    except exits.expected() as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return exits.USAGE


def run(options: argparse.Namespace, early: "EarlyStart | None" = None) -> int:
    """Judge the submissions that the options name. Returns the exit code. Raises the errors that `exits.expected` lists."""
    from command.engine_choice import find_place
    from command.outputs import Outputs, written
    from command.run import Session
    from db.store import Store
    from evaluator.engine.problem_loader import ProblemReader
    from evaluator.problem.catalogue import discover
    from evaluator.submission.discover import find

    check_options(options)
    known = discover(options.reference)
    if options.problem:
        options.problem = problem_meant(options.problem, known)
    submissions = find(
        options.paths, options.every_block, options.problem, options.author, known, written(options), options.author_from == "folder"
    )
    place = find_place(options, early)
    check_protocol(options.protocol, place.devices[0])
    with (
        Store.open(options.db) as store,
        Outputs(options) as outputs,
        ProblemReader(known, options.dtype, network=options.reference_network) as problems,
    ):
        store.start_run(sys.argv, submissions.expected)
        return Session(options, store, outputs, place, problems).judge(submissions)
