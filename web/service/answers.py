"""The service's answers as pydantic models, from which the OpenAPI document is made."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from web.service.models import Answer, Backlog, Id, State


class Verdict(BaseModel):
    """The record of one evaluation, as `assay judge --json` writes it. Fields that are not listed here are included."""

    model_config = ConfigDict(extra="allow")

    id: int = Field(description="Number of the evaluation in the database (`assay show`).")
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
    feedback: str = Field(description="Message for the submission's author.")
    line: int | None = Field(description="Line of the source or response that the message is about.")
    runtime_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    speed_of_light: float | None = Field(description="Speed-of-light time divided by the runtime; null if not known.")
    generalises: Answer = Field(description="Whether it is also right in other shapes.")
    robust: Answer = Field(description="Whether it is also right on inputs of other distributions.")
    source_sha256: str
    started_at: datetime
    duration_s: float


class Evaluation(BaseModel):
    """A request and its state."""

    id: Id
    state: State
    problem: str
    sample_id: int | None
    name: str | None = Field(None, description="Name that its author gave it.")
    accepted_at: datetime
    finished_at: datetime | None = Field(None, description="When it was done or cancelled.")
    attempts: int = Field(description="How often judging has begun; more than once if a process or the machine failed.")
    stage: str | None = Field(
        None, description="Stage of its evaluation, while it is claimed: start, load, queue, build, construct, rounds, …"
    )
    result: Verdict | None = Field(None, description="Present if the state is `done`.")


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="The kind of error, for programs.")
    message: str = Field(description="One sentence for people.")
    details: list[str] = Field(default_factory=list, description="One line for each invalid field.")


class Error(BaseModel):
    """The body of every answer with status 400 and above."""

    error: ErrorBody


class BatchItem(BaseModel):
    """The outcome of one item: either `evaluation` or `error`."""

    status: int = Field(description="Status of the same item sent alone: 202, 200 (known key), 403, 409 or 422.")
    evaluation: Evaluation | None = None
    error: ErrorBody | None = None


class BatchAnswer(BaseModel):
    """In the order of the items."""

    items: list[BatchItem]


class PollAnswer(BaseModel):
    """The evaluations that have ended, with their results, and how many have not."""

    ended: list[Evaluation]
    pending: int
    unknown: list[Id] = Field(description="Ids that don't exist, or belong to another author.")


class EvaluationList(BaseModel):
    """A list of evaluations, newest first."""

    evaluations: list[Evaluation]
    next: Id | None = Field(description="Value of `before` for the next page of older ones; null on the last page.")


class Problem(BaseModel):
    """A problem that submissions can answer."""

    name: str
    sha256: str | None = Field(description="SHA-256 of its file; null until it has been loaded.")
    cases: list[str]
    precision: str | None
    default_case: str | None


class Problems(BaseModel):
    problems: list[Problem]


class Ranked(BaseModel):
    """One row of a leaderboard. Fields that are not listed here are included."""

    model_config = ConfigDict(extra="allow")

    problem: str
    rank: int
    author: str | None
    speedup: float
    evaluation_id: int
    category: str = Field(description="`ok`, or `reduced_precision` if requested.")


class Leaderboard(BaseModel):
    rows: list[Ranked]


class Drain(BaseModel):
    """Whether this process accepts submissions, and how many accepted ones are left."""

    state: Literal["serving", "draining", "drained"] = Field(
        description="`draining` accepts no submissions; `drained` also has nothing left to do, and can be stopped."
    )
    queue: Backlog | None = Field(None, description="What the process does with the queue meanwhile; null while it serves.")
    under_way: int = Field(description="Evaluations that are under way in this process.")
    queued: int = Field(description="Requests that wait, of all processes.")


class Health(BaseModel):
    """`ok`, or the reason why it is not."""

    status: str
