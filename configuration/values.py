"""Converts values of a file, or of a caller in Python, to those of the command line."""

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.results.nearest import unknown

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^/].*)")
"""A database URL with a relative path."""
NO_PATH = re.compile(r"\w[\w+.-]*://|sqlite:|:memory:")
"""How a database begins that is no file's path."""
_SWITCHES = (argparse._StoreTrueAction, argparse.BooleanOptionalAction)
_TAKEN = (argparse._StoreAction, argparse._AppendAction, *_SWITCHES)
"""Actions that take a value. Others print something and end."""


class WrongKindError(ValueError):
    """The option takes no value of this kind. The message names the kind that it takes."""


def options_of(parser: argparse.ArgumentParser, only: str | None = None) -> Iterator[argparse.Action]:
    """The options that take a value, of a parser and of its commands (or of the command `only`)."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                if only in (None, name):
                    yield from options_of(command)
        elif isinstance(action, _TAKEN) and name_of(action):
            yield action


def name_of(action: argparse.Action) -> str:
    """The name of an option, without dashes; empty for a positional argument."""
    return next((word[2:] for word in action.option_strings if word.startswith("--")), "")


def convert(action: argparse.Action, value: Any, folder: Path | None = None) -> Any:
    """Convert a value as the command line does. Relative paths are relative to `folder`, if given.

    Raises WrongKindError, and ValueError for a value that the option refuses.
    """
    if isinstance(action, _SWITCHES):
        if not isinstance(value, bool):
            raise WrongKindError("must be true or false")
        return value
    if isinstance(action, argparse._AppendAction):
        return [_one(action, item, action.metavar, folder) for item in (value if isinstance(value, list | tuple) else [value])]
    if isinstance(action.nargs, int):
        names = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,) * action.nargs
        if not isinstance(value, list | tuple) or len(value) != action.nargs:
            raise WrongKindError(f"must be a list of {' and '.join(map(str, names))}")
        return [_one(action, item, name, folder) for item, name in zip(value, names, strict=True)]
    return _one(action, value, action.metavar, folder)


def _one(action: argparse.Action, value: Any, metavar: Any, folder: Path | None) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | Path | int | float):
        raise WrongKindError("must be a single value" if isinstance(value, list | tuple | dict) else f"must be a value, not {_toml(value)}")
    if action.type is None and isinstance(value, int | float):
        raise WrongKindError(f'must be a text: "{value}"')
    text = str(value)
    if folder is not None:
        text = _placed(text, action.type is Path or "FILE" in (metavar or ""), metavar == "DB", folder)
    try:
        found = action.type(text) if callable(action.type) else text
    except argparse.ArgumentTypeError as error:
        raise ValueError(str(error)) from error
    except ValueError as error:
        raise ValueError(f"{text!r} is not an allowed number") from error
    if action.choices is not None and found not in action.choices:
        raise ValueError(unknown("value", text, map(str, action.choices)))
    return found


def _placed(text: str, is_path: bool, is_database: bool, folder: Path) -> str:
    """A path, or a database's path, relative to `folder`. `-` is standard output."""
    scheme, path = match.groups() if is_database and (match := _SQLITE.fullmatch(text)) else ("", text)
    if scheme or (is_path and text != "-") or (is_database and not NO_PATH.match(text)):
        return scheme + str(folder / os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises for a user without a home
    return text


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
