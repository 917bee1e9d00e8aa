"""`assay completion bash|zsh`: a script that completes commands, options and files, made from the parsers of all commands."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SHELLS = ("bash", "zsh")


def main(words: Sequence[str], commands: Callable[[], Iterable[tuple[str, str, argparse.ArgumentParser]]]) -> int:
    """Print the script. Each command has a name, a summary and a parser. Returns 0."""
    shell = parser().parse_args(words).shell
    import shtab

    sys.stdout.write(shtab.complete(_whole(commands()), shell) + "\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog="assay completion",
        description="Prints a script that completes commands, options and files.",
        epilog="bash: assay completion bash > ~/.local/share/bash-completion/completions/assay; "
        "zsh: assay completion zsh > a file `_assay` in a folder of $fpath",
    )
    this.add_argument("shell", choices=SHELLS, help="the shell")
    return this


def _whole(commands: Iterable[tuple[str, str, argparse.ArgumentParser]]) -> argparse.ArgumentParser:
    """Return one parser with all commands as subcommands."""
    whole = argparse.ArgumentParser(prog="assay", description="Judges generated GPU kernels.")
    whole.add_argument("--version", action="store_true", help="print the version")
    parts = whole.add_subparsers()
    for name, summary, own in commands:
        _complete_files(own)
        parts.add_parser(name, help=summary, parents=[own], add_help=False)
    return whole


def _complete_files(this: argparse.ArgumentParser) -> None:
    """Mark the arguments that are files, so that the shell completes file names."""
    import shtab

    for action in this._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                _complete_files(part)
        elif action.type is Path or "FILE" in (action.metavar or ""):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
