"""The code in a text: a Python file as it is, or the blocks of a model's response."""

import hashlib
from dataclasses import replace
from pathlib import Path

from evaluator.results.category import Category
from evaluator.submission.model import ExtractedCode, Submission
from evaluator.submission.response import MAX_RESPONSE_BYTES, Candidate, read_response
from evaluator.submission.source import MAX_CODE_BYTES, Rejection, clean, defines, examine, parse


def of_text(name: str, text: str, response: bool, problem: str, author: str, sample_id: int | None) -> Submission:
    """The submission in a text without a file: a model's response, whose final answer counts, or Python.

    problem: a known one. The text's own claims of problem and author are ignored.
    """
    return extract(text, response)[1][0].submission(name, Path("/", name), problem, author, sample_id)


def extract(raw: str, response: bool, every_block: bool = False) -> tuple[str, list[ExtractedCode]]:
    """A text with plain line ends, and the code in it: the final answer of a response, or with `every_block` all of its ModelNew blocks."""
    try:
        text = clean(raw)
    except ValueError as error:
        return "", [ExtractedCode(rejection=unreadable(str(error)), raw_sha256=sha256(raw.encode("utf-8", "surrogatepass")))]
    return text, of_response(text, every_block) if response else [of_code(text)]


def of_response(text: str, every_block: bool = False) -> list[ExtractedCode]:
    """The code in a model's response."""
    data = text.encode()
    if len(data) > MAX_RESPONSE_BYTES:
        return [oversized(data, len(data), MAX_RESPONSE_BYTES)]
    response = read_response(text)
    if response.final is None:
        fits = len(data) <= MAX_CODE_BYTES
        return [ExtractedCode(text if fits else "", rejection=response.rejection, raw_sha256="" if fits else sha256(data))]
    return [_of_candidate(each) for each in (response.candidates if every_block else (response.final,))]


def of_code(text: str) -> ExtractedCode:
    """The code of a Python file."""
    rejection = examine(text)
    if rejection is not None and rejection.category is Category.TOO_LARGE:
        return ExtractedCode(rejection=rejection, raw_sha256=sha256(text.encode()))
    return ExtractedCode(text, rejection=rejection)


def of_solution(text: str) -> ExtractedCode:
    """The code of a solution to KernelBench-Hard, whose class may be named Model."""
    found = of_code(text)
    lacks_name = found.rejection is not None and found.rejection.category is Category.MISSING_MODEL_NEW
    if not lacks_name or not defines(parse(text), "Model"):
        return found
    return replace(of_code(f"{text.rstrip()}\n\n\nModelNew = Model\n"), note="its class Model is judged as ModelNew")


def _of_candidate(candidate: Candidate) -> ExtractedCode:
    block, rejection = candidate.block, candidate.rejection
    large = rejection is not None and rejection.category is Category.TOO_LARGE
    code, digest = ("", sha256(block.code.encode())) if large else (block.code, "")
    return ExtractedCode(code, candidate.number, block.first_line, rejection, candidate.note, digest)


def oversized(data: bytes, size_bytes: int | None, limit_bytes: int) -> ExtractedCode:
    """No code, because there are too many bytes; size_bytes is None if they were not all read."""
    size = "more" if size_bytes is None else f"{size_bytes:,} bytes"
    message = f"at most {limit_bytes:,} bytes are read; it has {size}"
    return ExtractedCode(rejection=Rejection(Category.TOO_LARGE, message), raw_sha256=sha256(data))


def unreadable(reason: str) -> Rejection:
    """The rejection of a file that is not text."""
    return Rejection(Category.UNREADABLE_FILE, reason)


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
