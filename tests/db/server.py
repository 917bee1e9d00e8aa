"""The tests' own PostgreSQL server, in a temporary folder with its socket."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

REQUIRED = "ASSAY_REQUIRE_POSTGRESQL"
"""Environment variable: if set, a missing server is a failure, not a skip."""
_FAST = "-c fsync=off -c listen_addresses='' -c full_page_writes=off -c max_connections=60"


def programs() -> Path | None:
    """The folder of the newest server's programs; None if there is none."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@contextmanager
def running(options: str = _FAST) -> Iterator[str]:
    """A server; yields its folder, the argument of `url` and `create`."""
    folder = programs()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="assay-postgresql-"))
    user = _user()
    if user is not None:
        shutil.chown(home, user)
    data = home / "data"

    def run(*words: str) -> None:
        subprocess.run(words, user=user, cwd=home, check=True, stdout=subprocess.DEVNULL)

    run(str(folder / "initdb"), "-D", str(data), "-U", "assay", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    run(str(folder / "pg_ctl"), "-D", str(data), "-w", "-t", "600", "-l", str(home / "log"), "-o", f"{options} -k {home}", "start")
    try:
        yield str(home)
    finally:
        run(str(folder / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(home)


def url(home: str, name: str) -> str:
    """The URL of a database of a running server."""
    return f"postgresql+psycopg://assay@/{name}?host={home}"


def create(home: str, name: str) -> str:
    """Makes a database; returns its URL."""
    with psycopg.connect(host=home, user="assay", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url(home, name)


def _user() -> int | None:
    """The ID of the user that runs the server: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return users.get("postgres") or pwd.getpwnam("nobody").pw_uid


def drop(home: str, name: str) -> None:
    """Ends the connections to a database, and removes it."""
    with psycopg.connect(host=home, user="assay", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
