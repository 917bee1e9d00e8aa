"""The command `repair`: its options and its output."""

import argparse
import asyncio
import json
import os
from pathlib import Path

from assay_client.client import AsyncClient, Client
from assay_client.flows import Settings
from assay_client.models import Options
from assay_client.repair.endpoint import Asking, Endpoint
from assay_client.repair.journal import Attempt, Journal, Place
from assay_client.repair.loop import MOST_ATTEMPTS, Loop, Plan
from assay_client.repair.report import rows, table
from assay_client.tasks import PROMPT, Task, read_tasks
from assay_client.terminal import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_JUDGED,
    UsageError,
    add_profile,
    add_service,
    complain,
    plain,
    positive,
    say,
)

PROGRAM = "repair"
SHOWN = 10
"""Maximum of stopped chains whose reasons are shown."""


def add_repair(parser: argparse.ArgumentParser) -> None:
    """Have a model answer problems, and repair its responses from the judge's feedback."""
    add = parser.add_argument
    add("problems", nargs="+", type=Path, metavar="PROBLEM", help="a problem's file, or a folder of them")
    add("--endpoint", required=True, metavar="URL", help="OpenAI-compatible API, as in http://127.0.0.1:8000/v1")
    add("--model", required=True, metavar="NAME", help="the model's name")
    add("--key-variable", default="OPENAI_API_KEY", metavar="NAME", help="variable with the API's key (default: %(default)s)")
    add("--attempts", type=_attempts, default=4, metavar="K", help="responses per chain, including the first (default: %(default)s)")
    add("--chains", type=positive, default=1, metavar="N", help="chains per problem (default: %(default)s)")
    add("--concurrency", type=positive, default=8, metavar="N", help="chains at once (default: %(default)s)")
    add("--temperature", type=float, metavar="T", help="the model's temperature (default: the endpoint's)")
    add("--max-tokens", type=positive, metavar="N", help="tokens per response (default: the endpoint's)")
    add("--answer-timeout", type=float, default=600.0, metavar="S", help="timeout of one response, in seconds (default: %(default)g)")
    add("--prompt", type=Path, metavar="FILE", help="your own prompt; {problem} stands for the problem's file")
    add("--out", type=Path, default=Path("repair.jsonl"), metavar="FILE", help="file for all attempts (default: %(default)s)")
    add("--case", metavar="NAME", help="shapes (default: the service's)")
    add("--dtype", metavar="TYPE", help="precision (default: the problem's)")
    add_profile(parser, "profile correct responses, and ask for faster ones")
    add("--json", action="store_true", help="print the table as JSON")
    add_service(parser)


def _attempts(text: str) -> int:
    number = positive(text)
    if number > MOST_ATTEMPTS:
        raise argparse.ArgumentTypeError(f"at most {MOST_ATTEMPTS}")
    return number


def repair(client: Client, options: argparse.Namespace) -> int:
    """Run the loop, and show the table. Raises UsageError, ServiceError, and ValueError for problems or a file that can't be read."""
    if not options.endpoint.startswith(("http://", "https://")):
        raise UsageError(f"the endpoint must begin with http:// or https://: {options.endpoint!r}")
    template = _template(options.prompt)
    tasks = read_tasks(options.problems, {each.name for each in client.problems()}, template)
    settings = {name: getattr(options, name) for name in ("model", "temperature", "max_tokens", "case", "dtype", "profile")}
    with Journal(options.out, settings | {"prompt": None if template == PROMPT else template}) as journal:
        try:
            stopped = asyncio.run(_run(options, tasks, journal))
        except KeyboardInterrupt:
            complain(PROGRAM, f"interrupted; the same command continues, from {options.out}")
            return EXIT_INTERRUPTED
        wanted = {(task.name, chain) for task in tasks for chain in range(options.chains)}
        found = rows({place: each for place, each in journal.attempts.items() if (place.problem, place.chain) in wanted}, options.attempts)
    say(json.dumps([row.to_json() for row in found]) if options.json else table(found))
    for (problem, chain), why in list(stopped.items())[:SHOWN]:
        complain(f"{problem}, chain {chain}", why)
    if stopped:
        complain(PROGRAM, f"{len(stopped)} of {len(wanted)} chains stopped early; the same command continues them")
    return EXIT_FAILED if stopped else EXIT_JUDGED


async def _run(options: argparse.Namespace, tasks: list[Task], journal: Journal) -> dict[tuple[str, int], str]:
    asking = Asking(
        url=options.endpoint,
        model=options.model,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        key=os.environ.get(options.key_variable),
        key_from=options.key_variable,
        timeout_s=options.answer_timeout,
    )
    how = Options(case=options.case, dtype=options.dtype, profile=options.profile)
    plan = Plan(tasks, options.attempts, options.chains, options.concurrency, how)
    async with Endpoint(asking) as endpoint, AsyncClient(options.url, options.token, Settings(namespace=journal.run)) as client:
        return await Loop(plan, endpoint, client, journal, _tell).run()


def _tell(place: Place, attempt: Attempt) -> None:
    """Show a verdict in a line on standard error. Standard output is for the table."""
    speed = "" if attempt.speedup is None else f"  {attempt.speedup:.2f}x"
    complain(f"{place.problem}, chain {place.chain}, attempt {place.attempt}", plain(f"{attempt.category}{speed}"))


def _template(path: Path | None) -> str:
    if path is None:
        return PROMPT
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read: {error}") from error
