"""Folders of C++ headers that the user names, such as ThunderKittens'. Only the compilers of submissions read them."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

MAX_FILES = 20_000
MAX_BYTES = 256 << 20
_INCLUDE = re.compile(r"^[^\S\n]*#[^\S\n]*(?:include|include_next|import)\b[^\S\n]*(?P<what>[^\n]*)", re.MULTILINE)
_NAMED = re.compile(r"""[<"](?P<name>[^>"]+)[>"]""")


class HeaderFolderError(Exception):
    """A folder that can't be used; the message says why."""


def checked(folder: Path) -> Path:
    """The folder with its whole path. Raises HeaderFolderError."""
    if not folder.is_dir():
        raise HeaderFolderError(f"no folder {folder}; name the one that #include paths start from")
    whole = folder.resolve()
    digest(whole)
    return whole


def all_checked(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders with their whole paths, each once. Raises HeaderFolderError."""
    try:
        return tuple(dict.fromkeys(checked(folder) for folder in folders))
    except OSError as error:
        raise HeaderFolderError(f"{error.filename}: can't be read: {error.strerror or error}") from error


def digest(folder: Path) -> str:
    """SHA-256, in hex, of the names and contents of all files below it. Raises HeaderFolderError if there are too many, and OSError."""
    total, content = 0, hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) > MAX_FILES:
        raise HeaderFolderError(f"{folder} has more than {MAX_FILES} files; name a folder of headers alone")
    for path in files:
        total += path.stat().st_size
        if total > MAX_BYTES:
            raise HeaderFolderError(f"{folder} has more than {MAX_BYTES >> 20} MiB; name a folder of headers alone")
        for part in (str(path.relative_to(folder)).encode(), path.read_bytes()):
            content.update(len(part).to_bytes(8, "big") + part)
    return content.hexdigest()


def may_include(text: str, folders: Iterable[Path]) -> bool:
    """Whether a source may include a file of these folders. An include through a macro may be any file."""
    places = list(folders)
    for include in _INCLUDE.finditer(text) if places else ():
        named = _NAMED.match(include["what"])
        if named is None or any(_is_file(folder / named["name"]) for folder in places):
            return True
    return False


def _is_file(path: Path) -> bool:
    """Whether it is a file; the name is a submission's, and may be too long or lead to what nobody may read."""
    try:
        return path.is_file()
    except OSError:
        return False
