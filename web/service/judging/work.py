"""The options and names of a claimed request, and its result if it can't be judged."""

import hashlib

from db.queue.requests import Claim
from evaluator.job import JobOptions
from evaluator.results.category import Category
from evaluator.results.protocol_names import UNTIMED
from evaluator.results.result import Result
from web.service.models import Options

PREFIX = "service/"


def name_of(claim: Claim) -> str:
    """Name of a request's submission while it is judged."""
    return f"{PREFIX}{claim.public_id}"


def stored_name(claim: Claim) -> str:
    """Name of a request's submission in the database.

    `/` in an author's name is quoted, so that submissions of two authors never have the same name.
    """
    author = claim.author.replace("%", "%25").replace("/", "%2F")
    return name_of(claim) if claim.name is None else f"{PREFIX}{author}/{claim.name}"


def job_options(options: Options) -> JobOptions:
    """The options of its job."""
    return JobOptions(
        timeout_s=options.timeout_s,
        precision=options.precision,
        shapes=options.shapes,
        strict_inputs=options.strict_inputs,
        protocol=options.protocol if options.timing else UNTIMED,
        baselines=tuple(dict.fromkeys(["eager", *options.baselines])),
        profile=options.profile,
    )


def failed(claim: Claim, source: str, why: str) -> Result:
    """The result of a request that could not be judged, by the machine's fault."""
    return Result.of_category(
        Category.INFRASTRUCTURE_ERROR,
        why,
        submission=name_of(claim),
        author=claim.author,
        sample_id=claim.sample_id,
        problem=claim.problem,
        source_sha256=hashlib.sha256(source.encode("utf-8", "backslashreplace")).hexdigest(),
    )
