"""Submissions and evaluations."""

import hashlib
import json
import operator
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

MAX_KEY = 190
"""Maximum characters of a key; the service allows 200, and retries add a few."""
MAX_PROMPT, MAX_TAGS = 500, 16
"""The service's limits."""
_TAG_NAME, _TAG_VALUE = re.compile(r"[A-Za-z0-9_.:/-]{1,64}"), re.compile(r"[^\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True)
class Options:
    """Judging options. None: the service's default."""

    case: str | None = None
    dtype: str | None = None
    protocol: str | None = None
    timing: bool | None = None
    """False: take no times, which is several times faster. A right answer is `untimed`."""
    baselines: tuple[Literal["eager", "compile"], ...] | None = None
    shapes: Literal["own", "others", "strict"] | None = None
    strict_inputs: bool | None = None
    profile: bool | None = None
    """Needs the token's scope `profile`."""
    timeout_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The options that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Submission:
    """One answer to one problem.

    Give `response` (Markdown) or `source` (Python); and `problem` (a name), `reference` (Python; needs the token's scope `reference`), or a
    `name` with the problem, such as `softmax/fused.py`. Raises ValueError for anything else, and for an invalid key, step, prompt or tag.
    """

    response: str | None = None
    source: str | None = None
    problem: str | None = None
    reference: str | None = None
    options: Options = field(default_factory=Options)
    sample_id: int | None = None
    name: str | None = None
    """Its name."""
    key: str | None = None
    """The idempotency key; by default derived from the content."""
    step: int | None = None
    """Step of the training run that asks. Step, prompt and tags are stored with the result; they are no part of the content."""
    prompt: str | None = None
    """Id or short text of the prompt."""
    tags: Mapping[str, str] | None = None
    """Texts by name, such as `run`."""

    def __post_init__(self) -> None:
        if (self.response is None) == (self.source is None):
            raise ValueError("give either response or source")
        if self.problem is not None and self.reference is not None:
            raise ValueError("give either problem or reference")
        if self.problem is None and self.reference is None and self.name is None:
            raise ValueError("give problem, reference, or a name that says which problem it answers")
        if self.key is not None and not (0 < len(self.key) <= MAX_KEY and all("!" <= character <= "~" for character in self.key)):
            raise ValueError(f"a key has 1 to {MAX_KEY} visible ASCII characters: {self.key!r}")
        _check_origin(self.step, self.prompt, self.tags or {})

    def to_json(self) -> dict[str, Any]:
        """As the service's JSON, without a key."""
        return self.content | self.origin

    @property
    def content(self) -> dict[str, Any]:
        """What is judged, as JSON."""
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

    @property
    def origin(self) -> dict[str, Any]:
        """Where it comes from in a training run, as JSON."""
        told: dict[str, Any] = {
            "step": None if self.step is None else operator.index(self.step),
            "prompt": _plain(self.prompt),
            "tags": {name: _plain(value) for name, value in self.tags.items()} if self.tags else None,
        }
        return {name: value for name, value in told.items() if value is not None}

    def key_in(self, namespace: str) -> str:
        """Its own key, or one that depends only on the content."""
        if self.key is not None:
            return self.key
        text = json.dumps([namespace, self.content], sort_keys=True)
        return "sha256-" + hashlib.sha256(text.encode()).hexdigest()


def _check_origin(step: Any, prompt: Any, tags: Mapping[Any, Any]) -> None:
    """Raises ValueError for what the service would refuse."""
    try:
        within = step is None or 0 <= operator.index(step) < 1 << 63
    except TypeError:
        within = False
    if not within:
        raise ValueError(f"a step is a whole number from 0: {step!r}")
    if prompt is not None and not (isinstance(prompt, str) and 0 < len(prompt) <= MAX_PROMPT and "\0" not in prompt):
        what = f"{len(prompt)} characters" if isinstance(prompt, str) else repr(prompt)
        raise ValueError(f"a prompt is an id or a short text of 1 to {MAX_PROMPT} characters without NUL: {what}")
    if len(tags) > MAX_TAGS:
        raise ValueError(f"at most {MAX_TAGS} tags: {len(tags)}")
    for name, value in tags.items():
        if not (isinstance(name, str) and _TAG_NAME.fullmatch(name)):
            raise ValueError(f"a tag's name has 1 to 64 of the characters A-Z a-z 0-9 _ . : / -: {name!r}")
        if not (isinstance(value, str) and _TAG_VALUE.fullmatch(value)):
            what = f"{len(value)} characters" if isinstance(value, str) else repr(value)
            raise ValueError(f"the tag {name!r} needs a text of 1 to 200 characters on one line: {what}")


def _plain(text: str | None) -> str | None:
    """Replace lone surrogates: they can't be sent, and tokenizers sometimes produce them."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Verdict:
    """The result of one evaluation."""

    number: int
    """The evaluation's id in the service's database."""
    status: str
    """correct, incorrect, build_failed, run_failed, rejected, disqualified or not_evaluated."""
    category: str
    message: str
    hint: str
    feedback: str
    """Feedback for the submission's author."""
    line: int | None
    runtime_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    speed_of_light: float | None
    """Share of the device's limit; None if not known."""
    generalises: str
    """Whether it is also right in other shapes: yes, no or untested."""
    robust: str
    """Right on other input distributions: yes, no or untested; untested by an old service."""
    record: Mapping[str, Any]
    """The service's whole JSON."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Parse the service's JSON. Raises KeyError for a missing field."""
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
    """An accepted submission, and its state."""

    id: str
    state: str
    """queued, claimed, done or cancelled; refused, if the service accepted only others of its batch."""
    problem: str
    sample_id: int | None
    attempts: int
    stage: str | None
    result: Verdict | None
    name: str | None = None
    """Its author's name for it."""
    accepted_at: str = ""
    """ISO 8601 time."""
    refusal: str = ""
    """The service's reason to refuse it."""

    @property
    def ended(self) -> bool:
        return self.state in ("done", "cancelled", "refused")

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on the submission."""
        return self.result is not None and self.result.status != "not_evaluated"

    @property
    def why_not_judged(self) -> str:
        """Why there is no verdict; empty if there is one."""
        if self.result is None:
            return self.refusal or self.state
        return "" if self.judged else f"{self.result.category}: {self.result.message}"

    @property
    def speedup(self) -> float | None:
        """Speedup over the reference, of a right answer."""
        return None if self.result is None else self.result.speedup

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Parse the service's JSON. Raises KeyError for a missing field."""
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
        """Parse the service's JSON. Raises KeyError for a missing field."""
        return cls(told["name"], tuple(told["cases"]), told["default_case"], told["precision"])
