"""Workers under compute-sanitizer, at every level. A stand-in program plays a tool that is late or writes too much."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.request import BuildRequest, SourceFile
from evaluator.diagnosis import Verdict
from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.nvidia_tools.tool_run import ToolRun, ToolSetting
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.evidence import SanitizerFinding, SanitizerRun
from evaluator.sandbox import Limits
from evaluator.sanitizer.runs import LINE_FLAG, LineBuilds, SanitizerRuns, is_wanted, with_lines
from evaluator.sanitizer.tools import Sanitizer, Tool, Wish
from tests.diagnosis.evidence import launch
from tests.judge.conftest import Judge, make_job
from tests.judge.sources import SOFTMAX, copied

cold = pytest.mark.slow(40)
"""For tests that start Python and PyTorch anew, under a tool."""
HEAD = "import os, socket, time\nimport torch\nclass ModelNew(torch.nn.Module):\n    calls = 0\n    def forward(self, x):\n"
RIGHT = HEAD + "        return torch.softmax(x, 1)\n"
SECOND_CALL = HEAD + "        self.calls += 1\n        assert self.calls < 2, f'call {self.calls} of {tuple(x.shape)}'\n        return x\n"
ENDLESS = HEAD + "        time.sleep(600)\n"


def plan(context: JudgeContext, code: str, first_line: int = 1) -> SanitizerRuns:
    setting = ToolSetting(context, "sanitize", DeviceLock(context.device.unique_id), {}, context.readonly, report=lambda _: None)
    return SanitizerRuns(setting, replace(make_job(code), first_line=first_line), load(SHIPPED / "softmax.py"), case_name="full")


@pytest.fixture
def tool_run(context: JudgeContext) -> Iterator[ToolRun]:
    made = plan(context, SECOND_CALL)
    yield made.tool_run(made.problem.instance("small"), 120.0, LineBuilds(context.builder))
    made.setting.lock.close()


def run(
    context: JudgeContext, code: str, words: tuple[str, ...], limit_s: float = 120.0
) -> tuple[SanitizerRun, tuple[SanitizerFinding, ...]]:
    made = plan(context, code)
    try:
        return made.run_tool(words, Tool.MEMCHECK, made.problem.instance("small"), limit_s, words[-1:])
    finally:
        made.setting.lock.close()


def stand_in(open_folder: Path, script: str) -> tuple[str, ...]:
    """A program in place of compute-sanitizer: the words after its name are what it is to run, the log is descriptor 4."""
    path = open_folder / "stand_in"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return (str(path),)


REPORT = r"""printf '========= Invalid __global__ write of size 4 bytes\n=========     at k()+0x10\n=========\n' > /proc/self/fd/4"""
SUMMARY = r"""printf '========= ERROR SUMMARY: 1 error\n' >> /proc/self/fd/4"""


@cold
def test_a_cold_worker_answers_both_calls_and_what_the_tool_writes_is_read_at_every_level(
    level_context: JudgeContext, open_folder: Path
) -> None:
    ended, (finding,) = run(level_context, SECOND_CALL, stand_in(open_folder, f'{REPORT}\n"$@"; code=$?\n{SUMMARY}\nexit $code'))
    assert (ended.outcome, ended.reports, ended.remark) == ("ended", 1, "AssertionError: call 2 of (17, 1021)")
    assert (finding.kernel, finding.own) == ("k()", False)


@cold
def test_a_build_is_served_and_remembered(context: JudgeContext) -> None:
    made = plan(context, copied(SOFTMAX))
    builds = LineBuilds(context.builder)
    tool_run = made.tool_run(made.problem.instance("small"), 120.0, builds)
    tool_run.run((), ())
    assert (tool_run.outcome, tool_run.remark) == ("ended", "")
    assert len(builds.requests) == 1 and tool_run.built_s > 0
    made.setting.lock.close()


@cold
def test_a_call_that_does_not_end_is_ended_in_time_for_the_tool_to_say_what_it_saw(context: JudgeContext, open_folder: Path) -> None:
    ended, found = run(context, ENDLESS, stand_in(open_folder, f'{REPORT}\n"$@"\n{SUMMARY}'), limit_s=60.0)
    assert (ended.outcome, ended.reports, len(found)) == ("deadline", 1, 1)
    assert "60 s" in ended.remark


@cold
def test_a_tool_that_never_starts_its_child_is_killed(context: JudgeContext, open_folder: Path) -> None:
    ended, found = run(context, RIGHT, stand_in(open_folder, f"{REPORT}\nsleep 600"), limit_s=8.0)
    assert (ended.outcome, len(found)) == ("deadline", 1)


@cold
def test_a_tool_that_does_not_end_after_its_child_is_killed(
    context: JudgeContext, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolRun, "grace_s", 1.0)
    ended, found = run(context, RIGHT, stand_in(open_folder, f'{REPORT}\n"$@"\nsleep 600'))
    assert (ended.outcome, len(found)) == ("failed", 1)


@cold
@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "head -c 8000000 /dev/urandom > /proc/self/fd/4",
        r"""yes '========= Invalid' | head -c 8000000 > /proc/self/fd/4""",
        r"""printf '\377\376\000========= ERROR SUMMARY: 99999999999999999999999 errors\n' > /proc/self/fd/4""",
        "echo not a frame >&3; sleep 600",
    ],
)
def test_a_tool_that_writes_anything_else_comes_to_nothing(context: JudgeContext, open_folder: Path, script: str) -> None:
    ended, found = run(context, RIGHT, stand_in(open_folder, script), limit_s=10.0)
    assert ended.outcome in ("failed", "deadline") or ended.reports is not None
    assert len(found) <= 20 and len(ended.remark) <= 400


def test_a_missing_program_says_so(context: JudgeContext) -> None:
    ended, found = run(context, RIGHT, ("/usr/bin/env", "no-such-tool"))
    assert (ended.outcome, found) == ("failed", ())
    assert "no-such-tool" in ended.remark


def test_the_log_is_read_up_to_a_limit(tool_run: ToolRun, open_folder: Path) -> None:
    words = stand_in(open_folder, "head -c 9000000 /dev/zero | tr '\\0' x > /proc/self/fd/4")
    assert len(tool_run.run(words, words)) == 4 << 20


@cold
def test_memory_is_limited_as_everywhere(context: JudgeContext, open_folder: Path) -> None:
    code = HEAD + "        self.kept = torch.ones(1 << 30)\n        return x\n"
    small = replace(context, limits=Limits(memory_bytes=2 << 30))
    ended, _ = run(small, code, stand_in(open_folder, '"$@"'))
    assert ended.outcome == "failed"


@cold
def test_all_tools_share_one_budget(context: JudgeContext, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.sanitizer.runs.BUDGET_S", 16.0)
    monkeypatch.setattr("evaluator.sanitizer.runs.TOOL_S", 4.0)
    made = plan(context, ENDLESS)
    evidence = made.run(Sanitizer(stand_in(open_folder, "sleep 600")[0], "1", Wish(tuple(Tool))))
    assert [item.outcome for item in evidence.runs] == ["deadline"] * 4
    assert evidence.runs[0].duration_s >= 4 and evidence.runs[-1].duration_s == 0
    assert evidence.case == "small" and "used all the time" in evidence.runs[-1].remark
    made.setting.lock.close()


@cold
def test_an_evaluation_keeps_its_verdict_and_what_was_found(
    judge: Judge, context: JudgeContext, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.sanitizer.runs.is_wanted", lambda *_: True)  # on the CPU no kernel is seen to be launched
    program = stand_in(open_folder, f'while [ "$1" != no ]; do shift; done; {REPORT}; {SUMMARY}')[0]
    watching = replace(context, sanitizer=Sanitizer(program, "1", Wish((Tool.RACECHECK,))))
    zeros = HEAD + "        return torch.zeros_like(x)\n"
    result, plain = judge(zeros, context=watching), judge(zeros)
    assert (result.status, result.category) == (plain.status, plain.category)
    assert plain.evidence.sanitizer is None and result.evidence.sanitizer is not None
    assert [finding.kernel for finding in result.evidence.sanitizer.findings] == ["k()"]
    assert result.evidence.stages_s["sanitize"] > 0


@pytest.mark.parametrize(
    ("category", "auto", "always"),
    [
        (Category.OK, False, True),
        (Category.WRONG_VALUES, True, True),
        (Category.ILLEGAL_MEMORY_ACCESS, True, True),
        (Category.PROCESS_CRASH, True, True),
        (Category.TIMEOUT, True, True),
        (Category.PYTHON_EXCEPTION, False, True),
        (Category.OVERSIZED_BLOCK, False, False),
        (Category.CUDA_COMPILE_ERROR, False, False),
        (Category.INFRASTRUCTURE_ERROR, False, False),
    ],
)
def test_what_is_sanitized(category: Category, auto: bool, always: bool) -> None:
    verdict = Verdict(category, "")
    assert is_wanted(Wish(tuple(Tool), only_faulty=True), verdict, [launch()]) is auto
    assert is_wanted(Wish(tuple(Tool)), verdict, [launch()]) is always
    assert not is_wanted(Wish(tuple(Tool)), verdict, [launch(own=False)])


def test_kernels_are_built_with_their_lines_and_nothing_else_is_changed() -> None:
    cuda = SourceFile(name="cuda.cu", text="")
    request = BuildRequest(name="e", sources=(cuda,), extra_cuda_cflags=("-O2",))
    assert with_lines(request).extra_cuda_cflags == ("-O2", LINE_FLAG)
    assert with_lines(with_lines(request)) == with_lines(request)
    plain = BuildRequest(name="e", sources=(SourceFile(name="main.cpp", text=""),))
    assert with_lines(plain) == plain
    debug = request.model_copy(update={"extra_cuda_cflags": ("-G",)})
    assert with_lines(debug) == debug
