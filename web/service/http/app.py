"""The application: all calls, their durations, and the document that describes them."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evaluator.results.result import EVALUATOR_VERSION
from web.service.errors import add_handlers
from web.service.http import calls, draining, queries
from web.service.http.state import Service
from web.service.models import DEFAULT_TIMEOUT_S, Batch, Poll, Submit

DESCRIPTION = "Submit GPU kernels, and get their verdicts. Calls marked with a padlock need a bearer token."
HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


def create_app(service: Service) -> FastAPI:
    """The calls of one service process."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        service.open()
        yield
        service.close()

    app = FastAPI(
        title="Assay",
        version=EVALUATOR_VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.include_router(calls.router)
    app.include_router(queries.router)
    app.include_router(draining.router)
    add_handlers(app)
    app.add_middleware(_Clock, service=service)
    document = _document(app, service.bounds.timeout_s)
    app.openapi = lambda: document  # type: ignore[method-assign]
    return app


def _document(app: FastAPI, longest_s: float) -> dict[str, Any]:
    """The OpenAPI document, with the models of bodies, which the framework does not read, and this service's own time limit."""
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, models = models_json_schema([(model, "validation") for model in (Submit, Batch, Poll)], ref_template="#/components/schemas/{model}")
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas |= models["$defs"]
    schemas["Options"]["properties"]["timeout_s"] |= {"maximum": longest_s, "default": min(longest_s, DEFAULT_TIMEOUT_S)}
    return document


class _Clock:
    """Reports to the metrics how long each call took, by the route's name, and adds the headers of all answers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.monotonic()

        async def clocked(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = scope.get("route")
                self._service.metrics.call(route.name if route else "none", message["status"], time.monotonic() - start)
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(header for header in HEADERS if header[0] not in known)]
            await send(message)

        await self._app(scope, receive, clocked)
