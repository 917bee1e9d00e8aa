"""Origins of evaluations: what training runs say of their requests. Equal requests share an evaluation, which then has several."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter
from sqlalchemy import Connection, select

from db.schema.queue_models import OriginRow
from db.storage.dimensions import upsert
from db.storage.rows import text_sha256

MAX_PROMPT, MAX_TAGS = 500, 16
MAX_ORIGINS = 100
"""Maximum origins of a request: a repeated one costs no quota. Later ones are not stored."""

Step = Annotated[int, Field(ge=0, lt=1 << 63)]
Prompt = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PROMPT, pattern=r"^[^\x00]+$")]
TagName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:/-]+$")]
TagValue = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Tags = Annotated[dict[TagName, TagValue], Field(max_length=MAX_TAGS)]
RUN_TAG = "run"
"""The tag that names a training run."""


@dataclass(frozen=True)
class Origin:
    """Where a request comes from in a training run."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    step: Step | None = None
    prompt: Prompt | None = None
    """The prompt's id, or a short text."""
    tags: Tags = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.step is not None or self.prompt is not None or bool(self.tags)

    @property
    def sha256(self) -> str:
        """Identifies its content."""
        return text_sha256([self.step, self.prompt, sorted(self.tags.items())])


ORIGINS = TypeAdapter(tuple[Origin, ...])
"""Checks origins that come from outside."""


def add_origins(connection: Connection, found: Iterable[tuple[int | None, int | None, Origin]]) -> None:
    """Store origins with their request and evaluation, as far as these exist. Known ones stay."""
    values = [
        {"request_id": request, "evaluation_id": evaluation, "sha256": origin.sha256, **asdict(origin)}
        for request, evaluation, origin in found
    ]
    if values:
        connection.execute(upsert(connection, OriginRow).on_conflict_do_nothing(), values)


def origins_of(connection: Connection, evaluation_ids: Sequence[int]) -> dict[int, tuple[Origin, ...]]:
    """The origins of evaluations, in the order of storing, by id; without those that have none."""
    row: Any = OriginRow.__table__.c
    query = select(row.evaluation_id, row.step, row.prompt, row.tags).where(row.evaluation_id.in_(evaluation_ids)).order_by(row.id)
    found: dict[int, list[Origin]] = defaultdict(list)
    for number, *fields in connection.execute(query):
        found[number].append(Origin(*fields))
    return {number: tuple(origins) for number, origins in found.items()}


def origins_text(origins: Sequence[Origin]) -> str | None:
    """A JSON array; None if there are none."""
    return json.dumps([asdict(origin) for origin in origins], ensure_ascii=False) if origins else None


def with_tag(name: str, value: str) -> Any:
    """The condition that an origin has this tag."""
    return OriginRow.tags[name].as_string() == value
