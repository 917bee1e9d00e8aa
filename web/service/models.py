"""What clients send, as pydantic models from which the OpenAPI document follows."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from evaluator.judge.timing.protocols import names
from evaluator.problem.declaration import PRECISIONS, PrecisionName
from evaluator.submission.source import MAX_CODE_BYTES

MAX_BATCH = 1000
"""Most submissions of one batch, and most ids of one poll."""
MAX_WAIT_S = 60.0
MAX_LISTED = 100
"""Most evaluations of one answer that lists them."""
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
    profile: bool = Field(
        False, description="Run Nsight Compute over the kernels of what is correct, after the verdict; needs the scope `profile`."
    )
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


_OF_TYPE = {"source": "string", "response": "string", "problem": "string", "reference": "object", "name": "string"}


def _given(*names: str) -> dict[str, Any]:
    """That these fields are given, in the words of JSON Schema."""
    return {"required": list(names), "properties": {name: {"type": _OF_TYPE[name]} for name in names}}


class Submit(Model):
    """One submission: either `source` or `response`; and `problem`, `reference`, or a `name` that tells the problem."""

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
    name: Name | None = Field(
        None,
        description="What to call it, such as `softmax/fused.py`: kept with the request, and with the result as `service/AUTHOR/NAME`. "
        "Without `problem`, the name or a header comment of the text says which problem it answers, as on the command line.",
    )
    idempotency_key: Key | None = Field(
        None, description="As the header `Idempotency-Key`, which a batch can't have for each item: the same key is never judged twice."
    )

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
        description="Each as in `POST /v1/evaluations`; one that can't be read is refused alone.",
        json_schema_extra={"items": {"$ref": "#/components/schemas/Submit"}},
    )


class Poll(Model):
    """Asks after many requests at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["0123456789abcdef0123456789abcdef"], "wait": 30}]})

    ids: list[Id] = Field(min_length=1, max_length=MAX_BATCH)
    wait: float = Field(0.0, ge=0, le=MAX_WAIT_S, description="Seconds to wait for the first of them to end.")
