"""Judging from Python: `judge` once, or a `Judge` that keeps its processes warm from one call to the next.

This module imports nothing heavy. Judging imports PyTorch only in the judge processes.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack, cast, overload

from command.exits import UsageError, expected
from command.python_options import Options, namespace

if TYPE_CHECKING:
    import pandas

    from command.given import Given
    from command.python_run import PythonRun
    from evaluator.results.result import Result

OnResult = Callable[["Result"], None]
"""Called with each result as it comes, in the caller's thread."""


class JudgeError(Exception):
    """The request is impossible; the message says what to do. A submission that fails is no error, but a result."""


@overload
def judge(  # type: ignore[overload-overlap]  # a path is no list of paths, though str is an Iterable[str]
    what: str | os.PathLike[str] | Mapping[str, object], /, *, on_result: OnResult | None = None, **options: Unpack[Options]
) -> "Result": ...
@overload
def judge(what: "Iterable[Given]", /, *, on_result: OnResult | None = None, **options: Unpack[Options]) -> "list[Result]": ...
def judge(what: "Given | Iterable[Given]", /, *, on_result: OnResult | None = None, **options: Unpack[Options]) -> "Result | list[Result]":
    """Judge one submission, or each of several: the same verdicts as those of `python pipeline.py`.

    what: a path, or a text: `{"code": …}` or `{"response": …}`, perhaps with `problem`, `author` and `sample_id`. Several of these, as a
    list, give a list of results in the same order; there a path may be a folder or a bundle, which gives many results.

    options: those of the command line (`Options`), with its defaults. Without `db` nothing is stored. With it, every result is stored.
    For an already judged submission, the stored result is returned, unless `rerun` is set. No file of options is read.

    Judges run in processes of their own, which end before this returns. Raises JudgeError.
    """
    with Judge(**options) as judging:
        return judging(what, on_result=on_result)


def feedback(what: "Given", result: "Result") -> str:
    """Return text that helps a person or a model fix a submission: the field `feedback` of the command line's records.

    what: the path or the text that was judged. Raises JudgeError if the result belongs to another source.
    """
    with _told():
        from command.given import Reader
        from evaluator.diagnosis import feedback as told

        for submission in Reader(True, None, {}, ()).read(what, None):
            if submission.source_sha256 == result.source_sha256:
                return told.feedback(result, submission.code, submission.first_line).text
        raise UsageError(f"the result of {result.submission} belongs to another submission, or to another version of it")


def frame(results: "Iterable[Result]") -> "pandas.DataFrame":
    """Results as a table of pandas, one row each: the fields of `Result.summary`, with both ends of the speedup's interval.

    Raises ImportError if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frame needs pandas: pip install -c constraints.txt -e '.[pandas]'") from error
    rows = []
    for result in results:
        fields = result.summary()
        low, high = fields.pop("speedup_interval") or (None, None)
        del fields["baselines"]  # `baseline_ms` is the one that counts
        rows.append(fields | {"started_at": result.started_at, "speedup_low": low, "speedup_high": high})
    return pandas.DataFrame(rows)


class Judge:
    """Judges that are kept for many calls, which saves their start. Use as a context manager, or `close` it. Threads may share one."""

    def __init__(self, **options: Unpack[Options]) -> None:
        """options: as for `judge`. Raises JudgeError, and TypeError for an unknown option."""
        with _told():
            self._options = namespace(options)
        self._run: PythonRun | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        with _told():
            self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. The next call starts new ones."""
        with self._lock:
            run, self._run = self._run, None
        if run is not None and self._owner == os.getpid():
            run.close()

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as above
        self, what: str | os.PathLike[str] | Mapping[str, object], /, *, problem: str | None = None, on_result: OnResult | None = None
    ) -> "Result": ...
    @overload
    def __call__(self, what: "Iterable[Given]", /, *, problem: str | None = None, on_result: OnResult | None = None) -> "list[Result]": ...
    @overload
    def __call__(
        self, what: "Given | Iterable[Given]", /, *, problem: str | None = None, on_result: OnResult | None = None
    ) -> "Result | list[Result]": ...
    def __call__(
        self, what: "Given | Iterable[Given]", /, *, problem: str | None = None, on_result: OnResult | None = None
    ) -> "Result | list[Result]":
        """Like `judge`. `problem` holds for this call."""
        if isinstance(what, str | os.PathLike | Mapping):
            return self._judge([cast("Given", what)], problem, on_result, alone=True)[0]
        return self._judge(what, problem, on_result)

    def _judge(self, given: "Iterable[Given]", problem: str | None, on_result: OnResult | None, *, alone: bool = False) -> "list[Result]":
        with _told():
            run = self._open()
            submissions = run.read(given, problem)
            if alone and len(submissions) > 1:
                raise UsageError(f"it has {len(submissions)} submissions; give it in a list to get a result for each")
            try:
                return run.judge(submissions, on_result)
            except KeyboardInterrupt:
                self.close()
                raise

    def _open(self) -> "PythonRun":
        from command.python_run import PythonRun

        with self._lock:
            if self._run is None or self._owner != os.getpid():  # a fork of the caller must not use the caller's
                self._run, self._owner = PythonRun(self._options), os.getpid()
            return self._run


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn errors that the command line shows in one line into JudgeError."""
    try:
        yield
    except expected() as error:
        raise JudgeError(str(error)) from error
