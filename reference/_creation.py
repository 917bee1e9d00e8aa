"""Makes a new problem's file from the template."""

import keyword
import re
from pathlib import Path

from evaluator.problem.catalogue import discover

TEMPLATE = Path(__file__).parent / "_template.py"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class CreationError(ValueError):
    """The file can't be made; the message is for the user."""


def create(name: str, folder: Path) -> Path:
    """Write the template as `folder`/NAME.py; a missing folder is made. Raises CreationError."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise CreationError(f"{name!r} is not a valid name: use small letters, digits and _, a letter first")
    path = folder / f"{name}.py"
    known = discover()
    if name in known and known[name].parent != folder.resolve():
        raise CreationError(f"a shipped problem is named {name!r} already")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise CreationError(f"{path} is there already") from error
    except OSError as error:
        raise CreationError(f"{path}: {error.strerror}") from error
    return path
