"""A submission as read: its code or the reason why there is none, its problem and its author."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from evaluator.submission.source import Rejection


@dataclass(frozen=True)
class Submission:
    """One thing to judge, or to reject."""

    name: str
    """Displayed path, with forward slashes: relative to the working directory if below it; `file.jsonl:LINE` in a bundle."""
    path: Path
    """Absolute path of the file."""
    block: int | None
    """Number, from 1, among a response's ModelNew blocks; None for plain Python, and without a block."""
    code: str
    """Python source with `\n` line ends; the response itself if it has no block; empty if nothing could be read."""
    first_line: int
    """Line, from 1, of the file (in a bundle: of the text in its line) on which `code` begins."""
    author: str | None
    sample_id: int | None
    problem: str | None
    """Name of a known problem; None if unknown."""
    rejection: Rejection | None
    """Why it is not judged, or None."""
    note: str = ""
    """Remark for readers of the result, on how it was read."""
    raw_sha256: str = ""
    """SHA-256 of the file's bytes, if they could not become `code`."""

    @property
    def source_sha256(self) -> str:
        """SHA-256 of `code` in UTF-8, in hexadecimal; if nothing could be read, of the file's bytes."""
        return self.raw_sha256 or hashlib.sha256(self.code.encode()).hexdigest()


@dataclass(frozen=True)
class ExtractedCode:
    """Code, or the reason why there is none, before problem and author are known. The fields are those of a Submission."""

    code: str = ""
    block: int | None = None
    first_line: int = 1
    rejection: Rejection | None = None
    note: str = ""
    raw_sha256: str = ""

    def submission(
        self, name: str, path: Path, problem: str | None, author: str | None, sample_id: int | None, rejection: Rejection | None = None
    ) -> Submission:
        """The submission of this code; `rejection` counts if the code itself is not rejected."""
        return Submission(
            name=name,
            path=path,
            block=self.block,
            code=self.code,
            first_line=self.first_line,
            author=author,
            sample_id=sample_id,
            problem=problem,
            rejection=self.rejection or rejection,
            note=self.note,
            raw_sha256=self.raw_sha256,
        )
