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
    from evaluator.results.result import Result
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
        """Raises OptionError if an option asks for what the problem does not have."""
        from evaluator.problem.execute import OptionError, ProblemError

        try:
            case = self.case(problem)
            with self._reading:
                self._problems.check(problem, case)
        except OptionError:
            raise
        except ProblemError:
            return  # its submissions' results tell

    def source(self, problem: str | None) -> str | None:
        """The text of a problem's file; None for no problem, and if the file is at fault."""
        from evaluator.problem.execute import ProblemError

        try:
            return self.problem(problem).source if problem else None
        except ProblemError:
            return None

    def unjudged(self, submission: "Submission") -> "Result | None":
        """The result of a submission that no judge is asked about: it is rejected, or its problem's file is at fault. Else None.

        Raises OptionError.
        """
        from evaluator.job import rejected, with_bad_problem
        from evaluator.problem.execute import OptionError, ProblemError

        if submission.rejection is not None or submission.problem is None:
            return rejected(submission)
        try:
            self.problem(submission.problem)
        except OptionError:
            raise
        except ProblemError as error:
            return with_bad_problem(submission, str(error), self._device.spec)
        return None

    def key(self, submission: "Submission") -> "EvaluationKey":
        """Return the evaluation's key in the database."""
        from db.storage.rows import EvaluationKey
        from evaluator.results.protocol_names import alternative

        unjudged = self.unjudged(submission)
        if unjudged is not None:
            return EvaluationKey.of(unjudged)
        assert submission.problem is not None
        problem = self.problem(submission.problem)
        return EvaluationKey(
            submission=submission.name,
            block=submission.block,
            source_sha256=submission.source_sha256,
            problem_sha256=problem.sha256,
            case=self.case(submission.problem),
            device_name=self._device.name,
            precision=problem.precision,
            protocol=alternative(self._protocol),
        )

    @property
    def _protocol(self) -> str | None:
        from evaluator.results.protocol_names import UNTIMED

        protocol: str | None = self._options.protocol
        return protocol if self._options.timing else UNTIMED

    def job(self, submission: "Submission") -> "Job":
        """Return the job of a submission that is not rejected. Raises ProblemError."""
        from evaluator.job import JobOptions, make_job

        assert submission.problem is not None
        options = JobOptions(
            timeout_s=self._options.timeout,
            precision=self._options.dtype,
            shapes="strict" if self._options.strict_shapes else "own" if self._options.own_shapes else "others",
            strict_inputs=self._options.strict_inputs,
            protocol=self._protocol,
            baselines=self._options.baseline,
            profile=self._options.profile,
        )
        return make_job(submission, self.problem(submission.problem), self.case(submission.problem), options)
