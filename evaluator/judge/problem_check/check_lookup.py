"""Finds out whether a problem accepts an answer that takes no work. Then a right answer means nothing.

The shipped problems have been checked. For any other problem the judge looks up the check that `python -m reference check` made for the
same text, case, device and precision. Without one, it tries the effortless answers on a GPU, once, under the device's lock.
"""

import logging
from dataclasses import replace

import torch

from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.problem_check.check import trivial_answers_to
from evaluator.judge.problem_check.check_result import ProblemCheck
from evaluator.machine.devices import Device
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.kept_figures import CheckedCase, KeptCheck, check_of, keep_check
from evaluator.problem.problem import Problem, ProblemCase

EFFORTLESS = ("zeros", "ones", "mean", "copy of an input", "previous output")
"""Trivial answers that need no computation. The others, such as half precision, are shortcuts that too wide a tolerance accepts."""

log = logging.getLogger(__name__)


def keep(problem: Problem, device: Device, result: ProblemCheck) -> KeptCheck:
    """Store the result of a check in the cache folder, if that is writable."""
    subject = CheckedCase(problem.sha256, result.case, device.name, result.precision)
    trivial = tuple(dict.fromkeys(finding.answer for finding in result.findings if finding.answer))
    kept = KeptCheck(subject, result.admitted, trivial, tuple(finding.message for finding in result.findings))
    keep_check(kept)
    return kept


def effortless_answers(case: ProblemCase, device: Device, oracle: Oracle) -> tuple[str, ...]:
    """Names of the effortless answers that the problem is known to accept in this case. `oracle` is the case's."""
    problem = case.problem
    if problem.path.parent == SHIPPED:
        return ()
    subject = CheckedCase(problem.sha256, case.name, device.name, case.dtype_name)
    effortless = replace(subject, scope="effortless")
    kept = check_of(subject) or check_of(effortless)
    if kept is None and device.kind == "cuda":
        try:
            trivial = trivial_answers_to(case, oracle, torch.device(device.torch_device), EFFORTLESS)
        except (torch.OutOfMemoryError, MemoryError) as error:
            log.warning("too little memory to check %s: %s", problem.name, error)
            return ()
        kept = KeptCheck(effortless, not trivial, trivial, ())
        keep_check(kept)
    return tuple(name for name in kept.trivial if name in EFFORTLESS) if kept else ()
