"""The worker's table of handlers, and the names by which attacks patch it."""

import importlib
import re
from pathlib import Path
from types import CodeType

import pytest

import evaluator.worker
from evaluator.worker import server
from evaluator.worker.server import HANDLERS

CORPUS = sorted((Path(__file__).parents[1] / "attacks" / "corpus").glob("*.py"))
HANDLER_FILES = sorted((Path(evaluator.worker.__file__).parent / "handlers").glob("*.py"))


def functions_of_worker() -> set[str]:
    """The names of all functions that answer requests, and of those that they call."""
    code = [compile(path.read_text(encoding="utf-8"), str(path), "exec") for path in HANDLER_FILES]
    return {each.co_name for module in code for each in module.co_consts if isinstance(each, CodeType)}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_an_attack_patches_or_looks_for_in_the_worker_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r'sys\.modules\.get\("(evaluator\.worker[\w.]*)"\)', text):
        importlib.import_module(name)
    assert set(re.findall(r'(?:handlers|HANDLERS)\["(\w+)"\]', text)) <= HANDLERS.keys()
    for name in re.findall(r'"evaluator\.worker\.server"\), "(\w+)"', text):
        assert hasattr(server, name)
    looked_for = re.findall(r'co_name (?:==|!=|in) (\(?(?:"\w+"(?:, )?)+\)?)', text)
    assert {name for each in looked_for for name in re.findall(r'"(\w+)"', each)} <= functions_of_worker()
    for end in re.findall(r'co_filename\.endswith\("([^"]+)"\)', text):
        assert any(str(file).endswith(end) for file in HANDLER_FILES), end
    for module, name in re.findall(r"^ +(timing)\.(\w+)\(", text, re.MULTILINE):
        assert hasattr(importlib.import_module(f"evaluator.worker.handlers.{module}"), name)
