"""The attack corpus as a table: python -m tests.attacks.record LABEL=FILE.jsonl … > table.md

Each file holds the results of `python pipeline.py … --json FILE.jsonl` over the corpus, at one sandbox level say; `python -m tests.corpus`
writes the submissions to judge. A verdict that the
attack's header does not expect is marked; one that was not reached (interrupted, or not among the results) shows as a dash.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.corpus import Entry, corpus

CORPUS = Path(__file__).parent / "corpus"
EVIDENCE_CHARS = 140


Verdict = dict[str, Any]
"""One line of such a file."""


def read(path: Path) -> dict[str, Verdict]:
    """Those that were reached, by the name of the attack; of several for one attack the last."""
    results = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {Path(result["submission"]).stem: result for result in results if result["category"] != "interrupted"}


def verdict(attack: Entry, result: Verdict | None, kind: str) -> str:
    """What a cell says."""
    if result is None:
        return "–"
    text = f"{result['status']}/{result['category']}"
    limit = attack.value("speedup")
    gained = limit is not None and (result["speedup"] or 0.0) > float(limit)
    short = str(result["category"])
    return short if text in attack.verdicts[kind] and not gained else f"**{short}**"


def rows(runs: dict[str, dict[str, Verdict]], kind: str) -> list[list[str]]:
    """Header and rows of the table, for the attacks on devices of this kind."""
    table = [["attack", "wants", *runs, "evidence"]]
    for name, attack in corpus(CORPUS).items():
        if kind in attack.verdicts:
            found = [results.get(name) for results in runs.values()]
            evidence = next((result["message"] for result in found if result), "")
            cells = [verdict(attack, result, kind) for result in found]
            table.append([f"`{name}`", attack.about, *cells, evidence[:EVIDENCE_CHARS].replace("|", "\\|")])
    return table


def main(arguments: list[str]) -> None:
    runs = {label: read(Path(file)) for label, file in (argument.split("=", 1) for argument in arguments)}
    kinds = {"cpu" if result["device"] == "cpu" else "cuda" for results in runs.values() for result in results.values()}
    if len(kinds) != 1:
        sys.exit("give results of one kind of device")
    header, *body = rows(runs, kinds.pop())
    print("\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *body)))


if __name__ == "__main__":
    main(sys.argv[1:])
