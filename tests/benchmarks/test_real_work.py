"""The benchmark of real work: what is read off results, samples and locks, and a run from end to end."""

import fcntl
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.device_watch import held_count
from benchmarks.pipeline_run import PipelineRun
from benchmarks.real_work import main
from benchmarks.real_work_report import percentile, report, tables
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from tests.command_line import PROBLEM, submission
from tests.db.samples import result

pytestmark = pytest.mark.nightly

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
FREE_STAGES = ("start", "queue", "build", "wait")
"""Stages without the device."""
BEGIN_S = BEGIN.timestamp()
EXPECTED = {
    "fast.py": ["correct/ok"],
    "faster.py": ["correct/ok"],
    "slow.py": ["correct/ok"],
    "wrong.py": ["incorrect/wrong_values", "incorrect/precision_loss"],
    "broken.py": ["build_failed/undeclared_identifier"],
    "unread.py": ["correct/ok"],
}


def judged(name: str, category: Category, started_s: float, duration_s: float, speedup: float | None = None, **stages_s: float) -> Result:
    return result(
        category,
        speedup=speedup,
        submission=f"answers/{name}.py",
        started_at=BEGIN + timedelta(seconds=started_s),
        duration_s=duration_s,
        evidence=Evidence(stages_s=stages_s, held_s={stage: each for stage, each in stages_s.items() if stage not in FREE_STAGES}),
    )


RUN = PipelineRun(
    50.0,
    False,
    (
        judged("broken", Category.UNDECLARED_IDENTIFIER, 0, 9, start=1, queue=2, build=6),
        judged("fast", Category.OK, 0, 14, 1.5, build=8, construct=1, rounds=1, timing=2, shapes=2),
        judged("faster", Category.OK, 1, 20, 3.0, build=12, wait=1, construct=2, rounds=1, baseline=1, timing=2, ablation=1),
        judged("slow", Category.OK, 2, 33, 0.05, build=10, wait=8, rounds=3, timing=12),
        judged("wrong", Category.UNWRITTEN_OUTPUT, 3, 33, build=10, wait=22, rounds=1),
        judged("unread", Category.INTERRUPTED, 4, 40),
    ),
)
UTILIZATION = [(BEGIN_S + at_s, percent) for at_s, percent in ((5, 0.0), (11, 100.0), (20, 50.0), (30, 0.0), (36, 90.0), (41, 0.0))]
HELD = [(BEGIN_S + at_s, share) for at_s, share in ((5, 0.0), (10, 1.0), (20, 0.0), (30, 0.5), (40, 1.0), (41, 0.0))]


def test_a_report_counts_verdicts_and_leaves_out_what_was_interrupted() -> None:
    found = report(RUN, EXPECTED, UTILIZATION, HELD)
    assert (found["submissions"], found["judged"], found["as_expected"], found["complete"]) == (6, 5, 4, False)
    assert found["statuses"] == {"correct": 3, "build_failed": 1, "incorrect": 1}
    assert found["each_s"] == 10
    (unexpected,) = [each for each in found["evaluations"] if not each["as_expected"]]
    assert (unexpected["file"], unexpected["verdict"]) == ("wrong.py", "incorrect/unwritten_output")


def test_the_time_that_a_device_is_held_is_of_right_submissions_that_are_not_slow() -> None:
    found = report(RUN, EXPECTED, UTILIZATION, HELD)
    assert found["held"] == {"count": 2, "mean_s": 6.5, "median_s": 6.5, "p95_s": pytest.approx(6.95)}
    assert [(each["file"], each["held_s"]) for each in found["evaluations"] if each["slow"]] == [("slow.py", 15)]


def test_the_phase_is_from_the_first_hold_to_the_last_release_and_samples_outside_do_not_count() -> None:
    found = report(RUN, EXPECTED, UTILIZATION, HELD)["phase"]
    assert (found["seconds"], found["from"], found["samples"]) == (30, "holds", 4)
    assert (found["utilization"], found["at_zero"]) == (pytest.approx(0.6), 0.25)


def test_without_holders_the_phase_is_that_of_the_evaluations() -> None:
    found = report(RUN, EXPECTED, [], [])["phase"]
    assert (found["seconds"], found["from"]) == (36, "evaluations")
    assert (found["utilization"], found["at_zero"]) == (None, None)
    assert report(PipelineRun(1.0, False, ()), EXPECTED, [], [])["phase"] is None


def test_tables_tell_the_figures_and_what_was_not_expected() -> None:
    console = Console(file=io.StringIO(), width=200)
    for run in (RUN, PipelineRun(1.0, False, ())):
        for table in tables(report(run, EXPECTED, UTILIZATION, HELD)):
            console.print(table)
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    for fact in ("5 of 6 when the time was up", "10.00 s each", "3 correct", "6.50 s", "6.95", "60.0%", "0.05 slow", "0 of 6"):
        assert fact in told, fact
    assert "incorrect/unwritten_output, not incorrect/wrong_values or incorrect/precision_loss" in told


def test_percentiles_are_between_neighbours() -> None:
    assert percentile([3.0], 0.95) == 3
    assert percentile([4.0, 0.0, 1.0, 2.0, 3.0], 0.5) == 2
    assert percentile([0.0, 10.0], 0.95) == pytest.approx(9.5)


def test_a_device_is_held_while_its_lock_file_is_locked(tmp_path: Path) -> None:
    one, other, missing = (tmp_path / f"assay-{name}.lock" for name in ("one", "other", "missing"))
    other.touch()
    with one.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        locks = Path("/proc/locks").read_text()
        assert held_count(locks, [one, other, missing]) == 1
        assert held_count(f"1: -> {locks.splitlines()[0].split(' ', 1)[1]}\n", [other]) == 0
    assert held_count(Path("/proc/locks").read_text(), [one, other, missing]) == 0


def test_what_cannot_be_measured_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path), "--device", "cpu"]) == 2
    assert "manifest.toml" in " ".join(capsys.readouterr().err.split())


def test_a_run_is_judged_and_written_down(tmp_path: Path) -> None:
    problems, answers, target = tmp_path / "problems", tmp_path / "answers", tmp_path / "report.json"
    (problems / "level1").mkdir(parents=True)
    (problems / "level1" / "1_Double.py").write_text(PROBLEM.format(operation="* 2"))
    answers.mkdir()
    expected = {"level_1_problem_1_sample_0_kernel.py": ("x + x", "no_custom_kernel"), "level_1_problem_1_sample_1_kernel.py": ("x", "ok")}
    entries = []
    for name, (answer, category) in expected.items():
        (answers / name).write_text(submission(answer))
        entries.append(f'[[submission]]\nfile = "{name}"\nexpect = ["correct/{category}"]\n')
    (answers / "manifest.toml").write_text("\n".join(entries))
    assert main([str(problems), str(answers), "--device", "cpu", "--limit", "400", "--json", str(target)]) == 1
    found = json.loads(target.read_text())
    assert (found["submissions"], found["judged"], found["as_expected"], found["complete"]) == (2, 2, 1, True)
    assert found["statuses"] == {"correct": 1, "incorrect": 1}
    assert found["held"]["count"] == 1
    assert 0 < found["held"]["mean_s"] < found["wall_s"]
    assert found["phase"]["seconds"] > 0  # others on this machine may hold the processor before and after
    assert found["machine"]["kind"] == "cpu"
