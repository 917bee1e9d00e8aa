"""One submission judged once: from a job to a result."""

import time

from evaluator.diagnosis import Verdict
from evaluator.job import Job, result_of
from evaluator.judge.context import JudgeContext, ReportStage
from evaluator.judge.stages import Stages
from evaluator.judge.timing.speedup import speedup_of
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence
from evaluator.results.protocol_names import alternative
from evaluator.results.result import Result, now


def evaluate(context: JudgeContext, job: Job, report: ReportStage) -> Result:
    """Judge one submission; whatever goes wrong becomes the result. `report` is called with each stage."""
    started_at, start = now(), time.monotonic()
    case_name, problem_sha256, precision, protocol = job.case, None, None, None
    evidence = Evidence(sandbox=context.zygote.level)
    try:
        problem = load(job.problem_path).in_precision(job.precision)
        case_name, problem_sha256 = job.case or problem.default_case(context.device.kind), problem.sha256
        precision, protocol = problem.precision, alternative(job.protocol)
        stages = Stages(context, job, problem, problem.instance(case_name), report)
        try:
            verdict = stages.run()
        finally:
            stages.close()
        evidence = stages.evidence
        if evidence.timing is not None:
            protocol = alternative(evidence.timing.protocol)
    except ProblemError as error:
        verdict = Verdict(Category.INFRASTRUCTURE_ERROR, str(error))
    timing = evidence.timing if verdict.category.status is Status.CORRECT else None
    runtime_ms, baseline_ms = (timing.runtime_ms, timing.baseline_ms) if timing else (None, None)
    return result_of(
        job,
        verdict.category,
        verdict.message,
        case=case_name,
        precision=precision,
        protocol=protocol,
        device=context.device.spec,
        runtime_ms=runtime_ms,
        baseline_ms=baseline_ms,
        speedup=speedup_of(runtime_ms, baseline_ms),
        problem_sha256=problem_sha256,
        started_at=started_at,
        duration_s=round(time.monotonic() - start, 3),
        evidence=evidence,
        environment=context.environment,
    )
