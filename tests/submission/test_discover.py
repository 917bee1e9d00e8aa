"""Submissions in files and folders, sound and broken."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.storage.record import Entry
from evaluator.diagnosis.feedback import feedback, record
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.submission.discover import find
from evaluator.submission.model import Submission
from evaluator.submission.response import MAX_RESPONSE_BYTES
from evaluator.submission.source import MAX_CODE_BYTES, MAX_FILE_BYTES, InputError
from tests.db.samples import result

CODE = "class ModelNew:\n    pass\n"
OTHER = "class ModelNew:\n    other = True\n"
KNOWN = ("softmax", "matmul")


def found(path: Path, every_block: bool = False, problem: str | None = "softmax", author: str | None = None) -> list[Submission]:
    return list(find([path], every_block, problem, author, KNOWN))


def only(path: Path) -> Submission:
    (submission,) = found(path)
    return submission


def category(submission: Submission) -> Category | None:
    return submission.rejection.category if submission.rejection else None


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fenced(*codes: str) -> str:
    return "Text.\n" + "".join(f"```python\n{code}```\n" for code in codes)


def test_a_python_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", "# author: me\r\n" + CODE.replace("\n", "\r\n"))
    submission = only(path)
    assert submission.rejection is None
    assert submission.code == "# author: me\n" + CODE
    assert (submission.block, submission.first_line, submission.author, submission.problem) == (None, 1, "me", "softmax")
    assert submission.source_sha256 == hashlib.sha256(submission.code.encode()).hexdigest()


def test_names_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in" / "a.py", CODE)
    write(tmp_path / "b.py", CODE)
    monkeypatch.chdir(tmp_path / "in")
    names = [each.name for each in find([Path(), Path("../b.py")], known=KNOWN)]
    assert names == ["a.py", (tmp_path / "b.py").as_posix()]


def test_a_response_gives_its_final_block_or_every_block(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", fenced(OTHER) + "</think>\n" + fenced(CODE))
    (final,) = found(path)
    assert (final.code, final.block, final.first_line) == (CODE, 2, 9)
    assert [(each.block, each.code) for each in found(path, every_block=True)] == [(1, OTHER), (2, CODE)]
    assert "reasoning" in only(write(tmp_path / "b.txt", fenced(CODE) + "</think>\nDone.\n")).note


def test_what_a_folder_holds_comes_sorted_and_once(tmp_path: Path) -> None:
    for name in ("b.py", "a/10.TXT", "a/9.md", "c.jsonl", "B.py"):
        write(tmp_path / name, CODE)
    for name in (".hidden.py", "__pycache__/a.py", "README.md", "__init__.py", "notes.rst", ".git/a.py", "manifest.toml"):
        write(tmp_path / name, "")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    paths = [each.path.relative_to(tmp_path).as_posix() for each in find([tmp_path, tmp_path / "b.py"], known=KNOWN)]
    assert paths[:4] == ["B.py", "a/9.md", "a/10.TXT", "b.py"]
    assert set(paths[4:]) == {"c.jsonl"}
    assert only(write(tmp_path / "README.md", fenced(CODE))).rejection is None  # a file that is named is read whatever its name


def test_what_a_run_writes_is_no_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in" / "a.py", CODE)
    for name in ("out.jsonl", "told.md", "assay.db.spool-123-0a1b2c3d.jsonl", "old.spool.jsonl", "deep/out.jsonl"):
        write(tmp_path / "in" / name, "{}\n")
    (tmp_path / "link").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    files = [Path("in/out.jsonl"), Path("link/told.md")]
    for start in ("in", "link"):
        submissions = find([Path(start)], known=KNOWN, written=files)
        assert [each.path.name for each in submissions] == ["a.py", "out.jsonl", "old.spool.jsonl"]
    with pytest.raises(InputError, match="this run writes this file"):
        find([Path("in/out.jsonl")], known=KNOWN, written=files)
    with pytest.raises(InputError, match="no submissions"):
        write(tmp_path / "alone" / "out.jsonl", "")
        find([Path("alone")], known=KNOWN, written=[Path("alone/out.jsonl")])


@pytest.mark.parametrize(("name", "said"), [("missing", "not exist"), ("empty", "no submissions"), ("a.cu", ".jsonl")])
def test_paths_that_hold_nothing_are_an_input_error_at_once(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "a.cu", "")
    with pytest.raises(InputError, match=said):
        find([tmp_path / name])


def test_a_broken_manifest_deep_down_is_an_input_error_before_anything_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.py", CODE)
    write(tmp_path / "b" / "c" / "a.py", CODE)
    write(tmp_path / "b" / "c" / "manifest.toml", "problem = \n")
    with pytest.raises(InputError, match="line 1"):
        find([tmp_path])


def test_the_manifest_beside_a_file_says_its_problem_and_author(tmp_path: Path) -> None:
    write(tmp_path / "manifest.toml", 'problem = "softmax"\n[[response]]\nfile = "a.txt"\nproblem = "matmul"\nauthor = "m"\n')
    write(tmp_path / "a.txt", fenced(CODE))
    write(tmp_path / "b.py", CODE)
    assert [(each.problem, each.author) for each in found(tmp_path, problem=None)] == [("matmul", "m"), ("softmax", None)]
    assert [(each.problem, each.author) for each in found(tmp_path, author="x")] == [("softmax", "x")] * 2


def test_a_bundles_author_stays(tmp_path: Path) -> None:
    lines = [{"code": CODE, "author": "own"}, {"code": CODE}]
    bundle = write(tmp_path / "b.jsonl", "\n".join(map(json.dumps, lines)))
    assert [each.author for each in found(bundle, author="x")] == ["own", "x"]


def test_the_first_folder_below_a_path_is_the_author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = tmp_path / "alice"
    lines = [{"code": CODE, "author": "own"}, {"code": CODE}]
    write(alice / "softmax" / "b.jsonl", "\n".join(map(json.dumps, lines)))
    write(alice / "softmax" / "manifest.toml", 'author = "house"\n')
    write(tmp_path / os.fsdecode(b"caf\xe9") / "a.py", "# author: me\n" + CODE)
    write(tmp_path / "top.py", CODE)
    monkeypatch.chdir(tmp_path)

    def authors(*paths: Path) -> list[str | None]:
        return [each.author for each in find(paths, problem="softmax", author="given", known=KNOWN, author_folders=True)]

    assert authors(tmp_path) == authors(Path()) == ["own", "alice", "caf\N{REPLACEMENT CHARACTER}", "given"]
    assert authors(alice) == ["own", "softmax"] and authors(tmp_path / "top.py") == ["given"]
    assert authors(alice, tmp_path)[:2] == ["own", "softmax"], "a file is read as of the first path that leads to it"


def test_a_header_in_the_block_or_at_the_top_of_the_response(tmp_path: Path) -> None:
    for text in (fenced("# problem: matmul\n" + CODE), "# problem: matmul\n" + fenced(CODE)):
        assert [each.problem for each in found(write(tmp_path / "a.md", text), problem=None)] == ["matmul"]


def test_what_is_wrong_with_the_source_comes_before_what_is_wrong_with_the_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", "x = (")
    (submission,) = found(path, problem="nosuch")
    assert category(submission) is Category.SYNTAX_ERROR
    (submission,) = found(write(path, CODE), problem="sofmax")
    assert category(submission) is Category.UNKNOWN_PROBLEM
    assert submission.problem is None


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.py", "", Category.MISSING_MODEL_NEW),
        ("a.py", b"\x89PNG\0\0", Category.UNREADABLE_FILE),
        ("a.py", CODE + "#" * MAX_CODE_BYTES, Category.TOO_LARGE),
        ("a.py", b"#" * (MAX_FILE_BYTES + 1), Category.TOO_LARGE),
        ("a.txt", "prose", Category.NO_CODE_BLOCK),
        ("a.txt", b"#" * (MAX_RESPONSE_BYTES + 1), Category.TOO_LARGE),
        ("a.md", fenced(CODE + "#" * MAX_CODE_BYTES + "\n"), Category.TOO_LARGE),
        ("a.md", fenced("x = 1\n"), Category.MISSING_MODEL_NEW),
        ("a.jsonl", "", Category.UNREADABLE_FILE),
    ],
)
def test_files_that_can_not_be_judged(tmp_path: Path, name: str, content: str | bytes, expected: Category) -> None:
    submission = only(write(tmp_path / name, content))
    assert category(submission) is expected
    assert len(submission.source_sha256) == 64
    assert submission.problem == "softmax"


def test_different_unreadable_files_have_different_hashes(tmp_path: Path) -> None:
    assert len({only(write(tmp_path / "a.py", b"\0" * count)).source_sha256 for count in (1, 2)}) == 2


def test_what_is_no_regular_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere")
    assert [category(each) for each in found(tmp_path)] == [Category.UNREADABLE_FILE] * 2


def test_a_folder_that_can_not_be_listed_is_one_rejected_submission(tmp_path: Path) -> None:
    # Root may list everything, so this looks with another user's eyes where the tests run as root.
    write(tmp_path / "open" / "a.py", CODE)
    write(tmp_path / "shut" / "a.py", CODE)
    (tmp_path / "shut").chmod(0)
    script = (
        "import os, sys; from pathlib import Path; from evaluator.submission.discover import find\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print([s.rejection.category.value for s in find([Path(sys.argv[1])], problem='x', known=['x']) if s.rejection])\n"
    )
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder != Path(tempfile.gettempdir()):
            folder.chmod(0o755)
    try:
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True)
    finally:
        (tmp_path / "shut").chmod(0o755)
    assert done.stdout.strip() == "['unreadable_file']"


def test_submissions_come_one_at_a_time(tmp_path: Path) -> None:
    for index in range(3):
        write(tmp_path / f"{index}.py", CODE)
    submissions = find([tmp_path], problem="softmax", known=KNOWN)
    assert isinstance(submissions, Iterator)
    next(submissions)
    (tmp_path / "2.py").unlink()
    assert [category(each) for each in submissions] == [None, Category.UNREADABLE_FILE]


def test_nothing_is_run_and_torch_is_not_imported(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    path = write(tmp_path / "a.py", f"open({str(marker)!r}, 'w')\n" + CODE)
    script = (
        "import sys; from pathlib import Path; from evaluator.submission.discover import find; import evaluator.problem.problem\n"
        "print(len(list(find([Path(sys.argv[1])]))), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["1", "False"]
    assert not marker.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=400),
        st.lists(
            st.sampled_from(
                ["```python\n", "```\n", "~~~\n", "> ", "- ", "</think>", "<think>", CODE, "class ModelNew", "\t", "\0", "'''", "é\n"]
            )
        ).map(lambda parts: "".join(parts).encode()),
    ),
    suffix=st.sampled_from([".py", ".txt", ".md", ".jsonl"]),
    every_block=st.booleans(),
)
def test_any_bytes_give_at_least_one_submission(tmp_path: Path, data: bytes, suffix: str, every_block: bool) -> None:
    submissions = found(write(tmp_path / f"a{suffix}", data), every_block)
    assert submissions
    for submission in submissions:
        assert len(submission.source_sha256) == 64
        if submission.rejection:
            assert CATEGORIES[submission.rejection.category].status is Status.REJECTED
        else:
            assert "ModelNew" in submission.code


def test_what_an_earlier_run_has_written_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    judged = result(Category.WRONG_VALUES)
    told = feedback(judged, CODE)
    write(tmp_path / "a.py", CODE)
    records = write(tmp_path / "results.jsonl", json.dumps(record(1, judged, told)) + "\n")
    said = write(tmp_path / "feedback.md", told.markdown("1: a.py") + fenced(CODE))
    (tmp_path / "exported.jsonl").write_text(Entry.of(judged, CODE, 1, None).to_line() + "\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert [submission.path.name for submission in found(tmp_path)] == ["a.py", "pipe.jsonl"]
    assert caplog.text.count("holds the results of a run") == 3
    for path in (records, said):
        with pytest.raises(InputError, match="holds the results of a run"):
            find([path], known=KNOWN)
