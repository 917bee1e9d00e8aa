"""Resumes: submissions that the database already has an evaluation of, for the same options, are not judged again."""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evaluator.results.advice import assay_command

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
        self._keeping, self._kept = 0, ""
        """Number of already judged submissions with another author than this run gives them, and the first one with both authors."""
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
        from db.storage.rows import storable_text

        if not judged:
            return
        numbers = [number for number, _ in judged]
        found = of_ids(self._store, numbers)
        self.skipped += len(numbers)
        self._skips += numbers
        self.known.update(each.status for each in found)
        stored = {each.evaluation_id: each.author for each in found}
        for number, submission in judged:
            given, has = submission.author and storable_text(submission.author), stored[number]
            if given not in (None, has):
                self._keeping += 1
                self._kept = self._kept or f"{submission.name}: {has or '(no author)'}, not {given}"
        self._tell(judged, found)

    @property
    def kept_authors(self) -> str:
        """A line on the submissions whose author stays, though this run gives them another. Empty if there are none."""
        if not self._keeping:
            return ""
        return f"{self._keeping} skipped keep their author ({self._kept}); {assay_command()} author set NAME PATH changes it"

    def note(self) -> None:
        """Note in the database what has been skipped since the last note."""
        skips, self._skips = self._skips, []
        self._store.skip(skips)
