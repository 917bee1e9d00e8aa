"""What each part of the judge is needed for: the corpora's submissions that get away without it.

    python -m benchmarks.checks EXPORT... [--judge cpu] [--json FILE]

`EXPORT` is a file of `python -m benchmarks.corpora --export FOLDER`. A part is left out in turn:

- A rule of diagnosis, by a replay of the evidence: the verdict is another.
- A measurement of the charges, by a replay: the submission's time is shorter by more than SHORTER.
- A distribution of inputs: with --judge, the submissions that were wrong there are judged again without it, in a copy of the tree.

A part without a submission is needless, or its submission is missing in the corpora.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.rule import Rule
from evaluator.judge.timing.checks import cross_check
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS, OWN
from evaluator.results.evidence import Evidence, TimingEvidence
from tests.corpus import CORPORA, Entry, corpus, is_expected, write
from tests.shipped import ROOT

SHORTER = 0.05
"""Share of the submission's time."""
WITHOUT = """

def _plans(self, plans=RoundInputs.plans.func):
    return [plan for plan in plans(self) if plan.distribution != {name!r}]


def _begin(self, case, device, begin=FewChanges.__init__):
    begin(self, case, device)
    self.names = tuple(name for name in self.names if name != {name!r})


RoundInputs.plans, FewChanges.__init__ = property(_plans), _begin
"""
"""Added to round_inputs.py, so that a distribution is never drawn, in rounds and timed calls."""


@dataclass(frozen=True)
class Stored:
    """An evaluation of a corpus."""

    name: str
    kind: str
    """cpu or cuda."""
    category: Category
    evidence: Evidence


@dataclass(frozen=True)
class Part:
    """A part of the judge, and the submissions that need it."""

    table: str
    name: str
    submissions: tuple[str, ...]


def main() -> int:
    """Leave each part out, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("exports", nargs="+", type=Path, metavar="EXPORT", help="JSON lines of judged corpora")
    parser.add_argument("--judge", choices=("cpu", "cuda"), help="judge again without each distribution, on this kind of device")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there")
    options = parser.parse_args()
    stored = [each for path in options.exports for each in read(path)]
    parts = [
        *without_rules(stored),
        *without_measurements(stored),
        *(without_distributions(stored, options.judge) if options.judge else ()),
    ]
    Console().print(shown(parts))
    if options.json:
        found = [{"table": part.table, "part": part.name, "submissions": part.submissions} for part in parts]
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def read(path: Path) -> Iterator[Stored]:
    """The evaluations on a device that an export holds."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["device"]:
            kind = record["device"].partition(":")[0]
            evidence = Evidence.model_validate(record["evidence"])
            yield Stored(Path(record["submission"]).stem, "cuda" if kind != "cpu" else kind, Category(record["category"]), evidence)


def diagnosed(evidence: Evidence, but: Rule | None = None) -> tuple[Category, Rule | None]:
    """The category by all rules but one, and the rule that gave it."""
    for rule in RULES:
        if rule is not but and (verdict := rule.decide(evidence)) is not None:
            return verdict.category, rule
    return Category.OK, None


def without_rules(stored: Sequence[Stored]) -> Iterator[Part]:
    """Each rule, and what has another category without it. An older or shortened record, whose replay differs anyway, does not count."""
    needing: dict[str, list[str]] = {rule.name: [] for rule in RULES}
    for each in stored:
        category, rule = diagnosed(each.evidence)
        if rule is not None and category is each.category and diagnosed(each.evidence, rule)[0] is not category:
            needing[rule.name].append(each.name)
    yield from (Part("rule", name, tuple(names)) for name, names in needing.items())


def without_measurements(stored: Sequence[Stored]) -> Iterator[Part]:
    """Each measurement that charges time, and what would have a shorter time without it."""
    for table in ("ON_DEVICE", "ON_CPU"):
        whole: tuple[cross_check.Excess, ...] = getattr(cross_check, table)
        kind = "cuda" if table == "ON_DEVICE" else "cpu"
        timed = [(each, each.evidence.timing) for each in stored if each.kind == kind and each.evidence.timing]
        for left_out in whole:
            needing = [each.name for each, timing in timed if _is_shorter(timing, whole, left_out)]
            yield Part(table, f"{type(left_out).__name__} {left_out.samples}", tuple(needing))


def _is_shorter(timing: TimingEvidence, whole: Sequence[cross_check.Excess], left_out: cross_check.Excess) -> bool:
    sides = cross_check.Sides(
        timing.candidate, timing.baseline, timing.alone or timing.baseline, timing.gated, timing.in_a_row, max(timing.calls_in_block, 1)
    )
    times_ms = []
    for measured in (whole, [excess for excess in whole if excess is not left_out]):
        charged = {excess.charge: 0.0 for excess in whole} | cross_check.charges(sides, measured)
        times_ms.append(timing.model_copy(update=charged).runtime_ms)
    return times_ms[1] < (1 - SHORTER) * times_ms[0]


def without_distributions(stored: Sequence[Stored], kind: str) -> Iterator[Part]:
    """Each distribution, and which of the submissions that were wrong there get a verdict that is not fair without it."""
    entries = {name: entry for folder in sorted(CORPORA.glob("*/corpus")) for name, entry in corpus(folder).items()}
    for name in (name for name in DISTRIBUTIONS if name != OWN):
        wrong = [
            entries[each.name] for each in stored if each.kind == kind and each.name in entries and _is_wrong_there(each.evidence, name)
        ]
        yield Part("distribution", name, tuple(judged_without(name, wrong, kind) if wrong else ()))


def _is_wrong_there(evidence: Evidence, name: str) -> bool:
    return bool(evidence.rounds) and not evidence.rounds[-1].passed and evidence.rounds[-1].distribution == name


def judged_without(name: str, entries: Iterable[Entry], kind: str) -> Iterator[str]:
    """The submissions that get a verdict that is not fair, judged without a distribution."""
    expected = {entry.name: entry for entry in entries}
    with tempfile.TemporaryDirectory(prefix="assay-checks-") as folder:
        tree, work = Path(folder) / "tree", Path(folder) / "work"
        Path(folder).chmod(0o755)  # workers of sandboxes are other users
        subprocess.run(["git", "checkout-index", "--all", f"--prefix={tree}/"], cwd=ROOT, check=True)
        planning = tree / "evaluator/judge/correctness/inputs/round_inputs.py"
        planning.write_text(planning.read_text(encoding="utf-8") + WITHOUT.format(name=name), encoding="utf-8")
        write(expected.values(), work)
        options = (
            "--reference",
            "problems",
            "--device",
            kind,
            "--db",
            "sqlite:///without.db",
            "--json",
            "results.jsonl",
            "--timeout",
            "10",
        )
        command = [
            sys.executable,
            str(tree / "pipeline.py"),
            "submissions",
            *(options if any((work / "problems").iterdir()) else options[2:]),
        ]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"judging without {name} failed: {done.stderr[-2000:]}")
        for line in (work / "results.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            entry = expected[Path(record["submission"].removesuffix(":1")).name]
            if not is_expected(entry, record, kind):
                yield entry.name.removesuffix(".py")


def shown(parts: Iterable[Part], most: int = 3) -> Table:
    """How many submissions need each part, and the first of them."""
    table = Table("table", "part", "needed by", "such as", title="Without this part, submissions get away")
    for part in parts:
        table.add_row(part.table, part.name, str(len(part.submissions)), ", ".join(part.submissions[:most]))
    return table


if __name__ == "__main__":
    sys.exit(main())
