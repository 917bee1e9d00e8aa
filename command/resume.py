"""Resumes: submissions that the database already has an evaluation of, for the same options, are not judged again."""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command.jobs import JobMaker
    from command.outputs import Outputs
    from db.queries.runs import EvaluationSummary
    from db.store import Store
    from evaluator.submission.model import Submission


class Resume:
    """Chooses which submissions of a run are due, and tells of the others."""

    def __init__(
        self,
        options: argparse.Namespace,
        store: "Store",
        outputs: "Outputs",
        maker: "JobMaker",
        skip: "Callable[[Sequence[EvaluationSummary]], None]",
    ) -> None:
        """`skip` shows the evaluations of skipped submissions."""
        self._options, self._store, self._outputs, self._maker, self._show = options, store, outputs, maker, skip
        self.skipped = 0
        """Number of already judged submissions."""
        self.known: Counter[str] = Counter()
        """Already judged submissions by status."""
        self._skips: list[int] = []
        """Evaluations of skipped submissions that are not yet noted in the database."""

    def due(self, submissions: Sequence["Submission"]) -> list["Submission"]:
        """Those that are not judged yet; all of them with `--rerun`. The others' evaluations go to the output files."""
        keys = [self._maker.key(submission) for submission in submissions]
        judged = {} if self._options.rerun else self._store.judged_among(keys)
        self._skip([judged[key] for key in keys if key in judged])
        return [submission for submission, key in zip(submissions, keys, strict=True) if key not in judged]

    def _skip(self, numbers: list[int]) -> None:
        from db.queries.runs import of_ids

        self.skipped += len(numbers)
        self._skips += numbers
        for number in numbers:
            self._outputs.known(number)
        found = of_ids(self._store, numbers) if numbers else ()
        self.known.update(each.status for each in found)
        self._show(found)

    def note(self) -> None:
        """Note in the database what has been skipped since the last note."""
        skips, self._skips = self._skips, []
        self._store.skip(skips)
