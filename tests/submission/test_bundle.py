"""Submissions in bundles, sound and broken."""

import json
from pathlib import Path

from evaluator.results.category import Category
from evaluator.submission.source import MAX_FILE_BYTES
from tests.submission.test_discover import CODE, OTHER, category, fenced, found, write


def test_a_bundle_goes_on_after_a_broken_line(tmp_path: Path) -> None:
    lines: list[object] = [
        {"problem": "matmul", "code": CODE, "author": "m", "sample_id": 3},
        {"problem": "matmul", "response": fenced(OTHER, CODE), "sample_id": "4", "extra": [1]},
        [1],
        {"problem": "matmul"},
        {"problem": "nosuch", "code": CODE},
        {"problem": 3, "code": CODE},
        {"code": "x = '\ud800'\n" + CODE, "sample_id": 7},
        {"code": "\0"},
    ]
    text = "\n\n".join(json.dumps(line) for line in lines) + '\n{"code": \n' + "[" * 100_000 + "\n"
    path = write(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + text.encode())
    submissions = found(path, problem=None)
    assert [(category(each), each.sample_id, each.block) for each in submissions[:2]] == [(None, 3, None), (None, 4, 2)]
    assert [each.name.rpartition(":")[2] for each in submissions] == ["1", "3", "5", "7", "9", "11", "13", "15", "16", "17"]
    unreadable, unknown = Category.UNREADABLE_FILE, Category.UNKNOWN_PROBLEM
    assert [category(each) for each in submissions[2:]] == [
        unreadable, unreadable, unknown, unreadable, unknown, unreadable, unreadable, unreadable,
    ]  # fmt: skip
    assert submissions[0].author == "m"
    assert "�" in submissions[6].code


def test_a_bundle_with_a_line_that_is_too_long_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b"x" * (2 * MAX_FILE_BYTES + 5) + b"\n" + json.dumps({"code": CODE}).encode())
    assert [category(each) for each in found(path)] == [Category.TOO_LARGE, None]
