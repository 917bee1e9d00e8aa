"""What the service answers, as pydantic models from which the OpenAPI document follows."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from web.service.models import Answer, Backlog, Id, State


class Verdict(BaseModel):
    """The record of one evaluation, with the fields that `pipeline.py --json` writes; those that are not listed here come too."""

    model_config = ConfigDict(extra="allow")

    id: int = Field(description="Number of the evaluation in the database (`python -m db show`).")
    submission: str
    block: int | None
    author: str | None
    problem: str | None
    case: str | None
    device: str | None
    status: str = Field(description="correct, incorrect, build_failed, run_failed, rejected, disqualified or not_evaluated.")
    category: str
    message: str
    hint: str
    feedback: str = Field(description="What is to be said to the submission's author.")
    line: int | None = Field(description="Line of the source or response that it is about.")
    runtime_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    speed_of_light: float | None = Field(description="Share of what the device could reach at most; null where it is not known.")
    generalises: Answer = Field(description="Whether it is right in other shapes too.")
    robust: Answer = Field(description="Whether it is right on inputs of other distributions too.")
    source_sha256: str
    started_at: datetime
    duration_s: float


class Evaluation(BaseModel):
    """A request and what has become of it."""

    id: Id
    state: State
    problem: str
    sample_id: int | None
    name: str | None = Field(None, description="What its author calls it.")
    accepted_at: datetime
    finished_at: datetime | None = Field(None, description="When it was done or cancelled.")
    attempts: int = Field(description="How often judging it has begun; more than once where a process or the machine failed.")
    stage: str | None = Field(
        None, description="Where its evaluation is, while it is claimed: start, load, queue, build, construct, rounds, …"
    )
    result: Verdict | None = Field(None, description="There when the state is `done`.")


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="One word to decide by.")
    message: str = Field(description="One sentence to read.")
    details: list[str] = Field(default_factory=list, description="One line for each field at fault.")


class Error(BaseModel):
    """Every answer of 400 and above."""

    error: ErrorBody


class BatchItem(BaseModel):
    """What became of one item; either `evaluation` or `error`."""

    status: int = Field(description="What it would have been answered with alone: 202, 200 (known key), 403, 409 or 422.")
    evaluation: Evaluation | None = None
    error: ErrorBody | None = None


class BatchAnswer(BaseModel):
    """In the order of the items."""

    items: list[BatchItem]


class PollAnswer(BaseModel):
    """Those that have ended, with their results, and how many have not."""

    ended: list[Evaluation]
    pending: int
    unknown: list[Id] = Field(description="Ids that are not the author's, or nobody's.")


class EvaluationList(BaseModel):
    """The newest first."""

    evaluations: list[Evaluation]
    next: Id | None = Field(description="Give it as `before` for those that are older; null where these are the last.")


class Problem(BaseModel):
    """A problem that submissions can answer."""

    name: str
    sha256: str | None = Field(description="Of its file; null until it has been loaded.")
    cases: list[str]
    precision: str | None
    default_case: str | None


class Problems(BaseModel):
    problems: list[Problem]


class Ranked(BaseModel):
    """One row of a leaderboard; fields that are not listed here come too."""

    model_config = ConfigDict(extra="allow")

    problem: str
    rank: int
    author: str | None
    speedup: float
    evaluation_id: int
    category: str = Field(description="`ok`, or `reduced_precision` where that was asked for.")


class Leaderboard(BaseModel):
    rows: list[Ranked]


class Drain(BaseModel):
    """Whether this process takes submissions, and what is left of those that it has taken."""

    state: Literal["serving", "draining", "drained"] = Field(
        description="`draining` takes no submissions; `drained` has nothing left to do besides, and can be stopped."
    )
    queue: Backlog | None = Field(None, description="What becomes of the queue meanwhile; null while it serves.")
    under_way: int = Field(description="Evaluations that this process has begun.")
    queued: int = Field(description="Requests that wait, for all processes.")


class Health(BaseModel):
    """`ok`, or what keeps it from being that."""

    status: str
