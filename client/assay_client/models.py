"""What is handed in, and what becomes of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

MAX_KEY = 190
"""Characters of a key; the service takes 200, and trying again adds a few."""


@dataclass(frozen=True)
class Options:
    """How to judge. None leaves it to the service."""

    case: str | None = None
    dtype: str | None = None
    protocol: str | None = None
    baselines: tuple[Literal["eager", "compile"], ...] | None = None
    shapes: Literal["own", "others", "strict"] | None = None
    strict_inputs: bool | None = None
    profile: bool | None = None
    """Takes the token's scope `profile`."""
    timeout_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """What was chosen."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Submission:
    """One answer to one problem.

    Give `response` (Markdown) or `source` (Python); and `problem` (a name), `reference` (Python, which takes the token's scope
    `reference`), or a `name` that tells the problem, such as `softmax/fused.py`. Raises ValueError for anything else, and for a key that
    the service would not take.
    """

    response: str | None = None
    source: str | None = None
    problem: str | None = None
    reference: str | None = None
    options: Options = field(default_factory=Options)
    sample_id: int | None = None
    name: str | None = None
    """What to call it."""
    key: str | None = None
    """The idempotency key; by default it follows from everything else here."""

    def __post_init__(self) -> None:
        if (self.response is None) == (self.source is None):
            raise ValueError("give either response or source")
        if self.problem is not None and self.reference is not None:
            raise ValueError("give either problem or reference")
        if self.problem is None and self.reference is None and self.name is None:
            raise ValueError("give problem, reference, or a name that says which problem it answers")
        if self.key is not None and not (0 < len(self.key) <= MAX_KEY and all("!" <= character <= "~" for character in self.key)):
            raise ValueError(f"a key has 1 to {MAX_KEY} visible ASCII characters: {self.key!r}")

    def to_json(self) -> dict[str, Any]:
        """As the service takes it, without a key."""
        told: dict[str, Any] = {
            "response": _plain(self.response),
            "source": _plain(self.source),
            "problem": self.problem,
            "reference": None if self.reference is None else {"source": _plain(self.reference)},
            "options": self.options.to_json() or None,
            "sample_id": self.sample_id,
            "name": self.name,
        }
        return {name: value for name, value in told.items() if value is not None}

    def key_in(self, namespace: str) -> str:
        """The key that it goes by: its own, or one that is the same for the same content, whoever computes it and when."""
        if self.key is not None:
            return self.key
        text = json.dumps([namespace, self.to_json()], sort_keys=True)
        return "sha256-" + hashlib.sha256(text.encode()).hexdigest()


def _plain(text: str | None) -> str | None:
    """Half of a surrogate pair is no character, can't be sent, and comes out of tokenizers now and then."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Verdict:
    """The result of one evaluation."""

    number: int
    """Of the evaluation in the service's database."""
    status: str
    """correct, incorrect, build_failed, run_failed, rejected, disqualified or not_evaluated."""
    category: str
    message: str
    hint: str
    feedback: str
    """What to say to the submission's author."""
    line: int | None
    runtime_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    speed_of_light: float | None
    """Share of what the device could reach; None where that is not known."""
    generalises: str
    """Whether it is right in other shapes too: yes, no or untested."""
    robust: str
    """The same of inputs of other distributions; untested where the service is too old to say."""
    record: Mapping[str, Any]
    """Everything that the service says of it."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Raises KeyError where something is missing."""
        interval = record["speedup_interval"]
        return cls(
            number=record["id"],
            speedup_interval=None if interval is None else (interval[0], interval[1]),
            generalises=record.get("generalises", "untested"),
            robust=record.get("robust", "untested"),
            record=record,
            **{name: record[name] for name in ("status", "category", "message", "hint", "feedback", "line")},
            **{name: record[name] for name in ("runtime_ms", "baseline_ms", "speedup", "speed_of_light")},
        )


@dataclass(frozen=True)
class Evaluation:
    """A submission that was accepted, and what has become of it."""

    id: str
    state: str
    """queued, claimed, done or cancelled."""
    problem: str
    sample_id: int | None
    attempts: int
    stage: str | None
    result: Verdict | None
    name: str | None = None
    """What its author calls it."""
    accepted_at: str = ""
    """In ISO 8601."""

    @property
    def ended(self) -> bool:
        return self.state in ("done", "cancelled")

    @property
    def judged(self) -> bool:
        """Whether there is a verdict about the submission."""
        return self.result is not None and self.result.status != "not_evaluated"

    @property
    def speedup(self) -> float | None:
        """Over the reference, of a right answer."""
        return None if self.result is None else self.result.speedup

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Raises KeyError where something is missing."""
        result = None if told["result"] is None else Verdict.of(told["result"])
        later = {"name": told.get("name"), "accepted_at": told.get("accepted_at", "")}  # an older service has no names
        return cls(result=result, **later, **{name: told[name] for name in ("id", "state", "problem", "sample_id", "attempts", "stage")})


@dataclass(frozen=True)
class Problem:
    """A problem that the service knows."""

    name: str
    cases: tuple[str, ...]
    default_case: str | None
    precision: str | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Raises KeyError where something is missing."""
        return cls(told["name"], tuple(told["cases"]), told["default_case"], told["precision"])
