"""Mistakes on the command line: one line, exit code 2, and nothing is lost."""

from pathlib import Path

import pytest

import pipeline
from tests.command_line import PROJECT, Bench, refused, submission

pytestmark = pytest.mark.slow(2)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_database_that_is_none_is_refused(bench: Bench) -> None:
    bench.write("double/right.py", submission())
    text = "these are notes, and no tables\n" * 100
    notes = bench.write("plain.txt", text)
    assert "not a database" in refused(bench.run("double", "--db", f"sqlite:///{notes}"))
    assert notes.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.py",), "nowhere.py: does not exist"),
        (("problems/empty",), "empty: no submissions in this folder"),
        (("--problem", "99"), "there is no problem '99'"),
        (("--case", "huge"), "no case 'huge'"),
        (("--device", "tpu"), "no device 'tpu'"),
        (("--device", "cuda:99"), "no device cuda:99"),
        (("--json", "missing/results.jsonl"), "--json missing/results.jsonl: No such file"),
        (("--json", "double"), "double: this run writes this file"),
        (("--timeout", "0"), "--timeout"),
        (("--timeout", "nan"), "--timeout"),
        (("--device-kind", "H200"), "--engine ray"),
        (("--engine", "ray", "--cores", "0"), "--cores"),
        (("--engine", "ray", "--ray-address", "127.0.0.1:1"), "no Ray cluster at 127.0.0.1:1"),
        (("--engine", "ray", "--ray-address", "ray://127.0.0.1:1"), "HOST:PORT"),
        (("--device", "cpu", "--protocol", "graph"), "--protocol: there is no protocol 'graph' for a device of kind cpu; use cpu"),
        (("--device", "cpu", "--cores", "99999"), "--cores: this process may not run on 99999"),
        (("--db", "mysql://host/results"), "not supported"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(bench: Bench, arguments: tuple[str, ...], says: str) -> None:
    bench.write("double/right.py", submission())
    (bench.root / "problems/empty").mkdir()
    assert says in refused(bench.run("double", *arguments))
    assert not bench.database.exists() or bench.rows() == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sanitize", "valgrind"), "'valgrind' is not auto, all or one of memcheck, racecheck, initcheck, synccheck"),
        (("--baseline", "eager,fastest"), "there is no baseline fastest; use eager or eager,compile"),
        (("--cores", "two"), "'two' is no list of cores as in 0-3,8"),
        (("--dtype", "int8"), "must be one of fp16, bf16"),
        (("--jobs", "two"), "--jobs: must be a whole number from 1, not 'two'"),
        (("--devise", "cpu"), "no option '--devise'; nearest: --device"),
    ],
)
def test_what_no_option_takes_is_refused_in_one_line(arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        pipeline.main(["double", *arguments])
    told = capsys.readouterr().err
    assert refused.value.code == 2 and says in told and told.count("\n") == 1


def test_what_is_missing_for_a_cluster_is_named(bench: Bench) -> None:
    bench.write("double/right.py", submission())
    bench.write("without/ray/__init__.py", "raise ImportError('none here')")
    found = bench.run_apart("double", "--engine", "ray", PYTHONPATH=f"{bench.root / 'without'}:{PROJECT}")
    assert "--engine ray needs Ray (none here): pip install" in refused(found)
