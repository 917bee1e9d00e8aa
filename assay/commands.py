"""The commands of `assay`: their names and their command lines."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from db.store import Store

Run = Callable[[Sequence[str]], int]
"""Takes the arguments after the command, and returns the exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Its functions import what they need."""

    name: str
    summary: str
    run: Run
    parser: Callable[[], argparse.ArgumentParser]
    shares: bool = True
    """Whether it takes all options from the top of a file of options, not only `db`."""


def _judge(words: Sequence[str]) -> int:
    from command.judge import main

    return main(words, "assay judge", check_file)


def _judge_parser() -> argparse.ArgumentParser:
    from command.options import parser

    return parser("assay judge")


def _calibrate(words: Sequence[str]) -> int:
    from command.calibrate import main

    return main(words, "assay calibrate")


def _calibrate_parser() -> argparse.ArgumentParser:
    from command.calibrate import parser

    return parser("assay calibrate")


def _problems(words: Sequence[str]) -> int:
    from reference.__main__ import main

    return main(words, "assay problems")


def _problems_parser() -> argparse.ArgumentParser:
    from reference.__main__ import parser

    return parser("assay problems")


def _serve(words: Sequence[str]) -> int:
    from web.__main__ import main

    return main(words, "assay serve")


def _serve_parser() -> argparse.ArgumentParser:
    from web.__main__ import parser

    return parser("assay serve")


def _service(words: Sequence[str]) -> int:
    from web.service.__main__ import main

    return main(words, "assay service")


def _service_parser() -> argparse.ArgumentParser:
    from web.service.options import parser

    return parser("assay service")


def _sandbox(words: Sequence[str]) -> int:
    from evaluator.sandbox.__main__ import main

    return main(words, "assay sandbox")


def _sandbox_parser() -> argparse.ArgumentParser:
    from evaluator.sandbox.__main__ import parser

    return parser("assay sandbox")


def _of_client(name: str, summary: str) -> Command:
    """A command of the service's client."""

    def run(words: Sequence[str]) -> int:
        try:
            from assay_client import command
        except ImportError as error:
            sys.stderr.write(f"assay {name} needs {error.name}: pip install -c constraints.txt -e '.[client]'\n")
            return 2
        from configuration.options import use_file

        made = parser()
        use_file(made, words, name)
        return command.run(getattr(command, name), made.parse_args(words), f"assay {name}")

    def parser() -> argparse.ArgumentParser:
        made = argparse.ArgumentParser(prog=f"assay {name}", description=summary)
        with contextlib.suppress(ImportError):  # then it has no options to complete
            from assay_client import command

            getattr(command, f"add_{name}")(made)
        return made

    return Command(name, summary, run, parser, shares=False)


def _completion(words: Sequence[str]) -> int:
    from assay.completion import main

    return main(words, lambda: ((each.name, each.summary, each.parser()) for each in COMMANDS.values()))


def _completion_parser() -> argparse.ArgumentParser:
    from assay.completion import parser

    return parser()


def _write_site(store: "Store", folder: Path) -> int:
    try:
        from web.static_site import write
    except ImportError as error:
        from db.error import StoreError

        raise StoreError(f"The pages need {error.name}: pip install -c constraints.txt -e '.[web]'.") from error
    return write(store, folder)


def _of_database(name: str, summary: str) -> Command:
    """A command of `python -m db`."""

    def run(words: Sequence[str]) -> int:
        from db.__main__ import main

        return main([name, *words], "assay", _write_site)

    def parser() -> argparse.ArgumentParser:
        from db.__main__ import parsers

        return parsers("assay", _write_site)[1][name]

    return Command(name, summary, run, parser, shares=False)


GROUPS: dict[str, tuple[Command, ...]] = {
    "Judging": (
        Command("judge", "judge submissions, and store every verdict", _judge, _judge_parser),
        Command("problems", "make a problem's file, check problems, list them", _problems, _problems_parser),
        Command("calibrate", "measure a device's highest rates", _calibrate, _calibrate_parser),
        Command("sandbox", "list the sandbox levels that work on this machine", _sandbox, _sandbox_parser),
    ),
    "Results": (
        _of_database("list", "evaluations, newest first"),
        _of_database("show", "all facts about one evaluation"),
        _of_database("leaderboard", "ranking by speedup, for every problem and device"),
        _of_database("failures", "how many evaluations failed, by cause"),
        _of_database("compare", "two authors, problem by problem"),
        _of_database("history", "all evaluations of one submission"),
        _of_database("export", "write evaluations, or all pages as a site"),
        _of_database("import", "store what `assay export --format json` wrote"),
        _of_database("author", "give stored submissions another author"),
        _of_database("check", "look for damage in the database"),
        _of_database("gc", "remove unused rows"),
    ),
    "Others": (
        Command("serve", "show the results in a browser", _serve, _serve_parser),
        Command("service", "judge over HTTP, and manage its tokens", _service, _service_parser),
        _of_client("submit", "submit files to a service, and show the verdicts"),
        _of_client("wait", "wait for evaluations at a service"),
        _of_client("cancel", "cancel evaluations at a service"),
        _of_client("submitted", "your own evaluations at a service, newest first"),
        _of_client("repair", "have a model repair its responses from the feedback"),
        Command("completion", "print a script that completes commands in bash or zsh", _completion, _completion_parser),
    ),
}
COMMANDS: dict[str, Command] = {command.name: command for group in GROUPS.values() for command in group}


def check_file() -> None:
    """Check the file of options, if there is one, against all commands. Raises ConfigurationError."""
    from configuration.options import check_file

    parsers = {each.name: each.parser for each in COMMANDS.values()}
    check_file({name: parser for name, parser in parsers.items() if COMMANDS[name].shares}, parsers)
