"""The files of `--json` and `--feedback`, written as results come, and that of `--junit`, written at the end.

Submissions that were judged before are in them too.
"""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from command.exits import UsageError

if TYPE_CHECKING:
    from db.store import Store
    from evaluator.results.result import Result

STANDARD_OUTPUT = "-"


class Output:
    """A text file named by an option; `-` is standard output."""

    def __init__(self, option: str, name: str) -> None:
        """Raises UsageError if it can't be written."""
        self.name, self._option = name, option
        try:
            self._file: IO[str] = sys.stdout if name == STANDARD_OUTPUT else Path(name).open("w", encoding="utf-8")  # noqa: SIM115 - `close` does
        except OSError as error:
            raise UsageError(f"{option} {name}: {error.strerror}") from error

    def write(self, text: str) -> None:
        """Write one record and a newline, and flush. Raises UsageError if writing fails."""
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise UsageError(f"{self._option} {self.name}: {error.strerror}; the results so far are in the database") from error

    def close(self) -> None:
        """Close the file. Standard output stays open."""
        if self.name != STANDARD_OUTPUT:
            # Every record was flushed, except for one whose failure has been reported.
            with contextlib.suppress(OSError):
                self._file.close()


def written(options: argparse.Namespace) -> list[Path]:
    """The files that a run writes: its database, if that is a file, and its output. Raises StoreError for an invalid database URL."""
    from db.address import Address

    names = [options.json, options.junit, *(options.feedback or ())[1:]]
    files = [Address.parse(options.db).path, *(Path(name) for name in names if name and name != STANDARD_OUTPUT)]
    return [path for path in files if path is not None]


class Outputs:
    """The files of `--json`, `--feedback` and `--junit`. Use as a context manager."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises UsageError if a file can't be written."""
        from command.junit import JUnitFile

        self._json: Output | None = None
        self._feedback: Output | None = None
        self._junit: JUnitFile | None = None
        try:
            if options.json:
                self._json = Output("--json", options.json)
            if options.feedback:
                self._feedback = Output("--feedback", options.feedback[1])
            if options.junit:
                self._junit = JUnitFile(options.junit)
        except UsageError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def take_standard_output(self) -> bool:
        """Whether one of them is standard output, so that messages must go to standard error."""
        return any(output.name == STANDARD_OUTPUT for output in (self._json, self._feedback) if output)

    @property
    def take_results(self) -> bool:
        """Whether one of them is written as results come."""
        return bool(self._json or self._feedback)

    def tell(self, number: int, result: "Result", source: str, first_line: int) -> None:
        """Write an evaluation's result. Raises UsageError if writing fails."""
        self.known(number)
        if not self.take_results:
            return
        from evaluator.diagnosis.feedback import feedback, record

        told = feedback(result, source, first_line)
        if self._json:
            self._json.write(json.dumps(record(number, result, told), ensure_ascii=False, allow_nan=False))
        if self._feedback:
            title = f"{number}: {result.submission}" + (f", block {result.block}" if result.block else "")
            self._feedback.write(told.markdown(title))

    def known(self, number: int) -> None:
        """Count this evaluation among those of the run, whether judged now or before."""
        if self._junit:
            self._junit.add(number)

    def finish(self, store: "Store") -> None:
        """Write the file of `--junit`. Raises UsageError and StoreError if that fails."""
        if self._junit:
            self._junit.write(store)

    def close(self) -> None:
        """Close the files that were opened here."""
        if self._junit:
            self._junit.close()
        for output in (self._json, self._feedback):
            if output:
                output.close()
