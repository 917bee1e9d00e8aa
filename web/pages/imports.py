"""Imports results over the network. Nothing else can be written here, and it needs a token from the owner.

The token travels in the `Authorization` header. A browser never sends it on its own, and a page of another origin can't add it. So
no website can make a visitor's browser write here.
"""

import hmac
import os
import secrets
import stat
import tempfile
import threading
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import SQLAlchemyError

from db.error import StoreError
from db.exchange import import_lines
from db.output.report import dump
from db.store import Store
from web.site import JSON, of_request

router = APIRouter()
MAX_BYTES = 1 << 30
"""Maximum bytes of one request; more takes several."""
SHORTEST = 16
"""Minimum characters of a token: so many random ones can't be guessed."""
_SCHEME = "bearer"
_TURN = threading.Lock()


class TokenError(Exception):
    """The token's file can't be used; the message says why."""


def read_token(path: Path) -> str:
    """Read the token in a file. A missing file is created with a new token. Raises TokenError."""
    try:
        if not path.exists():
            path.touch(0o600, exist_ok=False)
            path.write_text(secrets.token_urlsafe(32) + "\n", encoding="ascii")
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="ascii") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise TokenError(f"{path} can be read by other users: chmod 600 {path}")
            if status.st_uid != os.geteuid():
                raise TokenError(f"{path} belongs to another user, who can read it. Remove it, and a new one is made.")
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        raise TokenError(f"{path} can't be used for a token: {cause}.") from error
    if len(token) < SHORTEST or not token.isprintable() or " " in token:
        raise TokenError(f"{path} holds no token: one word of at least {SHORTEST} characters. Remove it, and a new one is made.")
    return token


class ImportRefusedError(Exception):
    """The request is refused; the message and the status say why."""

    def __init__(self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status, self.headers = status, dict(headers or {})


def _permitted(request: Request, authorization: Annotated[str, Header()] = "") -> None:
    """Check the token before the body is read. Raises RefusedError."""
    scheme, _, given = authorization.partition(" ")
    wanted: str = request.app.state.token
    if scheme.lower() != _SCHEME or not hmac.compare_digest(given.strip().encode(), wanted.encode()):
        text = "Importing results needs the token: send `Authorization: Bearer TOKEN`."
        raise ImportRefusedError(HTTPStatus.UNAUTHORIZED, text, {"WWW-Authenticate": "Bearer"})
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told) > MAX_BYTES:
        raise _too_large()


@router.post("/import", dependencies=[Depends(_permitted)])
async def take(request: Request) -> Response:
    """Stores the evaluations in the body, lines as `assay export --format json` writes them; those already stored are left out."""
    with tempfile.NamedTemporaryFile(prefix="assay-import-") as file:
        await _receive(request, file)
        read, added = await run_in_threadpool(_import, of_request(request).store, Path(file.name))
    return Response(dump({"read": read, "added": added, "known": read - added}), media_type=JSON)


async def _receive(request: Request, file: IO[bytes]) -> None:
    """Read the body. Raises RefusedError."""
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BYTES:
            raise _too_large()
        await run_in_threadpool(file.write, part)
    await run_in_threadpool(file.flush)


def _import(store: Store, path: Path) -> tuple[int, int]:
    """Raises RefusedError if the lines can't be read or the database can't be written."""
    try:
        with _TURN:
            return import_lines(store, path, "body")
    except StoreError as error:
        of_database = isinstance(error.__cause__, SQLAlchemyError)
        raise ImportRefusedError(HTTPStatus.SERVICE_UNAVAILABLE if of_database else HTTPStatus.BAD_REQUEST, str(error)) from error


def _too_large() -> ImportRefusedError:
    return ImportRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"More than {MAX_BYTES} bytes: send the lines in several requests.")


def refusal(_request: Request, error: Any) -> Response:
    """The answer to a refused request."""
    return Response(dump({"error": str(error)}), status_code=error.status, media_type=JSON, headers=error.headers)
