"""Column types that mean the same in every database."""

import sys
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Dialect, LargeBinary, String, Text, TypeDecorator

# PostgreSQL's text holds every character but NUL. Noncharacters, which Unicode sets aside for a program's own use, stand in for it.
_ESCAPE, _NUL = "\ufdd1", "\ufdd0"


class UtcText(TypeDecorator[datetime]):
    """A time as ISO 8601 text in UTC with six decimals, which sorts as text; a time without a zone is taken as UTC."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        if value is None:
            return None
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        return None if value is None else datetime.fromisoformat(value)


class AnyText(TypeDecorator[str]):
    """Text with any character except lone surrogates, NUL included, in every database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name == "sqlite":
            return value
        return value.replace(_ESCAPE, _ESCAPE * 2).replace("\0", _ESCAPE + _NUL)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name == "sqlite" or _ESCAPE not in value:
            return None if value is None else str(value)
        return _ESCAPE.join(part.replace(_ESCAPE + _NUL, "\0") for part in value.split(_ESCAPE * 2))


class Samples(TypeDecorator[Sequence[float]]):
    """Numbers as eight bytes each, IEEE 754 doubles, least significant byte first: exact and compact."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Sequence[float] | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - as above
        return None if value is None else _little_endian(array("d", value)).tobytes()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> tuple[float, ...] | None:  # noqa: ARG002 - as above
        return None if value is None else tuple(_little_endian(array("d", bytes(value))))


def _little_endian(numbers: "array[float]") -> "array[float]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
