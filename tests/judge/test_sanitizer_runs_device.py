"""compute-sanitizer itself: each mistake of the corpus is found at its line, at every level, and nothing where there is none."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.nvidia_tools.tool_run import ToolSetting
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.evidence import SanitizerFinding, SanitizerRun
from evaluator.sandbox import Level
from evaluator.sanitizer import runs as sanitizer_runs
from evaluator.sanitizer.tools import Sanitizer, Tool, Wish, command, find
from tests.command_line import PROJECT
from tests.corpus import corpus, write
from tests.judge.conftest import gpu_context_at, make_job

pytestmark = pytest.mark.gpu

MISTAKES = corpus(PROJECT / "tests/sanitizer/corpus")
LEVELS = (Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK)
CLEAN = "softmax/three_pass.py"
"""Reductions over shared memory, with their barriers."""
RUN_WITHIN_S = 800


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all levels, so that each kernel is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def sanitizer() -> Sanitizer:
    return find(Wish(tuple(Tool)))


@pytest.fixture(scope="module", params=LEVELS)
def level_context(request: pytest.FixtureRequest, cache: Path) -> Iterator[JudgeContext]:
    with gpu_context_at(request.param, cache) as context:
        yield context


def watched(
    context: JudgeContext, sanitizer: Sanitizer, tool: Tool, code: str, problem: str
) -> tuple[SanitizerRun, tuple[SanitizerFinding, ...]]:
    """What a tool says of a submission; with the tool's own words in the log of a test that fails."""
    logging.getLogger("evaluator.sanitizer.runs").setLevel(logging.DEBUG)
    environment = {"CUDA_VISIBLE_DEVICES": context.device.visible}
    lock = DeviceLock(context.device.unique_id)
    setting = ToolSetting(context, "sanitize", lock, environment, context.readonly, report=lambda _: None)
    plan = sanitizer_runs.SanitizerRuns(setting, make_job(code, problem), load(SHIPPED / f"{problem}.py"), case_name="small")
    try:
        case = plan.problem.instance("small")
        return plan.run_tool(command(sanitizer, tool), tool, case, sanitizer_runs.TOOL_S, sanitizer.readonly_paths)
    finally:
        lock.close()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_at_its_line(level_context: JudgeContext, sanitizer: Sanitizer, name: str) -> None:
    mistake = MISTAKES[name]
    header = {key: value for key, (value,) in mistake.header.items()}
    ended, found = watched(level_context, sanitizer, Tool(header["tool"]), mistake.data.decode(), header["problem"])
    assert ended.outcome == "ended" and ended.reports, ended
    named = [finding for finding in found if header["finds"] in finding.message]
    assert named, found
    first = named[0]
    assert first.own and header["kernel"] in first.kernel, first
    assert {first.source_line, *(other.source_line for other in first.others)} >= set(mistake.lines), first


@pytest.mark.parametrize("tool", Tool)
def test_nothing_is_found_where_there_is_nothing(level_context: JudgeContext, sanitizer: Sanitizer, tool: Tool) -> None:
    if tool is not Tool.MEMCHECK and level_context.zygote.level is not Level.NAMESPACES:
        pytest.skip("once is enough for each tool; that it runs at this level is shown by the mistakes")
    code = (PROJECT / "submissions" / CLEAN).read_text(encoding="utf-8")
    ended, found = watched(level_context, sanitizer, tool, code, "softmax")
    assert (ended.outcome, ended.reports, ended.remark, found) == ("ended", 0, "", ())


def test_auto_is_for_what_is_wrong_and_leaves_every_verdict(tmp_path: Path, cache: Path) -> None:
    right = PROJECT / "submissions/leaky_relu/scalar.py"
    write([MISTAKES["past_the_end"]], tmp_path)
    given = ["submissions/past_the_end.py", str(right), "--problem", "leaky_relu", "--case", "small", "--db", "sqlite:///found.db"]
    done = subprocess.run(
        [sys.executable, str(PROJECT / "pipeline.py"), *given, "--json", "out.jsonl", "--sanitize", "auto"],
        cwd=tmp_path,
        env={**os.environ, "ASSAY_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    by_name = {Path(record["submission"]).name: record for record in records}
    wrong = by_name["past_the_end.py"]
    assert wrong["status"] == "incorrect" and by_name["scalar.py"]["status"] == "correct"
    assert "compute-sanitizer" not in by_name["scalar.py"]["feedback"]
    line = MISTAKES["past_the_end"].lines[0]
    assert f"memcheck: Invalid __global__ write of size 4 bytes in `shifted`, line {line} [" in wrong["feedback"], wrong["feedback"]
    shown = subprocess.run(
        [sys.executable, "-m", "db", "--db", f"sqlite:///{tmp_path}/found.db", "show", str(wrong["id"]), "--json"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    evidence = json.loads(shown.stdout)["evidence"]["sanitizer"]
    assert [run["tool"] for run in evidence["runs"]] == [tool.value for tool in Tool]
    assert any(finding["source_line"] == line and finding["own"] for finding in evidence["findings"]), evidence
