"""The JUnit file and `--fail-on`, for CI systems."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from command.exits import UsageError
from command.junit import JUnitFile, outcome
from db.store import Store
from evaluator.results.category import CATEGORIES, Category, Status
from tests.command_line import Bench, submission
from tests.db.samples import full_evidence, result

pytestmark = pytest.mark.slow(12)

TEXT = {"type", "message"}
STRUCTURE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "group", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), TEXT, set()),
    "error": (set(), TEXT, set()),
    "skipped": (set(), TEXT, set()),
    "system-out": (set(), set(), set()),
}
"""Element → required attributes, optional attributes, children.
This is Jenkins' schema `junit-10.xsd` for the elements that Assay writes."""
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")
HOSTILE = "]]><failure/> & \"quoted\" 'too' \x00\x1b[2J\x08\ufffe\uffff\ud800 \u202e é 核 <!-- \n\t end"


def read(path: Path) -> Element:
    """The file, which keeps to the schema, and whose counts are right."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, allowed, children = STRUCTURE[element.tag]
        assert needed <= set(element.attrib) <= needed | allowed, (element.tag, element.attrib)
        assert {child.tag for child in element} <= children
        assert TIME.fullmatch(element.get("time", "0"))
    for counted in (root, *root.iter("testsuite")):
        assert int(counted.attrib["tests"]) == len(list(counted.iter("testcase")))
        for name, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            assert int(counted.get(name, len(list(counted.iter(tag))))) == len(list(counted.iter(tag)))
    return root


def cases(root: Element) -> dict[str, Element]:
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def test_every_category_is_told_with_its_message_its_hint_and_its_feedback(tmp_path: Path) -> None:
    file = JUnitFile(str(tmp_path / "out.xml"))
    with Store.open(f"sqlite:///{tmp_path / 'assay.db'}") as store:
        for category in Category:
            problem = None if category.status is Status.REJECTED else "softmax" if len(category) % 2 else "gelu"
            said: dict[str, Any] = {"message": f"seen of {category}", "hint": CATEGORIES[category].hint}
            told = result(category, submission=f"{category}.py", problem=problem, duration_s=1.25, **said)
            file.add(store.save(told, "1"))
        file.write(store)
    root = read(tmp_path / "out.xml")
    assert [suite.attrib["name"] for suite in root] == ["(no problem)", "gelu", "softmax"]
    assert set(cases(root)) == {f"{category}.py" for category in Category}
    for category in Category:
        case = cases(root)[f"{category}.py"]
        (told_in,) = case
        assert case.attrib["time"] == "1.250"
        assert told_in.tag == (outcome(category) or "system-out")
        assert (told_in.tag == "system-out") is (category.status is Status.CORRECT)
        if told_in.tag != "system-out":
            assert (told_in.attrib["type"], told_in.attrib["message"]) == (category, f"seen of {category}")
        assert CATEGORIES[category].hint in (told_in.text or "") and f"{category.status}/{category}" in (told_in.text or "")


def test_names_and_messages_of_strangers_stay_text(tmp_path: Path) -> None:
    file = JUnitFile(str(tmp_path / "out.xml"))
    with Store.open(f"sqlite:///{tmp_path / 'assay.db'}") as store:
        names: dict[str, Any] = {"submission": HOSTILE, "problem": HOSTILE, "author": HOSTILE, "message": HOSTILE}
        file.add(store.save(result(Category.WRONG_VALUES, evidence=full_evidence(HOSTILE), **names), HOSTILE))
        file.write(store)
    root = read(tmp_path / "out.xml")
    (case,) = root.iter("testcase")
    assert [child.tag for child in case] == ["failure"]
    assert (
        "]]><failure/> & \"quoted\" 'too' \\x00\\x1b[2J\\x08\\ufffe\\uffff" in case.attrib["name"] and "\\u202e é 核" in case.attrib["name"]
    )
    assert case.attrib["classname"] == root[0].attrib["name"] and "\\x1b" in case[0].attrib["message"]


def test_what_another_run_has_replaced_is_left_out(tmp_path: Path) -> None:
    file = JUnitFile(str(tmp_path / "out.xml"))
    with Store.open(f"sqlite:///{tmp_path / 'assay.db'}") as store:
        file.add(store.save(result(Category.NO_DEVICE), "1"))
        file.add(store.save(result(Category.OK), "1"))
        file.write(store)
    assert len(cases(read(tmp_path / "out.xml"))) == 1


@pytest.mark.parametrize("place", ["-", ".", "missing/out.xml"])
def test_a_place_for_no_file_is_refused(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"--junit {place}: "):
        JUnitFile(place)


# Runs


def outcomes(root: Element) -> dict[str, str]:
    return {name: case[0].tag for name, case in cases(root).items()}


def test_a_run_fails_on_what_it_is_told_to_and_so_does_its_repetition(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("double/unread.py", "class ModelNew(:\n")
    bench.write("double/for_a_gpu.py", submission())
    where = ("double", "--device", "auto", "--junit", "out.xml")
    without = bench.run(*where, CUDA_VISIBLE_DEVICES="")
    assert without.code == 1 and "--fail-on" not in without.stdout
    assert outcomes(read(tmp_path / "out.xml")) == {"double/unread.py": "failure", "double/for_a_gpu.py": "skipped"}
    for choice, told in (("incorrect", "1 rejected"), ("any", "1 not_evaluated, 1 rejected")):
        (tmp_path / "out.xml").unlink()
        again = bench.run(*where, "--fail-on", choice, CUDA_VISIBLE_DEVICES="")
        assert again.code == 3 and f"--fail-on {choice}: {told}\n" in again.stdout
        assert "1 already judged and skipped" in again.stdout
        assert len(outcomes(read(tmp_path / "out.xml"))) == 2, "what was judged before is told too"
    (tmp_path / "double/unread.py").unlink()
    assert bench.run(*where, "--fail-on", "incorrect", CUDA_VISIBLE_DEVICES="").code == 1
    assert bench.run(*where, "--fail-on", "any", CUDA_VISIBLE_DEVICES="").code == 3
    assert not list(tmp_path.glob("*.part"))


def test_a_run_of_right_submissions_does_not_fail(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("double/right.py", submission())
    finished = bench.run("double", "--junit", "out.xml", "--fail-on", "any")
    assert finished.code == 0, finished.stderr
    (case,) = cases(read(tmp_path / "out.xml")).values()
    assert case.attrib["classname"] == "double" and float(case.attrib["time"]) > 0 and case[0].tag == "system-out"
