"""`assay completion bash|zsh`: a script that completes commands, options, files and names, made from the parsers of all commands.

The script asks `assay completion authors|problems` for names.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SHELLS = ("bash", "zsh")
NAMES = ("authors", "problems")
"""Kinds of names."""
_KINDS = {"author": "authors", "first": "authors", "second": "authors", "problem": "problems", "names": "problems"}
"""Kinds of the names that arguments take, by the argument's name."""
_SAFE = re.compile(r"[A-Za-z0-9_.+@-]+")
"""A name that no shell expands: names come from strangers."""
_FUNCTIONS = {
    "bash": """_assay_{kind}() {{ compgen -W "$("${{COMP_WORDS[0]}}" completion {kind} 2>/dev/null)" -- "$1"; }}\n""",
    "zsh": """_assay_{kind}() {{ compadd -- ${{(f)"$(assay completion {kind} 2>/dev/null)"}} }}\n""",
}


def main(words: Sequence[str], commands: Callable[[], Iterable[tuple[str, str, argparse.ArgumentParser]]]) -> int:
    """Print the script, or names. Each command has a name, a summary and a parser. Returns 0."""
    wanted = parser().parse_args(words).wanted
    if wanted in NAMES:
        sys.stdout.write("".join(f"{name}\n" for name in names(wanted)))
        return 0
    import shtab

    functions = "".join(_FUNCTIONS[wanted].format(kind=kind) for kind in NAMES)
    sys.stdout.write(shtab.complete(_whole(commands()), wanted, preamble=functions) + "\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog="assay completion",
        description="Prints a script that completes commands, options, files, and names of authors and problems.",
        epilog="bash: assay completion bash > ~/.local/share/bash-completion/completions/assay; "
        "zsh: assay completion zsh > a file `_assay` in a folder of $fpath",
    )
    this.add_argument("wanted", choices=(*SHELLS, *NAMES), help="shell, or names")
    return this


def names(kind: str) -> list[str]:
    """The authors in the usual database, or the problems there and the shipped ones; only names that need no quotes in a shell."""
    from configuration.options import use_file
    from db.__main__ import parsers
    from db.error import StoreError
    from db.queries.names import known_names
    from db.store import Store
    from evaluator.problem.catalogue import discover

    found = set(discover()) if kind == "problems" else set()
    whole, _ = parsers("assay")
    use_file(whole, ["list"])
    try:
        with Store.open(whole.parse_args(["list"]).db, read_only=True) as store:
            found |= known_names(store, kind.removesuffix("s"))
    except StoreError:
        pass  # no database yet
    return sorted(name for name in found if _SAFE.fullmatch(name))


def _whole(commands: Iterable[tuple[str, str, argparse.ArgumentParser]]) -> argparse.ArgumentParser:
    """Return one parser with all commands as subcommands."""
    whole = argparse.ArgumentParser(prog="assay", description="Judges generated GPU kernels.")
    whole.add_argument("--version", action="store_true", help="print the version")
    parts = whole.add_subparsers()
    for name, summary, own in commands:
        _complete(own)
        parts.add_parser(name, help=summary, parents=[own], add_help=False)
    return whole


def _complete(this: argparse.ArgumentParser) -> None:
    """Mark the arguments that are files, and those that are known names."""
    import shtab

    for action in this._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                _complete(part)
        elif action.type is Path or "FILE" in (action.metavar or ""):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.dest in _KINDS:
            action.complete = dict.fromkeys(SHELLS, f"_assay_{_KINDS[action.dest]}")  # type: ignore[attr-defined]
