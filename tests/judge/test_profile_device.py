"""ncu itself over shipped submissions: plausible figures, within the time limits, and kept for the reference."""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.profiler import runs as profile_runs
from evaluator.results.category import Status
from evaluator.results.evidence import KernelProfile, ProfiledSide, ProfileEvidence
from evaluator.results.result import Result
from evaluator.sandbox import Level
from tests.command_line import PROJECT
from tests.judge.conftest import gpu_context_at, make_job

pytestmark = pytest.mark.gpu

LEVELS = (Level.NAMESPACES, Level.LANDLOCK)
RUN_WITHIN_S = 500
MOST_PASSES = 12
"""Ten on an H200."""


@dataclass(frozen=True)
class Profiled:
    """One evaluation, with the profile of it, and the seconds that each profile of a side took."""

    result: Result
    took_s: float

    @property
    def profile(self) -> ProfileEvidence:
        assert self.result.evidence.profile is not None
        return self.result.evidence.profile

    def side(self, name: str) -> ProfiledSide:
        side: ProfiledSide | None = getattr(self.profile, name)
        assert side is not None, self.profile
        return side


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all levels, so that each kernel is compiled once, and each reference profiled once."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("ASSAY_CACHE")
    os.environ["ASSAY_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["ASSAY_CACHE"]
    else:
        os.environ["ASSAY_CACHE"] = before


@pytest.fixture(scope="module", params=LEVELS)
def level_context(request: pytest.FixtureRequest, cache: Path) -> Iterator[JudgeContext]:
    with gpu_context_at(request.param, cache) as context:
        yield context


def judged(context: JudgeContext, submission: str, case: str) -> Profiled:
    """A shipped submission, judged with a profile; with ncu's own words in the log of a test that fails."""
    logging.getLogger("evaluator.profiler.runs").setLevel(logging.DEBUG)
    problem = submission.split("/", maxsplit=1)[0]
    code = (PROJECT / "submissions" / submission).read_text(encoding="utf-8")
    begun: list[float] = []
    job = replace(make_job(code, problem, name=submission), case=case, profile=True)
    result = evaluate(context, job, lambda _: None, lambda _: begun.append(time.monotonic()))
    assert result.status is Status.CORRECT, result.message
    return Profiled(result, time.monotonic() - begun[0])


def check(side: ProfiledSide) -> None:
    """What holds of each profile: shares are shares, and the run kept to its limits."""
    assert side.outcome == "ended", side
    assert side.kernels and side.passes is not None and side.passes <= MOST_PASSES, side
    limit_s = profile_runs.START_S + profile_runs.SIDE_S + profile_runs.ProfileRun.grace_s
    assert side.duration_s < limit_s, side
    for kernel in side.kernels:
        assert kernel.duration_ms is not None and 0.0005 < kernel.duration_ms < 1000, kernel
        assert kernel.grid and kernel.block and kernel.registers and kernel.instructions, kernel
        shares = (kernel.memory_share, kernel.arithmetic_share, kernel.occupancy, kernel.occupancy_limit, kernel.issue_share)
        assert all(share is not None and 0 <= share <= 1 for share in shares), kernel
        assert kernel.occupancy is not None and kernel.occupancy_limit is not None
        assert 0 < kernel.occupancy <= kernel.occupancy_limit + 0.02, kernel


def by_time(side: ProfiledSide) -> KernelProfile:
    return max(side.kernels, key=lambda kernel: kernel.duration_ms or 0.0)


def test_a_large_elementwise_kernel_moves_what_the_problem_needs(level_context: JudgeContext) -> None:
    found = judged(level_context, "gelu_tanh/vectorized.py", "full")
    assert (found.profile.case, found.profile.remark) == ("full", "")
    submission, reference = found.side("submission"), found.side("reference")
    check(submission)
    check(reference)
    assert all(kernel.own for kernel in submission.kernels) and not any(kernel.own for kernel in reference.kernels)
    kernel, light = by_time(submission), found.profile.light
    assert light is not None and light == found.result.evidence.light
    # Read and written once: 256 MiB each way, of which the L2 cache may hold back what was written last.
    assert submission.read_bytes is not None and 0.9 < submission.read_bytes / light.read_bytes < 1.3
    assert kernel.written_bytes is not None and 0.6 < kernel.written_bytes / light.written_bytes < 1.3
    assert kernel.memory_share is not None and kernel.memory_share > 0.5
    assert kernel.stalls and 0 < kernel.stalls[0].share <= 1
    assert found.result.runtime_ms is not None and submission.duration_ms is not None
    assert 0.5 < submission.duration_ms / found.result.runtime_ms < 2.0
    assert found.took_s < 120


def test_a_problem_of_gigabytes_is_profiled_in_its_small_case(level_context: JudgeContext) -> None:
    found = judged(level_context, "softmax/three_pass.py", "full")
    assert found.profile.case == "small" and "full has 13 GB of tensors" in found.profile.remark
    check(found.side("submission"))
    check(found.side("reference"))
    assert found.profile.light is not None and found.profile.light.read_bytes == 17 * 1021 * 4
    assert found.took_s < 120


def test_triton_kernels_are_profiled_too(level_context: JudgeContext) -> None:
    found = judged(level_context, "softmax/triton_two_pass.py", "small")
    check(found.side("submission"))
    assert all(kernel.own for kernel in found.side("submission").kernels)


def test_it_is_in_the_record_the_database_and_the_feedback(tmp_path: Path, cache: Path) -> None:
    given = [str(PROJECT / "submissions/gelu_tanh/vectorized.py"), "--db", "sqlite:///found.db", "--json", "out.jsonl", "--profile"]
    done = subprocess.run(
        [sys.executable, str(PROJECT / "pipeline.py"), *given],
        cwd=tmp_path,
        env={**os.environ, "ASSAY_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert record["status"] == "correct" and "profile" in record["feedback"], record["feedback"]
    show = [sys.executable, "-m", "db", "--db", f"sqlite:///{tmp_path}/found.db", "show", str(record["id"])]
    shown = subprocess.run([*show, "--json"], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout)["evidence"]["profile"]["submission"]["outcome"] == "ended"
    text = subprocess.run(show, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert "Profile by Nsight Compute" in text, text
