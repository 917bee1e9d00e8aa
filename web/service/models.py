"""What goes over the wire: requests, answers and errors, as pydantic models from which the OpenAPI document follows."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from evaluator.judge.timing.protocols import names
from evaluator.problem.declaration import PRECISIONS, PrecisionName
from evaluator.submission.source import MAX_CODE_BYTES

MAX_BATCH = 1000
"""Most submissions of one batch, and most ids of one poll."""
MAX_WAIT_S = 60.0
DEFAULT_TIMEOUT_S = 60.0
"""For one call of forward(), as on the command line."""
DEFAULT_MAX_TIMEOUT_S = DEFAULT_TIMEOUT_S
"""The longest timeout that a request may ask for, unless the operator sets another limit: the default timeout."""
MAX_TIMEOUT_S = 3600.0
"""What an operator may let requests ask for."""
MAX_KEY = 200

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=MAX_KEY, pattern=r"^[!-~]+$")]
Answer = Literal["yes", "no", "untested"]
Precision = Literal["fp16", "bf16", "fp32", "fp64", "float16", "bfloat16", "float32", "float64"]

_PROTOCOLS = " on a GPU, ".join(", ".join(f"`{name}`" for name in names(kind)) for kind in ("cuda", "cpu")) + " elsewhere"

_SOURCE = """\
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
"""


class Model(BaseModel):
    """Unknown fields are refused: a mistyped option must not go unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class State(StrEnum):
    """Where a request is."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    """A service process has it: it is being judged, or is next."""
    DONE = "done"
    CANCELLED = "cancelled"


class Backlog(StrEnum):
    """What a process that drains does with the queue."""

    LEAVE = "leave"
    """Nothing: other processes judge it, or this one when it serves again."""
    FINISH = "finish"
    """It goes on to claim until the queue is empty."""


class Options(Model):
    """How a submission is to be judged; what is left out is as on the command line."""

    case: Name | None = Field(None, description="Which set of shapes; by default `full` on a GPU, `small` on a CPU.")
    dtype: Precision | None = Field(None, description="Judge in this precision; by default the problem's own.")
    protocol: Name | None = Field(None, description=f"How calls are timed: {_PROTOCOLS}; by default the first of either.")
    baselines: list[Literal["eager", "compile"]] = Field(
        ["eager"], max_length=2, description="What it is timed beside; `eager` is always among them."
    )
    shapes: Literal["own", "others", "strict"] = Field(
        "others",
        description="`own`: asked in its own shapes alone; `others`: asked in others too; `strict`: wrong in others is `incorrect`.",
    )
    strict_inputs: bool = Field(False, description="Inputs of every distribution decide, not only the problem's own.")
    timeout_s: float = Field(DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S, description="Seconds that one call of forward() may take.")

    @property
    def precision(self) -> PrecisionName | None:
        """The precision as the evaluator names it."""
        return None if self.dtype is None else PRECISIONS[self.dtype]


class Reference(Model):
    """A problem that travels with its submission. The service runs it as trusted code, so that it takes a scope of its own."""

    source: str = Field(
        min_length=1, max_length=MAX_CODE_BYTES, description="Python in KernelBench's form: Model, get_inputs, get_init_inputs."
    )


def _either(*names: tuple[str, str]) -> dict[str, Any]:
    """Exactly one of these fields, of these types, in the words of JSON Schema."""
    return {"oneOf": [{"required": [name], "properties": {name: {"type": kind}}} for name, kind in names]}


class Submit(Model):
    """One submission: either `source` or `response`, and either `problem` or `reference`."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [_either(("source", "string"), ("response", "string")), _either(("problem", "string"), ("reference", "object"))],
            "examples": [
                {"problem": "softmax", "source": _SOURCE},
                {
                    "problem": "softmax",
                    "response": f"Here it is:\n\n```python\n{_SOURCE}```\n",
                    "options": {"timeout_s": 30, "shapes": "own"},
                    "sample_id": 7,
                },
            ],
        }
    )

    source: str | None = Field(None, max_length=MAX_CODE_BYTES, description="Python that defines `class ModelNew(nn.Module)`.")
    response: str | None = Field(
        None, max_length=4 << 20, description="A model's response in Markdown; its final answer is judged, as on the command line."
    )
    problem: Name | None = Field(None, description="Name of a problem that the service knows (`GET /v1/problems`).")
    reference: Reference | None = Field(None, description="The problem itself; needs the scope `reference`.")
    options: Options = Field(default_factory=Options)  # type: ignore[arg-type]
    sample_id: int | None = Field(None, ge=0, lt=1 << 63, description="Which sample of the author's it is; kept with the result.")
    idempotency_key: Key | None = Field(
        None, description="As the header `Idempotency-Key`, which a batch can't have for each item: the same key is never judged twice."
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.source is None) == (self.response is None):
            raise ValueError("give either source or response")
        if (self.problem is None) == (self.reference is None):
            raise ValueError("give either problem or reference")
        return self


class Batch(Model):
    """Up to 1,000 submissions in one call."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [{"problem": "softmax", "source": _SOURCE}]}]})

    items: list[Any] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description="Each as in `POST /v1/evaluations`; one that can't be read is refused alone.",
        json_schema_extra={"items": {"$ref": "#/components/schemas/Submit"}},
    )


class Poll(Model):
    """Asks after many requests at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["0123456789abcdef0123456789abcdef"], "wait": 30}]})

    ids: list[Id] = Field(min_length=1, max_length=MAX_BATCH)
    wait: float = Field(0.0, ge=0, le=MAX_WAIT_S, description="Seconds to wait for the first of them to end.")


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
