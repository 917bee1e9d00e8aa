"""Between results and rows: what of a result goes into which column, and back."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from db.error import StoreError
from db.models import MAX_SOURCE_BYTES
from evaluator.result import EVALUATOR_VERSION, Environment, Evidence, Result

_PLAIN_COLUMNS = tuple(name for name in Result.model_fields if name not in ("evidence", "environment"))


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """What makes two evaluations the same; made from a result with `of`, or before there is one."""

    submission: str
    block: int | None
    source_sha256: str
    problem_sha256: str | None
    case: str | None
    device_name: str
    """`Environment.device_name`; empty for a rejected submission, which never met a device."""
    evaluator_version: str = EVALUATOR_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "submission", storable_text(self.submission))

    @classmethod
    def of(cls, result: Result) -> Self:
        """The key that a result is stored under."""
        return cls(
            submission=result.submission,
            block=result.block,
            source_sha256=result.source_sha256,
            problem_sha256=result.problem_sha256,
            case=result.case,
            device_name=device_name(result),
            evaluator_version=result.evaluator_version,
        )

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """Names of the fields, which are names of columns too."""
        return tuple(field.name for field in fields(cls))


def device_name(result: Result) -> str:
    """Name of the device that a result was got on; empty where it never met one."""
    return "" if result.environment is None else storable_text(result.environment.device_name)


def storable_text(text: str) -> str:
    """The text with a `\\udc80`-like escape for every lone surrogate (a byte of a file name that is not UTF-8)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_result(result: Result) -> Result:
    """The result itself, or a copy with `storable_text` applied to all its texts where one needs it."""
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
    text = _environment_json(environment)
    return {"sha256": _sha256(text), "device_name": environment.device_name, "json": text}


def evaluation_values(result: Result) -> dict[str, Any]:
    """Columns of `evaluations`, but for the id."""
    values: dict[str, Any] = {name: getattr(result, name) for name in _PLAIN_COLUMNS}
    values.update(
        status=result.status.value,
        category=result.category.value,
        device_name=device_name(result),
        environment_sha256=None if result.environment is None else _sha256(_environment_json(result.environment)),
        sandbox=result.evidence.sandbox,
        evidence=zlib.compress(result.evidence.model_dump_json().encode()),
    )
    return values


def result_of(row: Mapping[str, Any]) -> Result:
    """The result of a row of `evaluations` with its `environment_json`.

    Raises StoreError for a damaged row, and for one that a newer evaluator wrote.
    """
    try:
        environment = None if row["environment_json"] is None else Environment.model_validate_json(row["environment_json"])
        evidence = Evidence.model_validate_json(zlib.decompress(row["evidence"]))
        return Result.model_validate({name: row[name] for name in _PLAIN_COLUMNS} | {"evidence": evidence, "environment": environment})
    except (ValidationError, zlib.error) as error:
        raise StoreError(
            f"Evaluation {row['id']} can't be read by this version ({EVALUATOR_VERSION}); it was written by {row['evaluator_version']}."
            f" Use that version, or evaluate {row['submission']!r} again with --rerun. Cause: {error}"
        ) from error


def _environment_json(environment: Environment) -> str:
    return json.dumps(json.loads(environment.model_dump_json()), sort_keys=True, ensure_ascii=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
