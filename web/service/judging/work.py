"""What a claimed request asks for, and its result where it can't be judged."""

import hashlib

from db.queue.requests import Claim
from evaluator.engine.jobs import Wishes
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.result import Result, now
from web.service.models import Options

PREFIX = "service/"


def name_of(claim: Claim) -> str:
    """What the submission of a request is called in the database."""
    return f"{PREFIX}{claim.public_id}"


def wishes(options: Options) -> Wishes:
    """How it is to be judged."""
    return Wishes(
        timeout_s=options.timeout_s,
        precision=options.precision,
        shapes=options.shapes,
        protocol=options.protocol,
        baselines=tuple(dict.fromkeys(["eager", *options.baselines])),
    )


def failed(claim: Claim, source: str, why: str) -> Result:
    """The result where there is no verdict, on our account."""
    category = Category.INFRASTRUCTURE_ERROR
    return Result(
        submission=name_of(claim),
        author=claim.author,
        sample_id=claim.sample_id,
        problem=claim.problem,
        status=category.status,
        category=category,
        message=why,
        hint=CATEGORIES[category].hint,
        source_sha256=hashlib.sha256(source.encode("utf-8", "backslashreplace")).hexdigest(),
        started_at=now(),
        duration_s=0.0,
    )
