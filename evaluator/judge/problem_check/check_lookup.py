"""Whether a problem accepts an answer that takes no work, so that a right one says nothing of a submission.

The shipped problems have been checked. Of any other, the check that `python -m reference check` made for the same text, case, device and
precision is looked up in the cache folder; on a GPU it is made where there is none, once, under the device's lock.
"""

import logging
from contextlib import suppress

import torch

from evaluator.build.cache import default_root
from evaluator.judge.problem_check.check import ProblemCheck, check_case
from evaluator.machine.devices import Device
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.check_cache import Admissions, Kept, Subject
from evaluator.problem.problem import Problem, ProblemCase

EFFORTLESS = ("zeros", "ones", "mean", "copy of an input", "previous output")
"""Trivial answers that need no computation. Others, such as half precision, are short cuts that a tolerance is too wide for."""

log = logging.getLogger(__name__)


def keep(problem: Problem, device: Device, admission: ProblemCheck) -> Kept:
    """What a check came to, kept in the cache folder as far as that can be written."""
    subject = Subject(problem.sha256, admission.case, device.name, admission.precision)
    trivial = tuple(dict.fromkeys(finding.answer for finding in admission.findings if finding.answer))
    kept = Kept(subject, admission.admitted, trivial, tuple(finding.message for finding in admission.findings))
    with suppress(OSError):
        Admissions(default_root()).keep(kept)
    return kept


def effortless_answers(case: ProblemCase, device: Device) -> tuple[str, ...]:
    """Names of the effortless answers that the problem accepts in this case, as far as that is known."""
    problem = case.problem
    if problem.path.parent == SHIPPED:
        return ()
    kept = Admissions(default_root()).of(Subject(problem.sha256, case.name, device.name, case.dtype_name))
    if kept is None and device.kind == "cuda":
        try:
            kept = keep(problem, device, check_case(case, torch.device(device.torch_device)))
        except (torch.OutOfMemoryError, MemoryError) as error:
            log.warning("too little memory to check %s: %s", problem.name, error)
    return tuple(name for name in kept.trivial if name in EFFORTLESS) if kept else ()
