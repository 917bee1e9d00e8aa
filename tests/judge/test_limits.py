"""The judge's limits: each is used, is documented, and they stay few."""

import re

from evaluator.judge import limits
from tests.shipped import ROOT

SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "evaluator").rglob("*.py") if path.name != "limits.py"]


def test_each_limit_decides_something_and_says_why() -> None:
    used = {name for text in SOURCES for name in re.findall(r"\blimits\.([A-Z][A-Z0-9_]*)", text)}
    assert used == limits.LIMITS.keys()
    for name, limit in limits.LIMITS.items():
        assert limit.value == getattr(limits, name) and limit.unit and limit.source, name
        assert limit.why.endswith("."), name
    assert len(limits.LIMITS) <= 120


def test_the_table_has_a_row_for_each() -> None:
    rows = limits.table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(limits.LIMITS)
    assert all(row.count(" | ") == 3 for row in rows)
