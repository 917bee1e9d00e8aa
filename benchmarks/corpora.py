"""Judges the corpora, and compares the verdicts with the fair ones.

    python -m benchmarks.corpora {cpu,cuda} [--only NAME...] [--sandbox LEVEL] [--export FOLDER]

Prints how many verdicts are as expected, and each that is not. `--export` keeps the records with all evidence, NAME.json for each corpus,
for `benchmarks.checks`. The exit code is 1 if a verdict, its line or its words are not as expected.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evaluator.sandbox import Level
from tests.attacks import test_attacks as attacks
from tests.contract import test_contract as contract
from tests.corpus import DATABASE, PROJECT, Entry, Record, has_its_line, unexpected
from tests.diagnosis import test_corpus as diagnosis
from tests.diagnosis.fault import FAULTS
from tests.honest import test_honest as honest


class Judge(Protocol):
    def __call__(self, names: list[str], folder: Path, *options: str) -> dict[str, Record]: ...


@dataclass(frozen=True)
class Corpus:
    """Submissions, and how their tests judge them."""

    entries: Mapping[str, Entry]
    judged: Judge
    """Records by the entry's name."""

    def names(self, kind: str) -> list[str]:
        return [name for name, entry in self.entries.items() if kind in entry.verdicts]


CORPORA = {
    "attacks": Corpus({**attacks.ATTACKS, **{twin: attacks.FORMS[twin] for twin in attacks.TWINS.values()}}, attacks.judged),
    "honest": Corpus(honest.FORMS, honest.judged),
    "contract": Corpus(contract.ANSWERS, contract.judged),
    "diagnosis": Corpus(FAULTS, diagnosis.judged),
}


def main() -> int:
    """Judge the corpora, and print what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=("cpu", "cuda"), help="the kind of device")
    parser.add_argument("--only", nargs="+", choices=CORPORA, default=list(CORPORA), metavar="NAME", help=f"of {', '.join(CORPORA)}")
    parser.add_argument("--sandbox", choices=[str(level) for level in Level], help="the workers' sandbox (default: the best)")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="keep the records there")
    options = parser.parse_args()
    level = ("--sandbox", options.sandbox) if options.sandbox else ()
    wrong = 0
    for name in options.only:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="assay-corpora-") as folder:
            corpus = CORPORA[name]
            records = corpus.judged(corpus.names(options.kind), Path(folder), "--device", options.kind, *level)
            if options.export:
                _export(Path(folder), options.export / f"{name}.json")
        found = list(differences(corpus, records, options.kind))
        seconds = time.monotonic() - start
        sys.stdout.writelines([*found, f"{name}: {len(records) - len(found)} of {len(records)} as expected, {seconds:.0f} s\n"])
        sys.stdout.flush()
        wrong += len(found)
    return int(bool(wrong))


def differences(corpus: Corpus, records: Mapping[str, Record], kind: str) -> Iterator[str]:
    """A line for each submission that was not judged as expected."""
    for name, record in records.items():
        entry = corpus.entries[name]
        line = "" if has_its_line(entry, record) else f"line {record['line']}, not {entry.lines[0]}: {record['message']}"
        if why := unexpected(entry, record, kind) or line:
            yield f"{name}: {why}\n"


def _export(folder: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = f"sqlite:///{folder}/{DATABASE}"
    command = [sys.executable, "-m", "db", "export", "--db", database, "--format", "json", "--output", str(path.absolute())]
    subprocess.run(command, cwd=PROJECT, check=True)


if __name__ == "__main__":
    sys.exit(main())
