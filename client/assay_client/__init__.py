"""Gets rewards for generated GPU kernels from an Assay judging service."""

from assay_client.client import AsyncClient, Client
from assay_client.errors import (
    AssayError,
    BusyError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotEvaluatedError,
    NotFinishedError,
    NotFoundError,
    QuotaExceededError,
    RefusedError,
    ServiceError,
    UnauthorizedError,
    UnexpectedAnswerError,
    UnknownProblemError,
    UnreachableError,
)
from assay_client.flow import Patience
from assay_client.flows import Settings
from assay_client.models import Evaluation, Options, Problem, Submission, Verdict
from assay_client.shaping import Parts, Reward, Shaping, reward

__all__ = [
    "AssayError",
    "AsyncClient",
    "BusyError",
    "Client",
    "ConflictError",
    "Evaluation",
    "ForbiddenError",
    "InvalidRequestError",
    "NotEvaluatedError",
    "NotFinishedError",
    "NotFoundError",
    "Options",
    "Parts",
    "Patience",
    "Problem",
    "QuotaExceededError",
    "RefusedError",
    "Reward",
    "ServiceError",
    "Settings",
    "Shaping",
    "Submission",
    "UnauthorizedError",
    "UnexpectedAnswerError",
    "UnknownProblemError",
    "UnreachableError",
    "Verdict",
    "reward",
]
