"""The application: all pages, the security headers of each answer, and the error pages."""

import logging
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db.error import StoreError
from db.output.report import dump
from db.store import Store
from web.highlight import style_sheet
from web.pages import (
    authors,
    boards,
    compare,
    evaluations,
    failures,
    glossary,
    imports,
    listing,
    live,
    pictures,
    problems,
    runs,
    search,
    two_authors,
)
from web.site import FOLDER, JSON, BadRequestError, NotFoundError, Site, render

logger = logging.getLogger(__name__)

PARTS = (pictures, boards, problems, authors, failures, listing, live, evaluations, compare, two_authors, runs, search, glossary)
"""Modules with pages or pictures."""
POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *("base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"),
    ]
)
"""Nothing inline, nothing from other hosts: even if a stranger's text got into a page as markup, it could do nothing."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def create_app(store: Store, hosts: Sequence[str] | None = None, token: str | None = None, made_at: datetime | None = None) -> FastAPI:
    """The pages of one database.

    token: requests with it may store results (`web.pages.imports`); the store has to be open for writing then. Without a token nothing can
    be written.

    hosts: host names that requests may use. Others are refused, so that no website can point its own name at this machine and read the
    pages. None allows all.

    made_at: when the pages are written as files; None if they are served.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Reading a million evaluations takes seconds: it is done ahead of the first request.
        threading.Thread(target=_look_ahead, args=(app.state.site,), name="look ahead", daemon=True).start()
        yield
        app.state.closing = True
        app.state.site.close()

    app = FastAPI(title="Assay", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.site = Site(store, made_at)
    app.state.streams = 0
    app.state.closing = False
    for part in PARTS:
        app.include_router(part.router)
    if token is not None:
        app.state.token = token
        app.include_router(imports.router)
        app.add_exception_handler(imports.ImportRefusedError, imports.refusal)
    colours = style_sheet()
    app.add_api_route("/static/source.css", lambda: Response(colours, media_type="text/css"), methods=["GET"])
    app.mount("/static", StaticFiles(directory=FOLDER / "static"))
    app.add_exception_handler(NotFoundError, lambda request, error: _trouble(request, HTTPStatus.NOT_FOUND, str(error)))
    app.add_exception_handler(BadRequestError, lambda request, error: _trouble(request, HTTPStatus.BAD_REQUEST, str(error)))
    app.add_exception_handler(StoreError, lambda request, error: _trouble(request, HTTPStatus.SERVICE_UNAVAILABLE, str(error)))
    app.add_exception_handler(RequestValidationError, lambda request, error: _trouble(request, HTTPStatus.BAD_REQUEST, _mistake(error)))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(_Guard, hosts=hosts)
    return app


def _look_ahead(site: Site) -> None:
    try:
        site.timeline.refresh()
    except StoreError as error:
        logger.warning("%s", error)


class _Guard:
    """Adds the headers to every answer, and refuses requests for other hosts."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *((name.lower().encode(), value.encode()) for name, value in HEADERS.items())]
            await send(message)

        if self._hosts is not None and _host(scope) not in self._hosts:
            refusal = Response("This server answers requests for its own host names only.\n", status_code=421, media_type="text/plain")
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _host(scope: Scope) -> str:
    """The host name of a request, without the port."""
    given = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
    if given.startswith("["):
        return given[1:].partition("]")[0]
    return given.partition(":")[0].lower()


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    return _trouble(request, status, "There is no such page." if status is HTTPStatus.NOT_FOUND else status.phrase)


def _mistake(error: Exception) -> str:
    assert isinstance(error, RequestValidationError)
    return "; ".join(f"{'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors()[:5])


def _trouble(request: Request, status: HTTPStatus, text: str) -> Response:
    if request.url.path.endswith(".json"):
        return Response(dump({"error": text}), status_code=status, media_type=JSON)
    return HTMLResponse(render(request, "error.html", {"status": status.value, "title": status.phrase, "text": text}), status_code=status)
