"""Converts results to the columns of rows, and back."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from db.error import StoreError
from db.schema.models import MAX_SOURCE_BYTES
from db.storage.interval import speedup_interval
from evaluator.results.protocol_names import UNTIMED
from evaluator.results.result import EVALUATOR_VERSION, Environment, Result

_IN_EVALUATIONS = (*("device", "runtime_ms", "baseline_ms", "speedup", "started_at", "duration_s", "evaluator_version", "message", "hint"),)
_ELSEWHERE = ("submission", "block", "author", "sample_id", "problem", "problem_sha256", "case", "precision", "protocol", "source_sha256")
_IDENTITY = (
    *("submission", "block", "author", "sample_id", "problem", "problem_sha256", "case", "device", "source_sha256"),
    *("status", "category", "runtime_ms", "baseline_ms", "duration_s", "evaluator_version"),
)


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """Two evaluations with the same key are repetitions. Made from a result with `of`, or before there is one."""

    submission: str
    block: int | None
    source_sha256: str
    problem_sha256: str | None
    case: str | None
    device_name: str
    """`Environment.device_name`; empty for a rejected submission, which was on no device."""
    precision: str | None = None
    """As in a result."""
    evaluator_version: str = EVALUATOR_VERSION
    protocol: str | None = None
    """None for the device's default."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "submission", storable_text(self.submission))

    @classmethod
    def of(cls, result: Result) -> Self:
        """The key of a result."""
        return cls(
            submission=result.submission,
            block=result.block,
            source_sha256=result.source_sha256,
            problem_sha256=result.problem_sha256,
            case=result.case,
            device_name=device_name(result),
            precision=result.precision,
            evaluator_version=result.evaluator_version,
            protocol=result.protocol,
        )

    @property
    def untimed(self) -> Self:
        """The key of the same evaluation without times."""
        return replace(self, protocol=UNTIMED)

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """Field names."""
        return tuple(field.name for field in fields(cls))


@dataclass(frozen=True, slots=True)
class BoardKey:
    """Columns of `boards`, on which evaluations are compared."""

    problem: str | None
    problem_sha256: str | None
    case: str | None
    device_name: str
    precision: str | None
    protocol: str | None = None

    @classmethod
    def of(cls, result: Result) -> Self:
        """The board of a result."""
        return cls(result.problem, result.problem_sha256, result.case, device_name(result), result.precision, result.protocol)

    @property
    def sha256(self) -> str:
        alternative = [self.protocol] if self.protocol else []  # boards of the default protocol keep their old hashes
        return text_sha256([self.problem, self.problem_sha256, self.case, self.device_name, self.precision, *alternative])


def text_sha256(value: object) -> str:
    """SHA-256 of a value's JSON, which separates fields of any content."""
    return _sha256(json.dumps(value, ensure_ascii=False))


def digest(result: Result) -> bytes:
    """16 bytes that identify an evaluation. Fields that a later version adds don't change them."""
    return digest_of({name: getattr(result, name) for name in (*_IDENTITY, "started_at")}, device_name(result))


def digest_of(row: Mapping[str, Any], device_name: str) -> bytes:
    """The digest of a result with these fields."""
    values = [*(row[name] for name in _IDENTITY), device_name, row["started_at"].timestamp()]
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).digest()[:16]


def device_name(result: Result) -> str:
    """Name of a result's device; empty if it was on none."""
    return "" if result.environment is None else storable_text(result.environment.device_name)


def storable_text(text: str) -> str:
    """The text with a `\\udc80`-like escape for every lone surrogate (a byte of a file name that is not UTF-8)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_result(result: Result) -> Result:
    """The result itself, or a copy with `storable_text` applied to all its texts if one needs it."""
    try:
        result.model_dump_json()
    except (PydanticSerializationError, UnicodeEncodeError):
        return Result.model_validate(_storable(result.model_dump()))
    return result


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def source_values(sha256: str, source: str) -> dict[str, Any]:
    """Columns of `sources`."""
    data = source.encode("utf-8", "backslashreplace")
    exact = len(data) <= MAX_SOURCE_BYTES and hashlib.sha256(data).hexdigest() == sha256
    return {"sha256": sha256, "exact": int(exact), "text": data[:MAX_SOURCE_BYTES].decode("utf-8", "ignore")}


def environment_values(environment: Environment) -> dict[str, Any]:
    """Columns of `environments`."""
    text = json.dumps(json.loads(environment.model_dump_json()), sort_keys=True, ensure_ascii=False)
    return {"sha256": _sha256(text), "device_name": environment.device_name, "json": text}


def evaluation_values(result: Result, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of `evaluations` except ids and flags; `evidence` is the part without a table of its own."""
    values: dict[str, Any] = {name: getattr(result, name) for name in _IN_EVALUATIONS}
    low, high = _interval(result)
    values.update(
        status=result.status.value,
        category=result.category.value,
        speedup_low=low,
        speedup_high=high,
        sandbox=result.evidence.sandbox,
        digest=digest(result),
        evidence=zlib.compress(json.dumps(evidence, ensure_ascii=False, allow_nan=False).encode()),
    )
    return values


def _interval(result: Result) -> tuple[float | None, float | None]:
    timing = result.evidence.timing
    if result.speedup is None or timing is None:
        return result.speedup, result.speedup
    if result.speedup_interval is not None:
        return result.speedup_interval
    baseline = timing.alone if timing.alone and timing.disturbed else timing.baseline
    return speedup_interval(timing.candidate.samples_ms, baseline.samples_ms, result.speedup)


def evidence_rest(row: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the evidence in the row of `evaluations` itself. Raises StoreError for a damaged row."""
    try:
        found = json.loads(zlib.decompress(row["evidence"]))
    except (zlib.error, ValueError) as error:
        raise unreadable(row, error) from error
    if not isinstance(found, dict):
        raise unreadable(row, TypeError("the evidence is no object"))
    return found


def result_of(row: Mapping[str, Any], evidence: Mapping[str, Any]) -> Result:
    """The result of a row of `evaluations` with the rows that it refers to, and its evidence as JSON values.

    Raises StoreError for a damaged row, and for one that a newer evaluator wrote.
    """
    values = {name: row[name] for name in (*_IN_EVALUATIONS, *_ELSEWHERE, "status", "category")}
    try:
        environment = None if row["environment_json"] is None else Environment.model_validate_json(row["environment_json"])
        return Result.model_validate(values | {"evidence": evidence, "environment": environment})
    except ValidationError as error:
        raise unreadable(row, error) from error


def unreadable(row: Mapping[str, Any], error: Exception) -> StoreError:
    """The error for an evaluation that this version can't read, or that is damaged."""
    return StoreError(
        f"Evaluation {row['id']} can't be read by this version ({EVALUATOR_VERSION}); it was written by {row['evaluator_version']}."
        f" Use that version, or evaluate {row['submission']!r} again with --rerun. Cause: {error}"
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
