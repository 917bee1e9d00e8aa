"""The options of the judge's command line, as keyword arguments in Python."""

import argparse
import os
from collections.abc import Sequence
from typing import Literal, TypedDict

from command.exits import UsageError
from command.options import parser
from configuration.values import convert, name_of, options_of
from evaluator.results.nearest import unknown


class Options(TypedDict, total=False):
    """The options in `python pipeline.py --help`, with `_` for `-`.

    Defaults are those of the command line, except for `db`: without it, nothing is stored.
    """

    problem: str | None
    reference: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    reference_network: bool
    every_block: bool
    device: str
    case: str | None
    dtype: str | None
    db: str | None
    jobs: int | None
    timeout: float
    strict_shapes: bool
    own_shapes: bool
    strict_inputs: bool
    rerun: bool
    author: str | None
    protocol: str | None
    timing: bool
    cores: str | None
    baseline: str | None
    headers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    engine: Literal["local", "ray"]
    ray_address: str | None
    device_kind: str | None
    sanitize: str | None
    profile: bool
    sandbox: Literal["namespaces", "bubblewrap", "landlock"] | None
    no_sandbox: bool


def namespace(given: Options) -> argparse.Namespace:
    """Return the options as the command line reads them. None is the default. Raises TypeError for an unknown option, and UsageError."""
    for name in given:
        if name not in Options.__annotations__:
            raise TypeError(unknown("option", name, Options.__annotations__))
    this = parser()
    actions = {name_of(action).replace("-", "_"): action for action in options_of(this)}
    made = argparse.Namespace(**{action.dest: action.default for action in actions.values()})
    made.db = None
    for name, value in given.items():
        if value is not None:
            try:
                setattr(made, actions[name].dest, convert(actions[name], value))
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from error
    for group in this._mutually_exclusive_groups:
        named = [name_of(action) for action in group._group_actions if getattr(made, action.dest)]
        if len(named) > 1:
            raise UsageError(f"{' and '.join(named).replace('-', '_')} exclude each other")
    return made
