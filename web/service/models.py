"""Clients' requests as pydantic models, from which the OpenAPI document is made."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from db.storage.origin import Origin, Prompt, Step, Tags
from evaluator.judge.timing.protocols import names
from evaluator.problem.declaration import PRECISIONS, PrecisionName
from evaluator.submission.source import MAX_CODE_BYTES

MAX_BATCH = 1000
"""Maximum submissions in one batch, and maximum ids in one poll."""
MAX_WAIT_S = 60.0
MAX_LISTED = 100
"""Maximum evaluations in one list."""
DEFAULT_TIMEOUT_S = 60.0
"""Default seconds for one call of forward(), as on the command line."""
DEFAULT_MAX_TIMEOUT_S = DEFAULT_TIMEOUT_S
"""Default maximum of a request's `timeout_s`: the default timeout. The operator can set another."""
MAX_TIMEOUT_S = 3600.0
"""Upper limit of the operator's maximum, in seconds."""
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
    """Base of all requests. Unknown fields are refused, so that a mistyped option is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class State(StrEnum):
    """State of a request."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    """A service process has claimed it: it is being judged, or is next."""
    DONE = "done"
    CANCELLED = "cancelled"


class Backlog(StrEnum):
    """What a draining process does with the queue."""

    LEAVE = "leave"
    """Leave it: other processes judge it, or this one when it serves again."""
    FINISH = "finish"
    """Continue to claim until the queue is empty."""


class Options(Model):
    """How to judge a submission. Defaults are those of the command line."""

    case: Name | None = Field(None, description="Name of a set of shapes; default: `full` on a GPU, `small` on a CPU.")
    dtype: Precision | None = Field(None, description="Precision to judge in; default: the problem's own.")
    protocol: Name | None = Field(None, description=f"How calls are timed: {_PROTOCOLS}; default: the first of each.")
    timing: bool = Field(True, description="Whether to take times. Without, a right submission is `untimed`, and never ranked.")
    baselines: list[Literal["eager", "compile"]] = Field(
        ["eager"], max_length=2, description="Baselines to time; `eager` is always one of them."
    )
    shapes: Literal["own", "others", "strict"] = Field(
        "others",
        description="`own`: only the case's shapes; `others`: other shapes too; `strict`: wrong in other shapes is `incorrect`.",
    )
    strict_inputs: bool = Field(False, description="Inputs of all distributions decide the verdict, not only the problem's own.")
    profile: bool = Field(
        False, description="Profile the kernels of a correct submission with Nsight Compute, after the verdict; needs the scope `profile`."
    )
    timeout_s: float = Field(DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S, description="Maximum seconds for one call of forward().")

    @property
    def precision(self) -> PrecisionName | None:
        """The evaluator's name of the precision."""
        return None if self.dtype is None else PRECISIONS[self.dtype]


class Reference(Model):
    """A problem that comes with its submission. The service runs it as trusted code, so it needs the scope `reference`."""

    source: str = Field(
        min_length=1, max_length=MAX_CODE_BYTES, description="Python in KernelBench's form: Model, get_inputs, get_init_inputs."
    )


_OF_TYPE = {"source": "string", "response": "string", "problem": "string", "reference": "object", "name": "string"}


def _given(*names: str) -> dict[str, Any]:
    """JSON Schema for: these fields are given."""
    return {"required": list(names), "properties": {name: {"type": _OF_TYPE[name]} for name in names}}


class Submit(Model):
    """One submission: either `source` or `response`; and `problem`, `reference`, or a `name` that names the problem."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"oneOf": [_given("source"), _given("response")]},
                {"anyOf": [_given("problem"), _given("reference"), _given("name")]},
                {"not": _given("problem", "reference")},
            ],
            "examples": [
                {"problem": "softmax", "source": _SOURCE},
                {
                    "problem": "softmax",
                    "response": f"Here it is:\n\n```python\n{_SOURCE}```\n",
                    "options": {"timeout_s": 30, "shapes": "own"},
                    "sample_id": 7,
                    "step": 12,
                    "tags": {"run": "first"},
                },
            ],
        }
    )

    source: str | None = Field(None, max_length=MAX_CODE_BYTES, description="Python that defines `class ModelNew(nn.Module)`.")
    response: str | None = Field(
        None, max_length=4 << 20, description="A model's response in Markdown; its last `ModelNew` is judged, as on the command line."
    )
    problem: Name | None = Field(None, description="Name of a problem that the service knows (`GET /v1/problems`).")
    reference: Reference | None = Field(None, description="The problem itself; needs the scope `reference`.")
    options: Options = Field(default_factory=Options)  # type: ignore[arg-type]
    sample_id: int | None = Field(None, ge=0, lt=1 << 63, description="Number of the author's sample; stored with the result.")
    name: Name | None = Field(
        None,
        description="Name, such as `softmax/fused.py`: stored with the request, and with the result as `service/AUTHOR/NAME`. "
        "Without `problem`, the name or a header comment in the text says which problem it answers, as on the command line.",
    )
    step: Step | None = Field(None, description="Step of the training run that asks; stored with the result, as `prompt` and `tags` are.")
    prompt: Prompt | None = Field(None, description="Id or short text of the prompt.")
    tags: Tags = Field(
        default_factory=dict, description="Texts by name, such as `run`: none of the three is part of the content that a key stands for."
    )
    idempotency_key: Key | None = Field(
        None, description="Same as the header `Idempotency-Key`, for the items of a batch: the same key is never judged twice."
    )

    @property
    def origin(self) -> Origin:
        """What a training run says of the request."""
        return Origin(self.step, self.prompt, self.tags)

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.source is None) == (self.response is None):
            raise ValueError("give either source or response")
        if self.problem is not None and self.reference is not None:
            raise ValueError("give either problem or reference")
        if self.problem is None and self.reference is None and self.name is None:
            raise ValueError("give problem, reference, or a name that says which problem it answers")
        return self


class Batch(Model):
    """Up to 1,000 submissions in one call."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [{"problem": "softmax", "source": _SOURCE}]}]})

    items: list[Any] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description="Each as in `POST /v1/evaluations`. An invalid item is refused without affecting the others.",
        json_schema_extra={"items": {"$ref": "#/components/schemas/Submit"}},
    )


class Poll(Model):
    """A query for many evaluations at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["0123456789abcdef0123456789abcdef"], "wait": 30}]})

    ids: list[Id] = Field(min_length=1, max_length=MAX_BATCH)
    wait: float = Field(0.0, ge=0, le=MAX_WAIT_S, description="Maximum seconds to wait for the first of them to end.")
