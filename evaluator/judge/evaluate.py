"""One submission judged once: from a job to a result."""

import time

from evaluator.diagnosis import Verdict
from evaluator.judge.context import Job, JudgeContext, Report
from evaluator.judge.stages import Stages
from evaluator.judge.timing.protocols import alternative
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result, now


def evaluate(bench: JudgeContext, job: Job, report: Report) -> Result:
    """Judge one submission; whatever goes wrong becomes the result. `report` is told of each stage."""
    started_at, start = now(), time.monotonic()
    case_name, problem_sha256, precision, protocol = job.case, None, None, None
    evidence = Evidence(sandbox=bench.zygote.level)
    try:
        problem = load(job.problem_path).in_precision(job.precision)
        case_name, problem_sha256 = job.case or problem.default_case(bench.device.kind), problem.sha256
        precision, protocol = problem.precision, alternative(job.protocol)
        attempt = Stages(bench, job, problem, problem.instance(case_name), report)
        try:
            verdict = attempt.run()
        finally:
            attempt.close()
        evidence = attempt.evidence
        if evidence.timing is not None:
            protocol = alternative(evidence.timing.protocol)
    except ProblemError as error:
        verdict = Verdict(Category.INFRASTRUCTURE_ERROR, str(error))
    timing = evidence.timing if verdict.category.status is Status.CORRECT else None
    runtime_ms, baseline_ms = (timing.runtime_ms, timing.baseline_ms) if timing else (None, None)
    return Result(
        submission=job.submission,
        block=job.block,
        author=job.author,
        sample_id=job.sample_id,
        problem=job.problem,
        case=case_name,
        precision=precision,
        protocol=protocol,
        device=bench.device.spec,
        status=verdict.category.status,
        category=verdict.category,
        message=verdict.message,
        hint=verdict.hint,
        runtime_ms=runtime_ms,
        baseline_ms=baseline_ms,
        speedup=baseline_ms / runtime_ms if baseline_ms and runtime_ms else None,
        source_sha256=job.source_sha256,
        problem_sha256=problem_sha256,
        started_at=started_at,
        duration_s=round(time.monotonic() - start, 3),
        evidence=evidence,
        environment=bench.environment,
    )
