"""Takes the values of options from the file, if the command line omits them."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from configuration.file import Configuration, ConfigurationError, find
from configuration.values import WrongKindError, convert, name_of, options_of
from evaluator.results.nearest import unknown

EXIT_USAGE = 2
Parsers = Mapping[str, Callable[[], argparse.ArgumentParser]]


def use_file(
    parser: argparse.ArgumentParser, words: Sequence[str] | None, command: str | None = None, check: Callable[[], None] | None = None
) -> str:
    """Make the file's values the parser's defaults. Returns a line with the file and the options taken from it, or "".

    command: the table to use. None: the table of the parser's command in `words`; of the keys at the top, only options that all its
    commands share are taken. check: raises ConfigurationError for other errors in the file.

    An invalid file ends the program with exit code 2, as mistyped options do.
    """
    if _asks_for_help(sys.argv[1:] if words is None else words):
        return ""
    given = _given(parser, words)
    try:
        found = find()
        if found and check:
            check()
        return _apply(found, parser, command, given) if found else ""
    except ConfigurationError as error:
        from evaluator.results.display.text import plain_line

        parser.exit(EXIT_USAGE, f"{parser.prog}: {plain_line(str(error))}\n")


def check_file(sharing: Parsers, apart: Parsers) -> None:
    """Check the whole file against all commands. Raises ConfigurationError for the first key or value that no command takes.

    sharing: the parsers of the commands that take keys from the top. apart: those of the others. Each is called only if needed.
    """
    found = find()
    if found is None:
        return
    for key, value in found.common.items():
        _check_common(found, key, value, sharing, apart)
    for name, table in found.tables.items():
        commands = {**sharing, **apart}
        if name not in commands:
            raise ConfigurationError(f"{found.path}: {unknown('command', name, commands)}")
        actions = list(options_of(commands[name]()))
        for key, value in table.items():
            _values(found, key, value, actions, f"[{name}] ")


def _check_common(found: Configuration, key: str, value: Any, sharing: Parsers, apart: Parsers) -> None:
    known: dict[str, list[argparse.Action]] = {}
    for parser in sharing.values():
        for action in options_of(parser()):
            known.setdefault(name_of(action), []).append(action)
        if key in known and _values(found, key, value, known[key], other_kinds=True):
            return
    if key in known:
        _values(found, key, value, known[key])
    owners = [name for name, parser in apart.items() if key in map(name_of, options_of(parser()))]
    if owners:
        raise ConfigurationError(f"{found.path}: {key} belongs in a table: {', '.join(f'[{name}]' for name in owners)}")
    raise ConfigurationError(f"{found.path}: {unknown('option', key, known)}")


def _asks_for_help(words: Sequence[str]) -> bool:
    """Whether the parser prints its help; `--hel` does so too."""
    return any(word == "-h" or (len(word) > len("--") and "--help".startswith(word)) for word in words)


def _given(parser: argparse.ArgumentParser, words: Sequence[str] | None) -> argparse.Namespace:
    """Return the options that `words` give. Mistyped ones end the program."""
    with _without_defaults(list(options_of(parser))):
        return parser.parse_known_args(words)[0]


@contextmanager
def _without_defaults(actions: Sequence[argparse.Action]) -> Iterator[None]:
    before = [(action, action.default, action.required) for action in actions]
    for action in actions:
        action.default, action.required = argparse.SUPPRESS, False
    try:
        yield
    finally:
        for action, default, required in before:
            action.default, action.required = default, required


def _apply(found: Configuration, parser: argparse.ArgumentParser, command: str | None, given: argparse.Namespace) -> str:
    name: str = command or given.command
    own = list(options_of(parser, only=None if command else name))
    shared = own if command else [action for action in own if action in parser._actions]
    values: dict[argparse.Action, Any] = {}
    for key, value in found.common.items():
        # Other keys belong to other commands, or `check_file` reports them.
        if any(name_of(action) == key for action in shared):
            values |= _values(found, key, value, shared, other_kinds=True)
    for key, value in found.tables.get(name, {}).items():
        narrower = _values(found, key, value, own, f"[{name}] ")
        for action in narrower:
            for rival in _rivals(parser, action):
                values.pop(rival, None)
        values |= narrower
    held = [action for action in values if not _overruled(parser, action, given)]
    for action in held:
        for rival in _rivals(parser, action):
            if rival in held and values[rival] is not False and values[action] is not False:
                raise ConfigurationError(f"{found.path}: {name_of(action)} and {name_of(rival)} exclude each other")
        action.default, action.required = values[action], False
    told = dict.fromkeys(name_of(action) for action in held)
    return f"Options from {found.path}: {', '.join(told)}" if told else ""


def _overruled(parser: argparse.ArgumentParser, action: argparse.Action, given: argparse.Namespace) -> bool:
    """Whether the command line has the option, or another that excludes it."""
    return any(hasattr(given, each.dest) for each in (action, *_rivals(parser, action)))


def _rivals(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[argparse.Action]:
    """Options that exclude this one."""
    for each in parser._actions:
        if isinstance(each, argparse._SubParsersAction):
            for command in each.choices.values():
                yield from _rivals(command, action)
    for group in parser._mutually_exclusive_groups:
        if action in group._group_actions:
            yield from (each for each in group._group_actions if each is not action)


def _values(
    found: Configuration, key: str, value: Any, actions: Sequence[argparse.Action], where: str = "", *, other_kinds: bool = False
) -> dict[argparse.Action, Any]:
    """The value for each option of that name that takes this kind of value. With `other_kinds`, there may be none."""
    named = [action for action in actions if name_of(action) == key]
    if not named:
        raise ConfigurationError(f"{found.path}: {where}{unknown('option', key, map(name_of, actions))}")
    values, failure = {}, ValueError()
    for action in named:
        try:
            values[action] = convert(action, value, found.path.parent)
        except WrongKindError as error:
            failure = error
        except ValueError as error:
            _refuse(found, where, key, error)
    if not values and not other_kinds:
        _refuse(found, where, key, failure)
    return values


def _refuse(found: Configuration, where: str, key: str, error: ValueError) -> NoReturn:
    raise ConfigurationError(f"{found.path}: {where}{key}: {error}") from error
