"""What the shipped submissions say of themselves: the verdict that each deserves, with and without a GPU."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "submissions"

Key = tuple[str, int | None]
"""Path below the project, and number of the block in a response."""


def expectations(kind: str) -> dict[Key, set[str]]:
    """`status/category` that may come out for each shipped submission; kind is cuda or cpu."""
    found: dict[Key, set[str]] = {}
    for path in sorted(FOLDER.rglob("*.py")):
        line = re.search(rf"^# expect: {kind} (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert line, f"{path} does not say what to expect on {kind}"
        found[_name(path), None] = _verdicts(line[1])
    for manifest in FOLDER.rglob("manifest.toml"):
        for response in tomllib.loads(manifest.read_text(encoding="utf-8"))["response"]:
            for number, block in enumerate(response["blocks"], 1):
                found[_name(manifest.parent / response["file"]), number] = _verdicts(block[kind])
    return found


def _verdicts(text: str) -> set[str]:
    return {verdict.strip() for verdict in text.split("|")}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
