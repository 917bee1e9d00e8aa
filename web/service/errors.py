"""What is answered in place of what was asked for: one form for all errors."""

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
"""With more, none of them is told."""
MAX_PLACE = 200
"""Characters of a field's name that are told; it may be the caller's invention."""
DATABASE_PAUSE_S = 5
"""What is told to wait where the database is gone."""
log = logging.getLogger(__name__)

_OF_STATUS = {
    HTTPStatus.NOT_FOUND: ("not_found", "There is no such address."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This address does not know that method."),
}


class RefusedError(Exception):
    """Why a request is not done."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, details: Sequence[str] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})
        self.body = ErrorBody(code=code, message=message, details=list(details)[:MAX_DETAILS])


def invalid(error: ValidationError | RequestValidationError) -> RefusedError:
    """The refusal of what a model does not take."""
    if isinstance(error, ValidationError) and error.error_count() > MAX_ERRORS:
        details = [f"There are {error.error_count():,} things wrong with it."]  # to list millions would take seconds and gigabytes
    else:
        details = [_detail(item) for item in error.errors()]
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "The request is not as it should be.", details)


def _detail(item: Any) -> str:
    place = ".".join(str(part)[:MAX_PLACE] for part in item["loc"] if part not in ("body", "query", "path", "header"))
    return f"{place}: {item['msg']}" if place else str(item["msg"])


def retry_after(seconds: float) -> dict[str, str]:
    """The header that says when to come again: whole seconds, at least one."""
    return {"Retry-After": str(max(1, int(-(-seconds // 1))))}


def answer(refusal: RefusedError) -> Response:
    """The answer to a request that is not done."""
    text = json.dumps({"error": refusal.body.model_dump()})
    return Response(text, status_code=refusal.status, media_type="application/json", headers=refusal.headers)


def add_handlers(app: FastAPI) -> None:
    """Have every error of the application answered in the one form."""

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
        return answer(RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "A fault of the service's."))

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(StoreError, no_database)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unforeseen)


def unavailable() -> RefusedError:
    """What is said where the database can't be used; why is the operator's to know."""
    message = "The database can't be used at the moment."
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, headers=retry_after(DATABASE_PAUSE_S))
