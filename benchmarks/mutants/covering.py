"""Which tests run which lines."""

import ast
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from benchmarks.mutants.hooks import file_of
from benchmarks.mutants.sample import Mutant, place

CODE = ("evaluator/judge/correctness", "evaluator/judge/timing", "evaluator/judge/integrity", "evaluator/diagnosis/rules")
"""Folders that are changed, and whose lines are counted."""
SMOKE = "tests/test_smoke.py"
JUDGING = "evaluator/judge/evaluate.py"
SAVING = """

_evaluate = evaluate


def evaluate(*arguments, **named):
    from coverage import Coverage

    try:
        return _evaluate(*arguments, **named)
    finally:
        if (running := Coverage.current()) is not None:
            running.save()
"""
"""Added to JUDGING while the lines of judges are counted: they are killed in the end."""
UNKNOWN_S = 60.0
"""Taken for what a file sets up, if that was not measured."""


def options(data: Path, *, of_processes: bool = False) -> list[str]:
    """Pytest's options that write coverage data. `of_processes`: also of the processes that tests start, in files beside `data`."""
    packages = "".join(f"\n    {folder.replace('/', '.')}" for folder in CODE)
    patches = "parallel = true\npatch = subprocess, fork, _exit\n" if of_processes else ""
    configuration = data.parent / "settings.cfg"
    configuration.write_text(f"[run]\nsource = {packages}\ncore = ctrace\n{patches}data_file = {data.absolute()}\n", encoding="utf-8")
    return ["--cov", f"--cov-config={configuration.absolute()}", "--cov-report=", *([] if of_processes else ["--cov-context=test"])]


class Covering:
    """Which tests run which lines, and how long they take."""

    def __init__(self, data: Path, durations: Path) -> None:
        """Read what `cover` stored, also for another checkout of the same code."""
        self._contexts: defaultdict[str, dict[int, list[str]]] = defaultdict(dict)
        self._smoke: defaultdict[str, set[int]] = defaultdict(set)
        for file, lines in _contexts(data):
            self._contexts[file] = lines
        self._calls_s: dict[str, float] = {}
        self._setups_s: defaultdict[str, float] = defaultdict(float)
        for test, phase, seconds, *_ in map(json.loads, durations.read_text(encoding="utf-8").splitlines()):
            if phase == "setup":
                self._setups_s[file_of(test)] += seconds
            elif phase == "call":
                self._calls_s[test] = seconds

    def read_smoke(self, folder: Path) -> None:
        """Read the coverage data of tests/test_smoke.py and of the processes that it starts."""
        for path in folder.glob("smoke*"):
            for file, lines in _contexts(path):
                self._smoke[file] |= lines.keys()

    def files(self) -> set[str]:
        """All files with tests that run a counted line."""
        return {SMOKE, *(file_of(test) for lines in self._contexts.values() for tests in lines.values() for test in tests if test)}

    def of(self, mutant: Mutant, source: str, tests: Collection[str]) -> list[str]:
        """Those of the tests that run the mutant's lines. What an import runs is covered by all tests that run a line of the file. What
        a test's setup runs may be a fixture of all tests of its file."""
        by_line = self._contexts[mutant.file]
        lines, in_function = place(ast.parse(source), mutant.line)
        contexts = {context for line in lines for context in by_line.get(line, ())}
        if not in_function or "" in contexts:
            contexts = {context for found in by_line.values() for context in found}
        found = {context.rpartition("|")[0] for context in contexts}
        files = {file_of(context) for context in contexts if context.endswith("|setup")}
        if self._smoke[mutant.file] & {*lines}:
            files.add(SMOKE)
        return [test for test in tests if test in found or file_of(test) in files]

    def ordered(self, tests: Sequence[str]) -> list[str]:
        """The tests, those of a file together, the file that takes the least time first."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for test in tests:
            files[file_of(test)].append(test)
        return [test for of_file in sorted(files.values(), key=self.seconds) for test in of_file]

    def seconds(self, tests: Sequence[str]) -> float:
        """How long they took, with all that their files set up."""
        setups = [self._setups_s.get(file, UNKNOWN_S) for file in {file_of(test) for test in tests}]
        return sum(setups) + sum(self._calls_s.get(test, 0) for test in tests)


def _contexts(data: Path) -> Iterator[tuple[str, dict[int, list[str]]]]:
    """For each file of coverage data: its lines that ran, with tests."""
    from coverage import CoverageData

    stored = CoverageData(basename=str(data))
    stored.read()
    for path in stored.measured_files():
        yield path[path.rindex("evaluator/") :], stored.contexts_by_lineno(path)
