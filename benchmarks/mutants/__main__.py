"""Measures how many small errors, put into the judge's code one at a time, the tests notice.

    python -m benchmarks.mutants cover --jobs 2
    python -m benchmarks.mutants run --jobs 2 --json FILE --baseline EARLIER.json

`cover` runs all tests once. It stores which lines each test runs, and how long it takes. `run` takes a fixed sample of Cosmic Ray's mutants
and tries each with the tests that run its lines, in three steps: the quick ones, tests/test_smoke.py, the slow ones. The first failure ends
the mutant's trial. A rate is the share of the sample that is killed: `quick` counts the first two steps, `all` counts the three. A try that
exceeds its time limit counts as a kill.

Judges run in processes of their own, whose lines only tests/test_smoke.py counts: it stands for all tests that start judges. The whole
corpora are left out. Tests run in a copy of the tree. Those that fail there without a mutant are left out, and listed.
"""

import argparse
import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.mutants.covering import CODE, JUDGING, SAVING, SMOKE, Covering
from benchmarks.mutants.covering import options as coverage_options
from benchmarks.mutants.hooks import LOG, file_of
from benchmarks.mutants.sample import Mutant, sample
from benchmarks.mutants.tree_copy import Copy
from tests.shipped import ROOT

ALL = "not gpu and not quiet and not nightly"
QUICK = f"{ALL} and not slow"
SETS = ("quick", "all")
SLACK_FACTOR, SLACK_S = 5, 60.0
"""A try may take so many times as long as its tests did, and so much longer."""
COLLECTED_WITHIN_S, SMOKE_WITHIN_S = 600.0, 1800.0


@dataclass
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    diff: str
    covered: dict[str, int] = field(default_factory=dict)
    """Tests that run its lines, by set."""
    killer: dict[str, str] = field(default_factory=dict)
    """The first test that failed, by set, or `timeout`. A mutant without one survived."""
    seconds: float = 0.0


class Run:
    """A run over a sample."""

    def __init__(self, covering: Covering, sources: dict[str, str], tests: dict[str, bool]) -> None:
        """`tests` are all of the tree, each with whether it is quick."""
        self._covering, self._sources, self.tests = covering, sources, tests
        self.failing: set[str] = set()
        """Tests, or whole files, that fail without a mutant."""

    def judge(self, copy: Copy, mutant: Mutant, text: str) -> Verdict:
        """Try a mutant."""
        start, source = time.monotonic(), self._sources[mutant.file]
        diff = unified_diff(source.splitlines(), text.splitlines(), lineterm="", n=0)
        tests = [test for test in self.tests if not {test, file_of(test)} & self.failing]
        found = self._covering.of(mutant, source, tests)
        smoke = [test for test in found if file_of(test) == SMOKE]
        quick = [test for test in found if self.tests[test] and file_of(test) != SMOKE]
        slow = [test for test in found if not self.tests[test]]
        verdict = Verdict(mutant, "\n".join([*diff][2:]), {"quick": len(quick + smoke), "all": len(found)})
        steps = ((SETS, quick), (SETS, smoke), (SETS[1:], slow))
        with copy.changed(mutant.file, text):
            for names, step in steps:
                if step and not verdict.killer and (killer := self._killer(copy, step)):
                    verdict.killer = dict.fromkeys(names, killer)
        verdict.seconds = time.monotonic() - start
        return verdict

    def _killer(self, copy: Copy, tests: list[str]) -> str | None:
        ended = copy.run(["-x", *self._covering.ordered(tests)], SLACK_FACTOR * self._covering.seconds(tests) + SLACK_S)
        if ended.code is None:
            return "timeout"
        return (ended.failed() or [f"exit code {ended.code}"])[0] if ended.code else None

    def control(self, copy: Copy, verdicts: Collection[Verdict]) -> list[Mutant]:
        """Try the tests that killed without a mutant. Mutants that were killed by one that fails are to be judged again."""
        killers = {killer for verdict in verdicts for killer in verdict.killer.values() if killer.startswith("tests/")}
        if not killers:
            return []
        failed = {*copy.run(self._covering.ordered([*killers]), SLACK_FACTOR * self._covering.seconds([*killers]) + SLACK_S).failed()}
        self.failing |= failed
        return [verdict.mutant for verdict in verdicts if failed & {*verdict.killer.values()}]


def cover(options: argparse.Namespace) -> int:
    """Run the tests with coverage. Returns pytest's exit code, but 0 if tests fail."""
    for stored in (options.coverage, options.durations):
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.unlink(missing_ok=True)
    spread = f"-m pytest -q -p benchmarks.mutants.hooks -n {options.jobs} --dist loadfile --no-loadscope-reorder".split()
    command = [*spread, *coverage_options(options.coverage), "-m", QUICK if options.quick else ALL]
    environment = os.environ | {LOG: str(options.durations.absolute())}
    code = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=False).returncode
    return 0 if code == 1 else code  # a test that fails covers lines too


def run(options: argparse.Namespace) -> int:
    """Judge the sample, print tables and store everything. Returns 1 if a rate is lower than the baseline's."""
    names = [path.relative_to(ROOT).as_posix() for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    chosen, covering = sample(sources, options.sample), Covering(options.coverage, options.durations)
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    verdicts: dict[Mutant, Verdict] = {}

    def judge(mutant: Mutant) -> Verdict:
        copy = copies.get()
        try:
            return judging.judge(copy, mutant, chosen[mutant])
        finally:
            copies.put(copy)

    with contextlib.ExitStack() as stack:
        for _ in range(options.jobs):
            copies.put(first := Copy(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-mutants-"))), ROOT))
            stack.callback(first.close)
        collected = first.run(["--collect-only", *sorted(name for name in covering.files() if (ROOT / name).exists())], COLLECTED_WITHIN_S)
        assert collected.code == 0, "the tests can't be collected in a copy"
        judging = Run(covering, sources, {line[0]: line[3] == "quick" for line in collected.log})
        judging.failing |= smoke_lines(first, covering)
        pool, left = stack.enter_context(ThreadPoolExecutor(options.jobs)), [*chosen]
        while left:
            for verdict in pool.map(judge, left):
                verdicts[verdict.mutant] = verdict
                print(f"{len(verdicts):4} {verdict.seconds:4.0f} s", *_cells(verdict), sep="  ", file=sys.stderr, flush=True)
            left = judging.control(first, [*verdicts.values()])
    rates = {name: rate([*verdicts.values()], name) for name in SETS}
    report = {"rates": rates, "failing": sorted(judging.failing), "mutants": [asdict(verdict) for verdict in verdicts.values()]}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _print(report, [*verdicts.values()])
    return int(options.baseline is not None and has_fallen(report, json.loads(options.baseline.read_text(encoding="utf-8"))))


def smoke_lines(copy: Copy, covering: Covering) -> set[str]:
    """Let `covering` read which lines tests/test_smoke.py runs in the copy. Returns its tests that fail."""
    saving = (copy.folder / JUDGING).read_text(encoding="utf-8") + SAVING
    with tempfile.TemporaryDirectory() as folder, copy.changed(JUDGING, saving):
        failed = copy.run([*coverage_options(Path(folder, "smoke"), of_processes=True), SMOKE], SMOKE_WITHIN_S).failed()
        covering.read_smoke(Path(folder))
    return {*failed}


def rate(verdicts: Sequence[Verdict], name: str) -> dict[str, float]:
    """Counts of one set, and its share of killed mutants."""
    killed = sum(name in verdict.killer for verdict in verdicts)
    return {
        "mutants": len(verdicts),
        "covered": sum(verdict.covered[name] > 0 for verdict in verdicts),
        "killed": killed,
        "survived": len(verdicts) - killed,
        "timed out": sum(verdict.killer.get(name) == "timeout" for verdict in verdicts),
        "rate": killed / len(verdicts),
    }


def has_fallen(report: dict[str, Any], earlier: dict[str, Any]) -> bool:
    """Whether a rate is lower than in an earlier report. Prints the mutants that survive only now."""
    for name in SETS:
        killed = {one["mutant"]["key"] for one in earlier["mutants"] if name in one["killer"]}
        for one in report["mutants"]:
            if one["mutant"]["key"] in killed and name not in one["killer"]:
                print(f"{name}: survives only now: {one['mutant']['file']}:{one['mutant']['line']} {one['mutant']['operator']}")
        print(f"{name}: {earlier['rates'][name]['rate']:.1%} before, {report['rates'][name]['rate']:.1%} now")
    return any(report["rates"][name]["rate"] < earlier["rates"][name]["rate"] for name in SETS)


def _print(report: dict[str, Any], verdicts: Sequence[Verdict]) -> None:
    table = Table("set", *report["rates"]["all"])
    for name, counts in report["rates"].items():
        table.add_row(name, *(f"{value:.1%}" if column == "rate" else str(value) for column, value in counts.items()))
    Console().print(table)
    for verdict in verdicts:
        if "all" not in verdict.killer or "quick" not in verdict.killer:
            print("\n" + "  ".join(_cells(verdict)), verdict.diff, sep="\n")
    for test in report["failing"]:
        print(f"fails without a mutant: {test}")


def _cells(verdict: Verdict) -> tuple[str, str, str]:
    mutant, killer = verdict.mutant, verdict.killer
    fate = f"killed by {killer['quick']}" if "quick" in killer else f"killed only by {killer['all']}" if killer else "survived"
    return f"{mutant.file}:{mutant.line}", mutant.operator.removeprefix("core/"), fate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("cover", "run"))
    parser.add_argument("--coverage", type=Path, default=ROOT / "mutants/coverage", help="coverage data, also of another checkout")
    parser.add_argument("--durations", type=Path, default=ROOT / "mutants/durations.jsonl", help="seconds of each test")
    parser.add_argument("--jobs", type=int, default=1, help="processes of tests, each in a copy of the tree")
    parser.add_argument("--quick", action="store_true", help="cover the quick tests alone")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants")
    parser.add_argument("--json", type=Path, help="where `run` stores its results")
    parser.add_argument("--baseline", type=Path, help="results of an earlier run: exit code 1 if a rate has fallen")
    options = parser.parse_args(arguments)
    return {"cover": cover, "run": run}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
