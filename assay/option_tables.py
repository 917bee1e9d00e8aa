"""The options of all commands as Markdown tables, as docs/command-line.md shows them: `python -m assay.option_tables`.

Without the client (extra `client`), its commands have no options to show.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator

from assay.commands import COMMANDS, GROUPS

_ROWS = "| | of | what it does |\n| --- | --- | --- |\n"
_ROWS_OF_ONE = "| | what it does |\n| --- | --- |\n"
_APART = ("judge", "problems", "calibrate", "sandbox", "serve", "service")
"""Commands whose options have little in common with those of their group."""


def tables() -> str:
    """A heading and a table for each group of commands. An option that several commands share has one row."""
    grouped = {f"`assay {name}`": [name] for name in _APART}
    for title, commands in GROUPS.items():
        if others := [command.name for command in commands if command.name not in _APART]:
            grouped[title] = others
    return "\n".join(_table(title, names) for title, names in grouped.items())


def _table(title: str, names: list[str]) -> str:
    parts = [part for name in names for part in _parts(name if len(names) > 1 else "", COMMANDS[name].parser())]
    rows: dict[tuple[str, str], list[str]] = {}
    for name, parser in parts:
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
                rows.setdefault((_written(action), _told(action)), []).append(name)
    everywhere = [name for name, _ in parts]
    text = "".join(
        _row(written, told, ["all"] if of == everywhere else [f"`{name}`" for name in of if name], with_commands=len(parts) > 1)
        for (written, told), of in rows.items()
    )
    return f"### {title}\n\n{_ROWS if len(parts) > 1 else _ROWS_OF_ONE}{text}"


def _parts(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser with the name of its command, and the same for its subcommands."""
    if any(not isinstance(action, argparse._HelpAction | argparse._SubParsersAction) for action in parser._actions):
        yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from _parts(f"{name} {word}".strip(), command)


def _written(action: argparse.Action) -> str:
    """An argument in the syntax of the command line."""
    default = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    values: Iterable[str] = action.metavar if isinstance(action.metavar, tuple) else [action.metavar or default]
    long = [word for word in action.option_strings if word.startswith("--")]
    shown = " ".join([*long, *(values if action.nargs != 0 else ())])
    return shown if long or action.nargs not in ("+", "*") else shown + "…"


def _told(action: argparse.Action) -> str:
    """The help text."""
    return (action.help or "") % {"default": action.default}


def _row(written: str, told: str, of: list[str], *, with_commands: bool) -> str:
    cells = [f"`{written}`", *([", ".join(dict.fromkeys(of))] if with_commands else []), told]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    sys.stdout.write(tables())
