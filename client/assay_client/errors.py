"""The client's errors, each with one sentence about how to fix it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay_client.models import Evaluation


class AssayError(Exception):
    """Any failure of this client's."""


class ServiceError(AssayError):
    """A call failed."""

    code = ""
    passing = False
    """Whether the same call may succeed later."""
    retry_after_s: float | None = None


class UnreachableError(ServiceError):
    """No answer came: no service listens there, the connection broke, or the call timed out.

    A refused first connection is not retried.
    """

    passing = True


class UnexpectedAnswerError(ServiceError):
    """The answer is not a judging service's."""


class RefusedError(ServiceError):
    """The service answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, details: Sequence[str] = (), retry_after_s: float | None = None, place: str = ""
    ) -> None:
        """place: the call or submission that failed."""
        lines = "".join(f"\n  {line}" for line in details)
        super().__init__(f"{place + ': ' if place else ''}{status} {code or 'error'}: {message}{lines}")
        self.status, self.code, self.message, self.details = status, code, message, tuple(details)
        self.retry_after_s = retry_after_s


class UnauthorizedError(RefusedError):
    """The token is missing, unknown or revoked."""


class ForbiddenError(RefusedError):
    """The token lacks a scope."""


class NotFoundError(RefusedError):
    """This author has no such evaluation."""


class ConflictError(RefusedError):
    """The key was used for another submission, or the evaluation is done and can't be cancelled."""


class InvalidRequestError(RefusedError):
    """The request is invalid: a field, a case, an option, its size. A retry can't succeed."""


class UnknownProblemError(InvalidRequestError):
    """The service has no problem with that name."""


class BusyError(RefusedError):
    """The service can't accept it now: too many calls, a full queue, an unreachable database, a restart."""

    passing = True


class QuotaExceededError(BusyError):
    """The author's quota for today is used up; `retry_after_s` reaches to the next day."""


_OF_CODE: dict[str, type[RefusedError]] = {"unknown_problem": UnknownProblemError, "quota_exceeded": QuotaExceededError}
_OF_STATUS: dict[int, type[RefusedError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    **dict.fromkeys((400, 405, 413, 415, 422), InvalidRequestError),
    **dict.fromkeys((429, 500, 502, 503, 504), BusyError),
}


def refusal(
    status: int, code: str, message: str, details: Sequence[str] = (), retry_after_s: float | None = None, place: str = ""
) -> RefusedError:
    """The error for an answer with that status and code."""
    kind = _OF_CODE.get(code) or _OF_STATUS.get(status, RefusedError)
    return kind(status, code, message, details, retry_after_s, place)


class NotFinishedError(AssayError):
    """The wait timed out. Judging continues: the same call again waits for the same evaluations."""

    def __init__(self, ids: Sequence[str], within_s: float) -> None:
        super().__init__(f"{len(ids)} evaluations have not ended within {within_s:g} s. The same call again goes on waiting for them.")
        self.ids = tuple(ids)


class NotEvaluatedError(AssayError):
    """There is no verdict, so no reward: the evaluation could not be done, or was cancelled."""

    def __init__(self, evaluation: "Evaluation") -> None:
        super().__init__(f"evaluation {evaluation.id} has no verdict: {evaluation.why_not_judged}")
        self.evaluation = evaluation
