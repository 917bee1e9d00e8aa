"""The address of a database: a SQLite file or a PostgreSQL server, as a SQLAlchemy URL."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from configuration.values import NO_PATH
from db.error import StoreError

_POSTGRESQL = "postgresql+psycopg"


@dataclass(frozen=True)
class Address:
    """A parsed URL."""

    url: URL
    path: Path | None
    """The file of a SQLite database; None for a server."""

    @classmethod
    def parse(cls, text: str | os.PathLike[str]) -> Self:
        """Parse a URL, or the path of a SQLite file. Raises StoreError for an invalid one, or a database that can't be used."""
        text = os.fspath(text)
        try:
            url = make_url(text) if NO_PATH.match(text) else URL.create("sqlite", database=text)
        except ArgumentError as error:
            raise StoreError(f"{text!r} is not a database URL. Write a file's path, or {_POSTGRESQL}://HOST/NAME.") from error
        if url.drivername in ("postgresql", _POSTGRESQL):
            return cls(url.set(drivername=_POSTGRESQL), None)
        if url.get_backend_name() != "sqlite":
            raise StoreError(f"{url.drivername} databases are not supported. Write a file's path, or {_POSTGRESQL}://HOST/NAME.")
        if not url.database or url.database.startswith((":memory:", "file:")):
            raise StoreError("Results must outlive the process, so the database must be a plain file: write its path, such as assay.db.")
        return cls(url, Path(url.database))

    @property
    def name(self) -> str:
        """For people: the file, or the URL without its password."""
        return str(self.path) if self.path is not None else self.url.render_as_string(hide_password=True)

    @property
    def exists(self) -> bool:
        """Whether the SQLite file exists; a server's database is assumed to exist."""
        return self.path is None or self.path.exists()

    def check(self, read_only: bool) -> None:
        """Raises StoreError if a SQLite file can't be opened for a reason that the user can fix."""
        if self.path is not None:
            _check_file(self.path, read_only)


def without_password(word: str) -> str:
    """A word of a command line, without the password if it is a database's URL."""
    if "://" not in word:
        return word
    name, separator, url = word.rpartition("=") if word.startswith("--") else ("", "", word)
    try:
        return name + separator + Address.parse(url).url.render_as_string(hide_password=True)
    except StoreError:
        return word


def _check_file(path: Path, read_only: bool) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise StoreError(f"The folder {folder} of the database does not exist. Make it, or name another file with --db.")
    if path.is_dir():
        raise StoreError(f"{path} is a folder. Name a file in it with --db.")
    if read_only:
        if not path.exists():
            raise StoreError(f"There is no database {path}. Evaluate something first (`assay judge PATH`), or name another file with --db.")
        return
    # SQLite keeps its log and lock beside the file, so the folder must be writable too.
    for needed in (folder, path) if path.exists() else (folder,):
        if not os.access(needed, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StoreError(f"{needed} can't be written. Change its permissions, or name a file elsewhere with --db.")
