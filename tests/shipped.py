"""Reads the fair verdicts in the shipped submissions, with and without a GPU."""

import tomllib
from pathlib import Path

from tests import corpus
from tests.cells import split

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "submissions"

Key = tuple[str, int | None]
"""Path in the project, and number of the code block in a response."""


def expectations(kind: str) -> dict[Key, set[str]]:
    """Fair verdicts, `status/category`, of each shipped submission; kind is cuda or cpu."""
    found: dict[Key, set[str]] = {}
    for path in sorted(FOLDER.rglob("*.py")):
        header, _ = split(path.read_text(encoding="utf-8"))
        found[_name(path), None] = set(corpus.expectations(header)[kind])
    for manifest in FOLDER.rglob("manifest.toml"):
        for response in tomllib.loads(manifest.read_text(encoding="utf-8"))["response"]:
            for number, block in enumerate(response["blocks"], 1):
                found[_name(manifest.parent / response["file"]), number] = {verdict.strip() for verdict in block[kind].split("|")}
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
