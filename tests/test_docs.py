"""The documents against the program: what exists is documented, and what is shown works."""

import argparse
import re
import tomllib
from pathlib import Path

import pytest
import torch
from fastapi.routing import APIRoute

import reference.__main__
from assay.commands import COMMANDS
from assay.option_tables import tables
from command import exits
from db.schema.models import Base
from db.store import Store
from evaluator.judge.correctness.tolerance import BASE_TOLERANCE
from evaluator.problem.declaration import Declaration
from evaluator.problem.load import load
from evaluator.results.category import CATEGORIES, Status
from evaluator.results.distributions import DISTRIBUTIONS, OWN, RUNS
from evaluator.submission.manifest import load_manifest
from evaluator.submission.source import examine
from tests.command_line import PROJECT
from tests.db.samples import result
from web.app import PARTS
from web.service.http import calls, draining, queries

pytestmark = pytest.mark.slow(3)

README = PROJECT / "README.md"
DOCUMENTS = [README, PROJECT / "CONTRIBUTING.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").rglob("*.md"))]


def document(name: str) -> str:
    return (PROJECT / "docs" / name).read_text(encoding="utf-8")


def code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Long options of a parser and of its commands."""
    found = set()
    for action in parser._actions:
        found |= {option for option in action.option_strings if option.startswith("--")}
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found |= options(command)
    return found


def anchors(text: str) -> set[str]:
    """The anchor of a heading."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_tables_of_options_are_those_of_the_parsers() -> None:
    pytest.importorskip("assay_client")
    assert document("command-line.md").split("<!-- python -m assay.option_tables -->\n\n")[1] == tables()


def test_every_option_of_every_command_is_in_the_tables() -> None:
    existing = {option for command in COMMANDS.values() for option in options(command.parser())} - {"--help"}
    written = re.findall(r"^\| `(--.*?)`", tables(), re.MULTILINE)
    assert {option for each in written for option in re.findall(r"--[a-z-]+", each)} == existing
    assert {"--strict-shapes", "--all-cases", "--kernelbench", "--quota", "--token-file"} <= existing


def test_every_call_of_the_service_is_documented_and_no_other() -> None:
    routes = [route for part in (calls, draining, queries) for route in part.router.routes if isinstance(route, APIRoute)]
    existing = {f"{method} {re.sub('public_id', 'id', route.path)}" for route in routes for method in route.methods or ()}
    rows = re.findall(r"^\| (`(?:GET|POST|DELETE) .*?) \|", document("service.md"), re.MULTILINE)
    documented = {re.sub(r"\?.*", "", call) for row in rows for call in re.findall(r"`(.*?)`", row)}
    assert documented - {"GET /openapi.json"} == existing


def test_every_page_is_documented_and_no_other() -> None:
    routes = [route for part in PARTS for route in part.router.routes if isinstance(route, APIRoute)]
    paths = {route.path for route in routes if not route.path.endswith((".json", ".csv", ".svg", "/events"))}
    rows = re.findall(r"^\| (`/.*?) \|", document("pages.md"), re.MULTILINE)
    documented = {re.sub(r"\?.*", "", address) for row in rows for address in re.findall(r"`(.*?)`", row)}
    assert documented == {re.sub(r"\{.*?\}", "N", path) for path in paths}
    assert len(documented) > 8


def test_every_exit_code_is_documented() -> None:
    text = document("command-line.md").split("## Exit codes")[1].split("## ")[0]
    codes = {exits.ALL_EVALUATED, exits.SOME_NOT_EVALUATED, exits.USAGE, exits.FAILED_ON, exits.INTERRUPTED}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes


def test_every_field_of_a_json_record_is_documented_and_no_other() -> None:
    text = document("command-line.md").split("## JSON records")[1].split("## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    documented = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert documented == {"id", "line", "feedback", *result().summary()}


@pytest.mark.parametrize("status", Status)
def test_every_category_is_documented_under_its_status(status: Status) -> None:
    section = document("verdicts.md").split(f"## `{status}`\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
    assert rows == {category.value: info.meaning for category, info in CATEGORIES.items() if info.status is status}
    assert f"`{status}`" in README.read_text(encoding="utf-8")


def test_every_key_of_a_declaration_is_documented_and_no_other() -> None:
    text = document("problems.md").split("## ASSAY")[1].split("## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == set(Declaration.model_fields)


def test_the_table_of_problems_is_that_of_their_files() -> None:
    section = document("problems.md").split("## Problems of language models")[1]
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| ?(.*?) ?\|$", section, re.MULTILINE))
    assert len(rows) == 10
    for name, told in rows.items():
        declared = load(PROJECT / "reference" / f"{name}.py").declaration
        assert declared.floor is not None
        assert (declared.dtype or "") in told and ("bfloat16" in told) == (declared.dtype == "bfloat16")
        assert ("any inputs" in told) == (declared.inputs == "any") and ("`compute`" in told) == (declared.compute is not None)
        assert ("tolerance" in told) == (declared.tolerance != 1.0)
        has_operations = declared.floor.operations != "0"
        assert ("floor" in told) == (declared.floor.reads != "all" or has_operations) and ("¾" in told) == has_operations


def test_every_distribution_is_documented() -> None:
    text = document("architecture.md").split("## The rounds")[1].split("## ")[0]
    assert set(re.findall(r"^(?:\||-) `(\w+)`", text, re.MULTILINE)) | {RUNS} == set(DISTRIBUTIONS) - {OWN} and f"`{RUNS}` follows" in text


def test_the_table_of_tolerances_is_that_of_the_program() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d.e-]+) \|", document("architecture.md"), re.MULTILINE)
    assert {getattr(torch, name): float(floor) for name, floor in rows} == BASE_TOLERANCE


def test_every_message_to_a_worker_is_documented() -> None:
    source = (PROJECT / "evaluator/worker/server.py").read_text(encoding="utf-8")
    handled = set(re.findall(r'"(\w+)": \w+\.\w+,$', source, re.MULTILINE))
    text = document("protocol.md").split("| judge → worker |")[1].split("| worker → judge |")[0]
    assert len(handled) > 5
    assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == handled


def test_the_example_problem_loads_and_draws(tmp_path: Path) -> None:
    (example,) = [block for block in code_blocks(document("problems.md"), "python") if "normalize(x" in block]
    path = tmp_path / "l2_norm.py"
    path.write_text(example, encoding="utf-8")
    problem = load(path)
    assert problem.case_names == ("full", "small")
    case = problem.instance("small")
    (x,) = case.inputs(1, "cpu")
    assert x.shape == (19, 1021)
    assert torch.linalg.vector_norm(case.model(1)(x), dim=1).allclose(torch.ones(19))


def test_the_problem_that_is_added_step_by_step_is_admitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (example,) = [block for block in code_blocks(document("problems.md"), "python") if "gelu(a)" in block]
    assert reference.__main__.main(["new", "geglu", "--reference", str(tmp_path)]) == 0
    (tmp_path / "geglu.py").write_text(example, encoding="utf-8")
    assert reference.__main__.main(["check", "geglu", "--reference", str(tmp_path)]) == 0
    capsys.readouterr()
    for change, told in (
        (
            ("    return [torch.randn(rows, columns), torch.randn(rows, columns)]", "    return [torch.ones(rows, columns)] * 2"),
            "two seeds give the same inputs",
        ),
        (("nn.functional.gelu(a) * b", "0.0 * a"), "zeros passes as the output"),
        (('"description"', '"dtyp"'), "geglu.py:10: ASSAY has no key 'dtyp'; nearest: dtype"),
    ):
        assert change[0] in example
        (tmp_path / "geglu.py").write_text(example.replace(*change), encoding="utf-8")
        assert reference.__main__.main(["check", "geglu", "--reference", str(tmp_path)]) == 1
        assert told in capsys.readouterr().out


def test_the_example_submission_would_be_judged() -> None:
    (example,) = code_blocks(README.read_text(encoding="utf-8"), "python")
    assert examine(example) is None


def test_the_example_manifest_is_read(tmp_path: Path) -> None:
    (example,) = code_blocks(document("submissions.md"), "toml")
    assert tomllib.loads(example)
    (tmp_path / "manifest.toml").write_text(example, encoding="utf-8")
    manifest = load_manifest(tmp_path)
    assert manifest is not None
    assert manifest.names("fast.py") == ("leaky_relu", "someone else")
    assert manifest.names("other.py") == ("softmax", "someone")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith(("https:", "http:")):
            continue
        name, _, anchor = target.partition("#")
        other = path.parent / name if name else path
        assert other.exists(), target
        assert not anchor or anchor in anchors(other.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_of_the_source_that_is_named_exists(path: Path) -> None:
    named = re.findall(r"`((?:command|db|deploy|evaluator|tests|web)/[a-z_0-9./-]+)`", path.read_text(encoding="utf-8"))
    assert not [name for name in named if not (PROJECT / name).exists()]


def test_every_table_is_documented_and_no_other() -> None:
    text = document("database.md").split("## Tables")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set(Base.metadata.tables)


def test_the_example_queries_run(tmp_path: Path) -> None:
    text = document("database.md").split("## Tables")[1].split("\n## ")[0]
    queries = re.findall(r"^    (SELECT .*);$", text, re.MULTILINE)
    assert len(queries) == 2
    with Store.open(f"sqlite:///{tmp_path}/assay.db") as store, store.read() as connection:
        for query in queries:
            assert connection.exec_driver_sql(query).all() == []


def test_the_example_of_reading_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = code_blocks(document("database.md"), "python")
    monkeypatch.chdir(tmp_path)
    Store.open().close()
    names: dict[str, object] = {}
    exec(example, names)
    assert names["rows"] == () and names["stored"] is None
