"""What is found in folders and bundles, and the same by the judge's own reader."""

import json
import os
from pathlib import Path

import pytest
from assay_client import Options, Submission
from assay_client.files import find
from assay_client.terminal import UsageError

from evaluator.submission.discover import find as judges_find

CODE = "class ModelNew: ...\n"
RESPONSE = f"Here:\n\n```python\n{CODE}```\n"


def test_a_folder_holds_what_the_judge_finds_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        **dict.fromkeys(("relu/a.py", "relu/b.py.txt", "top.PY", "relu/__init__.py", ".hidden.py", ".git/x.py", "__pycache__/x.py"), CODE),
        **dict.fromkeys(("relu/c.md", "relu/d.txt", "Readme.md"), RESPONSE),
        "relu/notes.cu": CODE,
        "relu/e.jsonl": f"\ufeff{json.dumps({'code': CODE})}\r\n \n{json.dumps({'response': RESPONSE, 'sample_id': 0})}\n",
        "out.jsonl": json.dumps(dict.fromkeys(("submission", "status", "category", "source_sha256", "code"), "")),
        "out.md": f"## 1: a.py\n\n**verdict:** ok\n\n{RESPONSE}",
        "my.db.spool-12-0123abcd.jsonl": json.dumps({"code": CODE}),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    (tmp_path / "relu" / "loop").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = find([Path()], None, Options())
    assert sorted(each.place for each in found) == sorted(each.name for each in judges_find([tmp_path]))
    assert {each.place for each in found if each.submission.source == CODE} == {"top.PY", "relu/a.py", "relu/b.py.txt", "relu/e.jsonl:1"}
    assert {each.place for each in found if each.submission.response == RESPONSE} == {"relu/c.md", "relu/d.txt", "relu/e.jsonl:3"}


def test_a_line_gives_its_fields_and_an_own_name(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 240}.jsonl"
    told = [
        {"code": CODE, "response": "x", "problem": "relu", "author": "ada", "sample_id": 3},
        {"response": "é\x85\u2028", "problem": None},
    ]
    path.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in told), encoding="utf-8")
    options = Options(case="small")
    first, second = (each.submission for each in find([path], None, options))
    name = f"{'n' * 192}.jsonl:"
    assert first == Submission(source=CODE, problem="relu", sample_id=3, options=options, name=f"{name}1")
    assert second == Submission(response="é\x85\u2028", options=options, name=f"{name}2")
    assert [each.submission.problem for each in find([path], "gelu", options)] == ["gelu", "gelu"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not an object"),
        ("{}", "has neither code nor response"),
        ('{"code": 1}', "code is not text"),
        ('{"code": "", "problem": 1}', "problem is not text"),
        ('{"code": "", "sample_id": -1}', "sample_id is not"),
        ('{"code": "", "sample_id": true}', "sample_id is not"),
    ],
)
def test_an_invalid_line_is_told_with_its_number(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(f'{{"code": ""}}\n\n{line}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=rf"b\.jsonl:3: .*{told}"):
        find([tmp_path], "relu", Options())


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(UsageError, match=r"a\.py: is not a regular file"):
        find([tmp_path], None, Options())
