"""`python -m db list`: which evaluations it shows, and how."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from db.__main__ import main
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.db.samples import result

LONG = "submissions/softmax/a/folder/that/is/deep/quick.py"


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def filled(store: Store) -> Store:
    """Evaluations 1 to 5, the last two of them of run 1."""
    store.save(result(submission=LONG, speedup=3.25), "1")
    store.save(result(Category.TIMEOUT, submission="b.py", author=None, block=2, started_at=now() - timedelta(days=3)), "2")
    store.save(result(Category.NO_CODE_BLOCK, submission="c.md", problem=None), "3")
    store.start_run(["pipeline.py"])
    store.save(
        result(Category.ILLEGAL_MEMORY_ACCESS, submission="d.py", problem="bias_residual_relu", author="a-long-name-of-a-model"), "4"
    )
    store.save(result(Category.REDUCED_PRECISION, submission="e.py", case="small"), "5")
    return store


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ((), [5, 4, 3, 2, 1]),
        (("--limit", "2"), [5, 4]),
        (("--status", "correct"), [5, 1]),
        (("--category", "timeout"), [2]),
        (("--author", "ada", "--problem", "softmax"), [5, 1]),
        (("--case", "small"), [5, 3]),
        (("--run", "1"), [5, 4]),
        (("--run", "last", "--status", "run_failed"), [4]),
        (("--since", "1d"), [5, 4, 3, 1]),
        (("--since", "2000-01-01", "--category", "ok"), [1]),
        (("--since", "2999-01-01T12:00"), []),
    ],
)
def test_what_is_asked_for_comes_newest_first(
    filled: Store, url: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], numbers: list[int]
) -> None:
    assert main(["list", "--db", url, "--json", *words]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [row["evaluation_id"] for row in rows] == numbers
    assert main(["--db", url, "list", *words]) == 0
    assert [int(number) for number in re.findall(r"^ *(\d+)  ", capsys.readouterr().out, re.MULTILINE)] == numbers


def test_a_line_each_fits_on_80_columns(
    filled: Store, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--db", url, "list"]) == 0
    heading, *lines, note = capsys.readouterr().out.splitlines()
    assert heading.split() == ["id", "category", "speedup", "problem", "submission"]
    assert note == "Not shown for lack of room: UTC, author; widen the terminal or use --json"
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert re.search(r"^ *1  ok +3\.25×  softmax +.*….*quick\.py$", lines[-1])
    assert "illegal_memory_access" in lines[1] and "b.py [2]" in lines[3]
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["--db", url, "list", "--limit", "4"]) == 0
    told = capsys.readouterr().out
    assert "UTC" in told and re.search(r"^ *5  \d\d-\d\d \d\d:\d\d  reduced_precision ", told, re.MULTILINE)
    assert "a-long-name-of-a-model" in told and told.endswith("There are older ones: --limit 8\n")
    assert main(["--db", url, "list", "--author", "ada"]) == 0
    assert LONG in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--run", "7"), "no run '7'; the last one is 1"),
        (("--run", "²"), "no run '²'"),
        (("--run", "9" * 40), "the last one is 1"),
    ],
)
def test_a_run_that_is_not_there_is_told(
    filled: Store, url: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert main(["list", "--db", url, *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--status", "corect"), "no status 'corect'; nearest: correct"),
        (("--category", "tiemout"), "no category 'tiemout'; nearest: timeout"),
        (("--since", "yesterday"), "invalid time 'yesterday'"),
        (("--since", "999999d"), "invalid time '999999d'"),
        (("--limit", "0"), "a whole number from 1"),
    ],
)
def test_a_mistyped_value_is_told(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["list", "--db", url, *words])
    assert told in capsys.readouterr().err
