"""The command line: submit files to a judging service, follow or cancel them, and list your own evaluations."""

import argparse
import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay_client.client import Client
from assay_client.errors import AssayError, ConflictError, InvalidRequestError, NotFoundError, ServiceError
from assay_client.files import find
from assay_client.flows import Settings
from assay_client.models import Evaluation, Options
from assay_client.repair.command import add_repair, repair
from assay_client.terminal import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_JUDGED,
    EXIT_USAGE,
    UsageError,
    add_profile,
    add_service,
    complain,
    plain,
    positive,
    say,
)

PROGRAM = "assay-client"
LOOK_S = 2.0
"""Seconds between two requests for the stage of an evaluation."""
WIDTH = 78
MANY = 12
"""Maximum of problems that are listed if none has a similar name."""
Answerer = Callable[[Client, argparse.Namespace], int]
"""Runs a command, and returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 if all was judged, 1 if there is no verdict or the service did not respond, 2 for bad usage."""
    this = argparse.ArgumentParser(prog=PROGRAM, description="Sends submissions to a judging service.")
    commands = this.add_subparsers(required=True)
    for name, add, answer in COMMANDS:
        command = commands.add_parser(name, help=str(add.__doc__).splitlines()[0].lower(), description=add.__doc__)
        add(command)
        command.set_defaults(answer=answer)
    options = this.parse_args(arguments)
    return run(options.answer, options, PROGRAM)


def run(answer: Answerer, options: argparse.Namespace, program: str) -> int:
    """Run a command, and report its error. Returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names may have characters that the terminal's encoding lacks
    try:
        with Client(options.url, options.token, Settings(namespace=getattr(options, "namespace", ""))) as client:
            return answer(client, options)
    except (UsageError, ValueError) as error:
        code = EXIT_USAGE
        told = str(error)
    except AssayError as error:
        code = EXIT_FAILED if isinstance(error, ServiceError) else EXIT_USAGE
        told = str(error)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
        told = "Submitted files are still judged; `submitted` lists them."
    except BrokenPipeError:
        # The reader closed the pipe (`| head`). Nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    complain(program, told)
    return code


def add_submit(parser: argparse.ArgumentParser) -> None:
    """Submit files, and show the verdicts."""
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="Python (.py), model responses (.md, .txt), bundles (.jsonl), or folders")
    add("--problem", metavar="NAME", help="their problem (default: from comment or folder)")
    add("--case", metavar="NAME", help="shapes (default: the service's)")
    add("--dtype", metavar="TYPE", help="precision (default: the problem's)")
    add("--shapes", choices=("own", "others", "strict"), help="test of other shapes (default: the service's)")
    add("--timing", action=argparse.BooleanOptionalAction, help="take times (default: the service's)")
    add("--timeout", type=float, metavar="S", help="timeout of one call, in seconds (default: the service's)")
    add_profile(parser, "profile correct submissions, show the feedback")
    add(
        "--again",
        action="store_const",
        dest="namespace",
        const=f"again {time.time_ns()}",
        default="",
        help="judge already judged files again",
    )
    add("--no-wait", action="store_true", help="print ids; don't wait")
    add_service(parser)
    _add_json(parser)


def add_submitted(parser: argparse.ArgumentParser) -> None:
    """List your own evaluations, newest first."""
    add = parser.add_argument
    add("--state", choices=("queued", "claimed", "done", "cancelled"), help="only this state")
    add("--problem", metavar="NAME", help="only this problem")
    add("--top", type=positive, default=20, metavar="N", help="at most N (default: %(default)s)")
    add_service(parser)
    _add_json(parser)


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Wait for evaluations, and show the verdicts."""
    _add_ids(parser)


def add_cancel(parser: argparse.ArgumentParser) -> None:
    """Cancel evaluations."""
    _add_ids(parser)


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", type=_public_id, metavar="ID", help="ids from `submit --no-wait`")
    add_service(parser)
    _add_json(parser)


def _public_id(text: str) -> str:
    """An evaluation's id, which becomes part of an address. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isalnum()):
        raise argparse.ArgumentTypeError(f"{text!r} is no evaluation's id; `submitted` lists yours")
    return text


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a JSON record per evaluation")


def submit(client: Client, options: argparse.Namespace) -> int:
    """Submit, follow, and show. If the service refuses a submission, report it and go on. Raises UsageError, ServiceError."""
    how = Options(
        case=options.case,
        dtype=options.dtype,
        timing=options.timing,
        shapes=options.shapes,
        profile=options.profile,
        timeout_s=options.timeout,
    )
    found = find(options.paths, options.problem, how)
    taken: list[Evaluation] = []
    for each in found:
        try:
            taken.append(client.submit(each.submission))
            if options.no_wait:
                say(plain(taken[-1].id))
        except (InvalidRequestError, ConflictError) as error:
            complain(each.place, "\n  ".join((error.message, *error.details)))
    if options.no_wait:
        return EXIT_JUDGED if len(taken) == len(found) else EXIT_FAILED
    return EXIT_JUDGED if _follow(client, taken, options.json, bool(options.profile)) == len(found) else EXIT_FAILED


def _follow(client: Client, taken: Sequence[Evaluation], as_json: bool, profiled: bool = False) -> int:
    """Wait for evaluations, and show each. Returns the number of verdicts. Raises ServiceError."""
    line = _StatusLine()
    judged = 0
    for number, first in enumerate(taken, 1):
        evaluation = first
        try:
            while not evaluation.ended:
                line.show(f"{number} of {len(taken)}  {evaluation.name}  {evaluation.stage or evaluation.state}")
                evaluation = client.get(evaluation.id, LOOK_S)
        finally:
            line.clear()
        say(_record(evaluation) if as_json else _verdict(evaluation, profiled))
        judged += evaluation.judged
    return judged


def wait(client: Client, options: argparse.Namespace) -> int:
    """Wait for evaluations, and show each. Raises ServiceError."""
    return EXIT_JUDGED if _follow(client, _each(options.ids, client.get), options.json) == len(options.ids) else EXIT_FAILED


def cancel(client: Client, options: argparse.Namespace) -> int:
    """Cancel evaluations, and show each. Raises ServiceError."""
    cancelled = _each(options.ids, client.cancel)
    say("\n".join(map(_record if options.json else _row, cancelled)))
    return EXIT_JUDGED if len(cancelled) == len(options.ids) else EXIT_FAILED


def _each(ids: Sequence[str], call: Callable[[str], Evaluation]) -> list[Evaluation]:
    """Call for each id. Unknown evaluations, and those that are done before they are cancelled, are reported and left out."""
    found = []
    for public_id in ids:
        try:
            found.append(call(public_id))
        except (NotFoundError, ConflictError) as error:
            complain(public_id, error.message)
    return found


def submitted(client: Client, options: argparse.Namespace) -> int:
    """List your own evaluations. Raises ServiceError, and UsageError for an unknown problem."""
    found = client.evaluations(state=options.state, problem=options.problem, limit=options.top)
    if options.problem and not found:
        known = [each.name for each in client.problems()]
        if options.problem not in known:
            near = difflib.get_close_matches(options.problem, known) or known[:MANY]
            raise UsageError(f"there is no problem {options.problem!r}; known: {', '.join(near)}")
    if options.json:
        say("\n".join(map(_record, found)))
    else:
        say("\n".join(map(_row, found)) if found else "There are none.")
    return EXIT_JUDGED


class _StatusLine:
    """On a terminal, one line of standard error that is overwritten. Elsewhere, a new line for each change."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = ""

    def show(self, text: str) -> None:
        text = plain(text)
        if text != self._shown:
            sys.stderr.write(f"\r\x1b[K{text[:WIDTH]}" if self._terminal else text + "\n")
            sys.stderr.flush()
        self._shown = text

    def clear(self) -> None:
        if self._terminal and self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = ""


def _verdict(evaluation: Evaluation, profiled: bool) -> str:
    """The outcome, in one line or a few; of a profiled correct submission, with the feedback."""
    result = evaluation.result
    if result is not None and result.status == "correct" and profiled:
        return "\n".join((_row(evaluation), *(f"    {plain(line)}" for line in result.feedback.splitlines())))
    if result is None or (result.status == "correct" and result.category == "ok"):
        return _row(evaluation)
    told = [text for text in (result.message, result.hint) if text]
    return "\n".join((_row(evaluation), *(f"    {plain(text)}" for text in told)))


def _row(evaluation: Evaluation) -> str:
    result = evaluation.result
    what = evaluation.state if result is None else f"{result.status}/{result.category}"
    speed = "" if result is None or result.speedup is None else f"{result.speedup:.2f}x"
    if result is not None and result.speedup is not None and result.speedup_interval is not None:
        speed += f" ({result.speedup_interval[0]:.2f}-{result.speedup_interval[1]:.2f})"
    cells = (evaluation.id, evaluation.accepted_at[:16].replace("T", " "), what, speed, evaluation.problem, evaluation.name or "")
    return plain("  ".join(cell for cell in cells if cell))


def _record(evaluation: Evaluation) -> str:
    told = {name: getattr(evaluation, name) for name in ("id", "name", "problem", "state", "accepted_at")}
    return json.dumps(told | {"result": None if evaluation.result is None else dict(evaluation.result.record)})


COMMANDS = (
    ("submit", add_submit, submit),
    ("wait", add_wait, wait),
    ("cancel", add_cancel, cancel),
    ("submitted", add_submitted, submitted),
    ("repair", add_repair, repair),
)
