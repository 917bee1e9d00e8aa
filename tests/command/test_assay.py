"""The command `assay`, as its installation makes it: a script of its own, which is run from a folder with hostile modules."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.__main__ import GROUP_WIDTH, help_text, main
from assay.commands import COMMANDS
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import EVALUATOR_VERSION
from tests.command_line import PROBLEM, PROJECT, RUN_S, submission
from tests.db.samples import result

pytestmark = pytest.mark.slow(35)

SCRIPT = """\
#!{python}
import sys
from {module} import {function}
if __name__ == "__main__":
    sys.exit({function}())
"""
"""What an installation writes for an entry of `[project.scripts]`."""
INTRUDER = "raise SystemExit(f'{__file__} was imported')\n"
INTRUDERS = (
    "db.py",
    "evaluator/__init__.py",
    "command/__init__.py",
    "reference.py",
    "web.py",
    "assay.py",
    "pipeline.py",
    "signal.py",
    "torch.py",
)


@dataclass(frozen=True)
class Installed:
    """The script, and a folder of the user's that has modules of the same names as the project's and Python's."""

    script: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        search = os.pathsep.join([str(PROJECT), str(PROJECT / "client"), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**os.environ, "PYTHONPATH": search, "COLUMNS": "80"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.script, *words], cwd=self.folder, env=self.environment, capture_output=True, encoding="utf-8", timeout=RUN_S
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    entry = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["assay"]
    module, function = entry.split(":")
    script = tmp_path_factory.mktemp("bin") / "assay"
    script.write_text(SCRIPT.format(python=sys.executable, module=module, function=function), encoding="utf-8")
    script.chmod(0o755)
    folder = tmp_path_factory.mktemp("folder")
    texts = dict.fromkeys(INTRUDERS, INTRUDER)
    texts |= {"problems/double.py": PROBLEM.format(operation="* 2"), "double/right.py": submission("x + x")}
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Installed(script, folder)


def test_a_submission_is_judged_listed_and_shown(installed: Installed) -> None:
    judged = installed.run("judge", "double", "--reference", "problems", "--device", "cpu", "--jobs", "1")
    assert judged.returncode == 0, judged.stderr
    assert "1 evaluated: 1 correct" in judged.stdout
    listed = installed.run("list", "--category", "no_custom_kernel", "--run", "last")
    assert listed.returncode == 0 and "double/right.py" in listed.stdout, listed.stderr
    (row,) = json.loads(installed.run("list", "--json").stdout)
    shown = installed.run("show", str(row["evaluation_id"]))
    assert shown.returncode == 0 and "correct/no_custom_kernel" in shown.stdout and "double" in shown.stdout, shown.stderr
    assert installed.run("history", "double/right.py").returncode == 0
    exported = installed.run("export", "--format", "json")
    assert exported.stdout.count("\n") == 1 and "double/right.py" in exported.stdout, exported.stderr


def test_errors_name_the_command_and_hints_work(installed: Installed) -> None:
    missing = installed.run("judge", "nowhere.py")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1) and missing.stderr.startswith("assay judge: "), missing.stderr
    made = installed.run("problems", "new", "mine", "--reference", "problems", "--json")
    steps = json.loads(made.stdout)
    begins = [steps[each].partition(" ") for each in ("check", "judge")]
    assert begins[0][2].startswith("problems check mine") and begins[1][2].startswith("judge "), made.stderr
    assert {each[0].rpartition("/")[2] for each in begins} == {"assay"}
    assert installed.run(*begins[0][2].split()).returncode in (0, 1)
    mistyped = installed.run("lst")
    assert mistyped.returncode == 2 and "no command 'lst'; nearest: list" in mistyped.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_under_its_own_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main([name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: assay {name} ")


def test_the_help_fits_on_a_screen_and_names_every_command(installed: Installed) -> None:
    told = installed.run("--help")
    assert told.returncode == 0 and told.stdout == help_text()
    lines = told.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert [line[GROUP_WIDTH:].split()[0] for line in lines[1:]] == list(COMMANDS)
    assert (installed.run().returncode, installed.run().stdout) == (2, "")
    assert installed.run("--version").stdout == f"assay {EVALUATOR_VERSION}\n"


UNWANTED = {
    ("--help",): ("torch", "sqlalchemy", "pydantic", "rich", "numpy", "db", "shtab"),
    ("judge", "--help"): ("torch", "sqlalchemy", "pydantic", "rich", "numpy", "multiprocessing"),
    ("list", "--help"): ("torch", "sqlalchemy", "pydantic", "rich", "numpy"),
    ("calibrate", "--help"): ("torch", "sqlalchemy", "pydantic", "rich"),
    ("serve", "--help"): ("torch", "sqlalchemy", "pydantic", "fastapi"),
}
"""Those that may import most come last, as one process asks for all."""


def test_help_imports_nothing_heavy() -> None:
    code = f"""if True:
        import contextlib, sys
        from assay.__main__ import main
        for words, unwanted in {UNWANTED!r}.items():
            with contextlib.suppress(SystemExit):
                main(words)
            print("imported:", [name for name in unwanted if name in sys.modules])
    """
    finished = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    told = [line for line in finished.stdout.splitlines() if line.startswith("imported:")]
    assert told == ["imported: []"] * len(UNWANTED)


def test_bash_completes_commands_options_values_and_files(installed: Installed, tmp_path: Path) -> None:
    script = tmp_path / "assay.bash"
    script.write_text(installed.run("completion", "bash").stdout, encoding="utf-8")
    assert subprocess.run(["bash", "-n", script], capture_output=True).stderr == b""
    with Store.open(f"sqlite:///{tmp_path / 'mine.db'}") as store:
        for number, author in enumerate(("ada-1", "$(touch${IFS}intruder)", "ada;x", None)):
            store.save(result(Category.TIMEOUT, author=author, problem="mine", submission=f"{number}.py"), "")
    (tmp_path / "assay.toml").write_text(f'db = "{tmp_path / "mine.db"}"\n')
    environment = installed.environment | {"ASSAY_CONFIG": str(tmp_path / "assay.toml")}
    for words, expected in (
        (["list", "--author", "a"], "ada-1"),
        (["list", "--author", "$"], ""),
        (["leaderboard", "--problem", "mi"], "mine mish"),
        (["judge", "--problem", "softm"], "softmax"),
        (["lead"], "leaderboard"),
        (["list", "--stat"], "--status"),
        (["list", "--status", "dis"], "disqualified"),
        (["problems", "che"], "check"),
        (["service", "token", "rev"], "revoke"),
        (["judge", "--device", "cpu", "dou"], "double"),
    ):
        line = " ".join([str(installed.script), *words])
        ask = f'. {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE="{line}"; COMP_POINT={len(line)}'
        asked = f'{ask}; "$(complete -p assay | sed "s/.*-F \\([^ ]*\\).*/\\1/")"; echo "${{COMPREPLY[@]}}"'
        told = subprocess.run(["bash", "-c", asked], cwd=installed.folder, env=environment, capture_output=True, text=True)
        assert told.stdout.split() == expected.split(), (words, told)
    authors = subprocess.run([installed.script, "completion", "authors"], env=environment, capture_output=True, text=True)
    assert authors.stdout == "ada-1\n", "no name that a shell would expand"


def test_zsh_gets_a_script_for_its_completion(installed: Installed) -> None:
    script = installed.run("completion", "zsh").stdout
    assert script.startswith("#compdef assay\n")
    for name in COMMANDS:
        assert f"\n    {name}:'" in script, name
    assert script.count(":_assay_authors") >= 3 and "_assay_authors() {" in script
