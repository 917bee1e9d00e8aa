"""Finds and reads the file."""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE, PROJECT_FILE = "assay.toml", "pyproject.toml"
VARIABLE = "ASSAY_CONFIG"
"""The environment variable that names the file. If it is empty, no file is read."""


class ConfigurationError(Exception):
    """The file can't be used. The message names it and the error."""


@dataclass(frozen=True)
class Configuration:
    """The contents of a file."""

    path: Path
    """Absolute path of the file."""
    common: Mapping[str, Any]
    """The keys at the top."""
    tables: Mapping[str, Mapping[str, Any]]
    """The keys of each command's table, by the command's name."""


def find() -> Configuration | None:
    """Read the file that VARIABLE names, or that of the current folder, or of the nearest parent that has one.

    `assay.toml` goes before `pyproject.toml`, which counts only with a table `[tool.assay]`. Raises ConfigurationError.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        return read(Path(named)) if named else None
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return None
    for folder in (here, *here.parents):
        for path in (folder / FILE, folder / PROJECT_FILE):
            if os.path.isfile(path) and not _planted(path) and (found := read(path)) is not None:  # noqa: PTH113 - pathlib's raises
                return found
    return None


def read(path: Path) -> Configuration | None:
    """Read a file. Returns None for a `pyproject.toml` without `[tool.assay]`. Raises ConfigurationError."""
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: it is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: it is not TOML: {error}") from error
    if path.name == PROJECT_FILE:
        tools = content.get("tool")
        own = tools.get("assay") if isinstance(tools, dict) else None
        if own is None:
            return None
        if not isinstance(own, dict):
            raise ConfigurationError(f"{path}: [tool.assay] must be a table")
        content = own
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    return Configuration(path.absolute(), {name: value for name, value in content.items() if name not in tables}, tables)


def _planted(path: Path) -> bool:
    """Whether another user has put it, or a link to it, into a folder that all users may write to, such as /tmp."""
    try:
        owners, mode = {path.lstat().st_uid, path.stat().st_uid}, path.parent.stat().st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IWOTH) and not owners <= {0, os.geteuid()}
