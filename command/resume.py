"""Resumes: submissions that the database already has an evaluation of, for the same options, are not judged again."""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command.jobs import JobMaker
    from db.queries.runs import EvaluationSummary
    from db.store import Store
    from evaluator.submission.model import Submission

    Skip = Callable[[Sequence[tuple[int, Submission]], Sequence[EvaluationSummary]], None]
    """Called with skipped submissions, each with its evaluation's number, and with these evaluations in short."""


class Resume:
    """Chooses which submissions of a run are due, and tells of the others."""

    def __init__(self, options: argparse.Namespace, store: "Store", maker: "JobMaker", skip: "Skip") -> None:
        self._options, self._store, self._maker, self._tell = options, store, maker, skip
        self.skipped = 0
        """Number of already judged submissions."""
        self.known: Counter[str] = Counter()
        """Already judged submissions by status."""
        self._skips: list[int] = []
        """Evaluations of skipped submissions that are not yet noted in the database."""

    def due(self, submissions: Sequence["Submission"]) -> list["Submission"]:
        """Those that are not judged yet; all of them with `--rerun`."""
        keys = [self._maker.key(submission) for submission in submissions]
        judged = {} if self._options.rerun else self._store.judged_among(keys)
        self._skip([(judged[key], submission) for submission, key in zip(submissions, keys, strict=True) if key in judged])
        return [submission for submission, key in zip(submissions, keys, strict=True) if key not in judged]

    def _skip(self, judged: Sequence[tuple[int, "Submission"]]) -> None:
        from db.queries.runs import of_ids

        if not judged:
            return
        numbers = [number for number, _ in judged]
        found = of_ids(self._store, numbers)
        self.skipped += len(numbers)
        self._skips += numbers
        self.known.update(each.status for each in found)
        self._tell(judged, found)

    def note(self) -> None:
        """Note in the database what has been skipped since the last note."""
        skips, self._skips = self._skips, []
        self._store.skip(skips)
