"""A run whose options come from a file."""

import json
import re
from pathlib import Path

import pytest

from assay.__main__ import main as assay
from db.__main__ import main as db
from tests import warm
from tests.command_line import Bench, submission

FILE = """\
[tool.assay]
db = "sqlite:///results.db"
reference = ["problems"]
device = "cpu"
jobs = 1
"""


@pytest.mark.slow(8)
def test_a_run_says_what_holds_from_which_file_and_reads_none_beside_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path)
    file = bench.write("pyproject.toml", FILE)
    bench.write("work/double/right.py", submission())
    bench.write("work/double/assay.toml", "no-sandbox = true\ntimout = 3")
    judged = warm.run(["double", "--timeout", "20"], tmp_path / "work", bench.variables({}))
    assert judged.code == 0, judged.stderr
    assert not re.search(r"^\d\d:\d\d:\d\d\.\d ", judged.stderr, re.MULTILINE), "without -v there is no log"
    assert f"Options from {file}: db, reference, device, jobs\n" in judged.stdout
    assert "sandbox: none" not in judged.stdout and "1 evaluated: 1 correct" in judged.stdout
    assert bench.database.exists()
    monkeypatch.chdir(tmp_path / "work")
    for listing in (db, assay):
        assert listing(["list", "--json"]) == 0
        listed = capsys.readouterr()
        assert [row["submission"] for row in json.loads(listed.out)] == ["double/right.py"], listed.err
    inside = warm.run(["right.py"], tmp_path / "work/double", {})
    assert (inside.code, inside.stdout, inside.stderr.count("\n")) == (2, "", 1)
    assert "double/assay.toml: no option 'timout'; nearest: timeout" in inside.stderr
