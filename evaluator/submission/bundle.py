"""Bundles: `.jsonl` files with one object per line, with `code` or `response`, and optionally `problem`, `author` and `sample_id`."""

import json
from collections.abc import Iterator
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.submission.extract import extract, oversized, sha256, unreadable
from evaluator.submission.manifest import Name
from evaluator.submission.model import ExtractedCode
from evaluator.submission.source import MAX_FILE_BYTES


class BundleLine(BaseModel):
    """The content of one line of a bundle."""

    model_config = ConfigDict(frozen=True)

    problem: Name | None = None
    author: Name | None = None
    sample_id: int | None = Field(default=None, ge=0, lt=1 << 63)
    code: str | None = None
    response: str | None = None


def read_line(data: bytes, every_block: bool) -> tuple[BundleLine, str, list[ExtractedCode]]:
    """The content of a line, its text, and the code in that."""
    line = BundleLine()
    if len(data) > MAX_FILE_BYTES:
        return line, "", [oversized(data, None, MAX_FILE_BYTES)]
    try:
        line = BundleLine.model_validate(json.loads(data.decode("utf-8-sig")))
        raw = line.code if line.code is not None else line.response
        if raw is None:
            return line, "", [ExtractedCode(rejection=unreadable("the line has neither code nor response"))]
        return line, *extract(raw, line.code is None, every_block)
    except RecursionError:
        reason = "JSON nested too deeply"
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
    except ValueError as error:
        reason = f"not JSON in UTF-8: {error}"
    return line, "", [ExtractedCode(rejection=unreadable(reason), raw_sha256=sha256(data))]


def lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered non-blank lines; of a line that is too long, the first MAX_FILE_BYTES + 1 bytes."""
    number = 0
    while data := file.readline(MAX_FILE_BYTES + 1):
        number += 1
        rest = data
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(MAX_FILE_BYTES)
        if data.strip():
            yield number, data
