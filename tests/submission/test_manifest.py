"""manifest.toml: its entries, and the messages on mistakes."""

from pathlib import Path

import pytest

from evaluator.submission.manifest import load_manifest
from evaluator.submission.source import InputError

MANIFEST = """\
# of two kinds
author = "house"

[[response]]
file = "a.txt"
problem = "softmax"
blocks = [ { status = "correct" } ]

[[submission]]
file = "b.py"
problem = "matmul"
author = "other"
"""


def test_entries_of_both_kinds_and_defaults(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    manifest = load_manifest(tmp_path)
    assert manifest is not None
    assert manifest.names("a.txt") == ("softmax", "house")
    assert manifest.names("b.py") == ("matmul", "other")
    assert manifest.names("c.py") == (None, "house")


def test_a_folder_without_one(tmp_path: Path) -> None:
    assert load_manifest(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('problem = "x"\nauthor = \n', "line 2", ""),
        ('[[response]]\nfile = "a"\n\n[[response]]\nfile = "b"\nproblem = 3\n', "line 6", "problem"),
        ('[[response]]\nfile = "a"\n\n[[response]]\nproblem = "x"\n', "line 4", "file"),
        ('[[response]]\nfile = "a"\n[[submission]]\nfile = "a"\n', "line 4", "two entries"),
        ('problem = "x"\nresponse = 3\n', "line 2", "response"),
    ],
)
def test_a_broken_one_is_an_input_error_with_its_line(tmp_path: Path, text: str, line: str, said: str) -> None:
    (tmp_path / "manifest.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_manifest(tmp_path)
    assert line in str(caught.value)
    assert said in str(caught.value)
    assert "manifest.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
