"""Judges one submission once: from a job to a result."""

import time
from collections.abc import Callable
from typing import Any

from evaluator.chance import chance
from evaluator.diagnosis import Verdict
from evaluator.job import Job, result_of
from evaluator.judge.context import JudgeContext, ReportStage, Task
from evaluator.judge.procedure import Procedure
from evaluator.judge.timing.statistics.speedup import speedup_of
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, ProfileEvidence
from evaluator.results.protocol_names import alternative
from evaluator.results.result import ALL_CASES, Result, now
from evaluator.results.score import overall_ms


def evaluate(context: JudgeContext, job: Job, report: ReportStage, settle: Callable[[Result], None] = lambda _: None) -> Result:
    """Judge one submission. Every failure becomes a result. `report` is called with each stage. `settle` is called with the result when
    only a profile is still to be added."""
    started_at, start = now(), time.monotonic()
    chance.begin(job.source_sha256)
    named: dict[str, Any] = {"case": job.case, "problem_sha256": None, "precision": None, "protocol": None}

    def made(verdict: Verdict, evidence: Evidence) -> Result:
        timing = evidence.timing if verdict.category.status is Status.CORRECT else None
        runtime_ms, baseline_ms = overall_ms(timing) if timing else (None, None)
        protocol = {"protocol": alternative(evidence.timing.protocol)} if evidence.timing is not None else {}
        return result_of(
            job,
            verdict.category,
            verdict.message,
            hint=verdict.hint,
            **named | protocol,
            device=context.device.spec,
            runtime_ms=runtime_ms,
            baseline_ms=baseline_ms,
            speedup=speedup_of(runtime_ms, baseline_ms),
            started_at=started_at,
            duration_s=round(time.monotonic() - start, 3),
            evidence=evidence,
            environment=context.environment,
        )

    evidence = Evidence(sandbox=context.zygote.level)
    try:
        problem = load(job.problem_path).in_precision(job.precision)
        named |= {"case": job.case or problem.default_case(context.device.kind), "problem_sha256": problem.sha256}
        named |= {"precision": problem.precision, "protocol": alternative(job.protocol)}
        workloads = problem.workloads() if named["case"] == ALL_CASES else ()
        procedure = Procedure(Task(context, job, problem, problem.instance(named["case"]), report, workloads))
        try:
            verdict = procedure.run()
            if procedure.profile_is_due:
                unprofiled = {"profile": ProfileEvidence(remark="it was interrupted")}
                settle(made(verdict, procedure.evidence.model_copy(update=unprofiled)))
                procedure.profile()
        finally:
            procedure.close()
        evidence = procedure.evidence
    except ProblemError as error:
        verdict = Verdict(Category.PROBLEM_ERROR, str(error))
    return made(verdict, evidence)
