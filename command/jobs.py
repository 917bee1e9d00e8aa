"""Makes jobs from submissions, and the keys that find their evaluations in the database."""

import argparse
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from db.storage.rows import EvaluationKey
    from evaluator.engine.problem_loader import ProblemReader
    from evaluator.job import Job
    from evaluator.machine.devices import Device
    from evaluator.problem.problem import ProblemFacts
    from evaluator.submission.model import Submission


class JobMaker:
    """Makes the jobs of one set of options, for devices of one model. Its methods may be called from several threads."""

    def __init__(self, options: argparse.Namespace, device: "Device", problems: "ProblemReader") -> None:
        self._options, self._device, self._problems = options, device, problems
        self._reading = threading.Lock()

    def problem(self, name: str) -> "ProblemFacts":
        """Raises ProblemError."""
        with self._reading:
            return self._problems.get(name)

    def case(self, problem: str) -> str:
        """Return the case in which a problem is judged. Raises ProblemError."""
        case: str | None = self._options.case
        return case or self.problem(problem).default_case(self._device.kind)

    def check(self, problem: str) -> None:
        """Raises ProblemError if the problem can't be loaded in its case."""
        case = self.case(problem)
        with self._reading:
            self._problems.check(problem, case)

    def key(self, submission: "Submission") -> "EvaluationKey":
        """Return the evaluation's key in the database. Raises ProblemError."""
        from db.storage.rows import EvaluationKey
        from evaluator.results.protocol_names import alternative

        name = submission.problem
        problem = self.problem(name) if name and not submission.rejection else None
        return EvaluationKey(
            submission=submission.name,
            block=submission.block,
            source_sha256=submission.source_sha256,
            problem_sha256=problem.sha256 if problem else None,
            case=self.case(name) if problem and name else None,
            device_name=self._device.name if problem else "",
            precision=problem.precision if problem else None,
            protocol=alternative(self._options.protocol) if problem else None,
        )

    def job(self, submission: "Submission") -> "Job":
        """Return the job of a submission that is not rejected. Raises ProblemError."""
        from evaluator.job import JobOptions, make_job

        assert submission.problem is not None
        options = JobOptions(
            timeout_s=self._options.timeout,
            precision=self._options.dtype,
            shapes="strict" if self._options.strict_shapes else "own" if self._options.own_shapes else "others",
            strict_inputs=self._options.strict_inputs,
            protocol=self._options.protocol,
            baselines=self._options.baseline,
            profile=self._options.profile,
        )
        return make_job(submission, self.problem(submission.problem), self.case(submission.problem), options)
