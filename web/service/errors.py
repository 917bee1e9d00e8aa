"""The service's error answers, all of one form."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from db.error import StoreError
from web.service.answers import ErrorBody

MAX_DETAILS = 20
MAX_ERRORS = 1000
"""Beyond this many, the answer has only the number."""
MAX_PLACE = 200
"""Maximum characters of a field's name in a message; the caller may have invented it."""
DATABASE_PAUSE_S = 5
"""Seconds to wait, as told to callers, while the database can't be used."""
log = logging.getLogger(__name__)

_OF_STATUS = {
    HTTPStatus.NOT_FOUND: ("not_found", "There is no such address."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This address does not support that method."),
}


class RefusedError(Exception):
    """The service refuses a request; the message and the status say why."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, details: Sequence[str] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})
        self.body = ErrorBody(code=code, message=message, details=list(details)[:MAX_DETAILS])


def invalid(error: ValidationError | RequestValidationError) -> RefusedError:
    """The refusal of a request that fails its model's validation."""
    if isinstance(error, ValidationError) and error.error_count() > MAX_ERRORS:
        details = [f"It has {error.error_count():,} errors."]  # to list millions would take seconds and gigabytes
    else:
        details = [_detail(item) for item in error.errors()]
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "The request is invalid; see `details`.", details)


def _detail(item: Any) -> str:
    place = ".".join(str(part)[:MAX_PLACE] for part in item["loc"] if part not in ("body", "query", "path", "header"))
    return f"{place}: {item['msg']}" if place else str(item["msg"])


def retry_after(seconds: float) -> dict[str, str]:
    """The header `Retry-After`: whole seconds, at least one."""
    return {"Retry-After": str(max(1, int(-(-seconds // 1))))}


def answer(refusal: RefusedError) -> Response:
    """The answer to a refused request."""
    text = json.dumps({"error": refusal.body.model_dump()})
    return Response(text, status_code=refusal.status, media_type="application/json", headers=refusal.headers)


def add_handlers(app: FastAPI) -> None:
    """Answer every error of the application in the one form."""

    def refused(_request: Request, error: Any) -> Response:
        return answer(error)

    def not_valid(_request: Request, error: Any) -> Response:
        return answer(invalid(error))

    def no_database(_request: Request, error: Any) -> Response:
        log.warning("%s", error)
        return answer(unavailable())

    def of_framework(_request: Request, error: Any) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        code, message = _OF_STATUS.get(status, ("invalid", status.phrase + "."))
        return answer(RefusedError(status, code, message, headers=error.headers))

    def gone(_request: Request, _error: Any) -> Response:
        return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody reads it

    def unforeseen(_request: Request, error: Any) -> Response:
        log.error("a request could not be answered", exc_info=error)
        return answer(RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "Internal error."))

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(StoreError, no_database)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unforeseen)


def unavailable() -> RefusedError:
    """The refusal while the database can't be used. Only the operator learns the reason, from the log."""
    message = "The database can't be used at the moment."
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, headers=retry_after(DATABASE_PAUSE_S))
