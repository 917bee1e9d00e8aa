"""Options from a file: the command line overrides the file, and the file the default."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import command.calibrate
import command.options
import db.__main__
import reference.__main__
import web.__main__
import web.service.options
from assay.__main__ import main as assay
from assay.commands import COMMANDS, check_file
from configuration.file import VARIABLE
from configuration.options import use_file
from configuration.values import name_of, options_of
from tests.command_line import PROJECT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "assay.toml").write_text(text, encoding="utf-8")


def judge(*words: str) -> tuple[argparse.Namespace, str]:
    """The options of the judge's command line with these words, and the line that says which are from the file."""
    parser = command.options.parser()
    line = use_file(parser, ["x.py", *words], "judge")
    return parser.parse_args(["x.py", *words]), line


def of_database(*words: str) -> argparse.Namespace:
    parser, _ = db.__main__.parsers()
    use_file(parser, words)
    return parser.parse_args(words)


def error_of(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line with which `assay` refuses these arguments."""
    try:
        code = assay(words)
    except SystemExit as end:
        assert isinstance(end.code, int)
        code = end.code
    told = capsys.readouterr()
    assert (code, told.out, told.err.count("\n")) == (2, "", 1), told
    return told.err


def test_the_command_line_beats_the_file_and_that_the_default(folder: Path) -> None:
    write(folder, 'timeout = 30\ndevice = "cpu"\nreference = ["mine", "/yours"]\nrerun = true\nbaseline = "eager,compile"\ndtype = "bf16"')
    options, line = judge("--timeout", "7", "--reference", "theirs")
    assert (options.timeout, options.device, options.rerun, options.dtype) == (7.0, "cpu", True, "bfloat16")
    assert options.reference == [Path("theirs")]
    assert options.baseline == ("eager", "compile")
    assert options.jobs is None and options.db == "assay.db"
    assert line == f"Options from {folder}/assay.toml: device, rerun, baseline, dtype"
    assert judge()[0].reference == [folder / "mine", Path("/yours")]


def test_what_the_file_turns_off_can_be_turned_on_again(folder: Path) -> None:
    write(folder, "timing = false")
    assert [judge(*words)[0].timing for words in ((), ("--timing",))] == [False, True]
    write(folder, "")
    assert [judge(*words)[0].timing for words in ((), ("--no-timing",))] == [True, False]


def test_without_a_file_nothing_changes(folder: Path) -> None:
    options, line = judge("--jobs", "2")
    assert line == "" and options == command.options.parser().parse_args(["x.py", "--jobs", "2"])


def test_a_commands_own_table_beats_the_keys_at_the_top(folder: Path) -> None:
    write(folder, 'device = "cuda"\n[judge]\ndevice = "cpu"\n[calibrate]\ndevice = "cuda:1"\n[serve]\nport = 9000')
    assert judge()[0].device == "cpu"
    for main, name, words in (
        (command.calibrate.parser(), "calibrate", ["--json"]),
        (web.__main__.parser(), "serve", []),
        (reference.__main__.parser(), "problems", ["check"]),
        (web.service.options.parser(), "service", []),
    ):
        use_file(main, words, name)
        options = main.parse_args(words)
        expected = {"calibrate": "cuda:1", "problems": "cuda", "service": "cuda"}
        assert getattr(options, "device", None) == expected.get(name)
        assert getattr(options, "port", None) == {"serve": 9000, "service": 8400}.get(name)


def test_relative_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    write(folder, 'db = "sqlite:///data/x.db"\njson = "-"\nfeedback = ["markdown", "told.md"]\nreference = ["~/problems"]')
    options, _ = judge()
    assert options.db == f"sqlite:///{folder}/data/x.db" and options.json == "-"
    assert options.feedback == ["markdown", f"{folder}/told.md"] and options.reference == [Path("/home/ada/problems")]
    assert of_database("list").db == options.db
    for path in ("data/x.db", "~/x.db"):
        write(folder, f'db = "{path}"')
        assert judge()[0].db == {"data/x.db": f"{folder}/data/x.db", "~/x.db": "/home/ada/x.db"}[path]
    for url in ("sqlite:////data/x.db", "/data/x.db", "postgresql+psycopg://me@host/name"):
        write(folder, f'db = "{url}"')
        assert judge()[0].db == url


def test_of_the_keys_at_the_top_what_asks_the_database_takes_its_address_alone(folder: Path) -> None:
    write(
        folder,
        'db = "sqlite:////a.db"\ndevice = "cuda"\nproblem = "softmax"\n[list]\nlimit = 3\nstatus = "correct"\n[export]\nformat = "csv"',
    )
    options = of_database("list", "--limit", "5")
    assert (options.db, options.device, options.problem, options.limit, options.status) == ("sqlite:////a.db", None, None, 5, "correct")
    assert of_database("export").format == "csv" and of_database("leaderboard").db == "sqlite:////a.db"
    assert of_database("--db", "sqlite:///b.db", "list").db == of_database("list", "--db", "sqlite:///b.db").db == "sqlite:///b.db"


def test_an_option_on_the_command_line_beats_what_excludes_it_in_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "no-sandbox = true\nown-shapes = true\nrerun = true")
    options, line = judge("--sandbox", "landlock", "--strict-shapes")
    assert (options.sandbox, options.no_sandbox, options.strict_shapes, options.own_shapes) == ("landlock", False, True, False)
    assert line.endswith(": rerun")
    write(folder, 'sandbox = "landlock"\n[judge]\nno-sandbox = true')
    assert judge()[0].no_sandbox and judge()[0].sandbox is None
    write(folder, 'sandbox = "landlock"\nno-sandbox = true')
    assert "exclude each other" in error_of(["judge", "x.py"], capsys)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("timout = 3", "no option 'timout'; nearest: timeout"),
        ("[juge]\ntimeout = 3", "no command 'juge'; nearest: judge"),
        ("[serve]\nprot = 3", "[serve] no option 'prot'; nearest: port"),
        ("timeout = 'soon'", "timeout: 'soon' is not an allowed number"),
        ("timeout = true", "timeout: must be a value, not true"),
        ("rerun = 1", "rerun: must be true or false"),
        ("problem = 23", 'problem: must be a text: "23"'),
        ("cores = [0, 1]", "cores: must be a single value"),
        ("feedback = 'markdown'", "feedback: must be a list of FORMAT and FILE"),
        ("jobs = 0", "jobs: must be a whole number from 1, not '0'"),
        ("engine = 'rya'", "engine: no value 'rya'; nearest: ray"),
        ("dtype = 'fp17'", "dtype: must be one of "),
        ("status = 'correct'", "status belongs in a table: [list]"),
        ("explain = 'ok'", "no option 'explain'"),
        ("[list]\nsince = 'today'", "[list] since: invalid time 'today'"),
        ("timeout = ", "it is not TOML"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_key(folder: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, text)
    for words in (["judge", "x.py"], ["leaderboard"], ["calibrate"]):
        assert error_of(words, capsys).startswith(f"assay {words[0]}: {folder}/assay.toml: {told}")


def test_a_file_with_a_mistake_does_not_keep_help_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "timout = 3")
    with pytest.raises(SystemExit) as end:
        assay(["judge", "--help"])
    assert end.value.code == 0 and "assay.toml" in capsys.readouterr().out


def test_every_option_of_every_command_can_stand_in_a_file() -> None:
    taken = {name: {name_of(action) for action in options_of(each.parser())} for name, each in COMMANDS.items()}
    assert {"db", "reference", "sandbox", "no-sandbox", "protocol"} <= taken["judge"] and "explain" not in taken["judge"]
    assert {"scope", "max-body"} <= taken["service"] and "all-cases" in taken["problems"] and not taken["completion"]


def test_the_documented_file_is_taken(folder: Path) -> None:
    text = (PROJECT / "docs/command-line.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    write(folder, example)
    check_file()
    options, _ = judge()
    assert (options.device, options.timeout, options.strict_shapes, options.db) == (
        "cuda",
        30.0,
        True,
        f"{folder}/results/assay.db",
    )
    assert of_database("list").limit == 50
