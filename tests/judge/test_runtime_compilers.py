"""What a machine lacks is told by looking for it, and never by what a worker says."""

import shutil
import sysconfig
from pathlib import Path

import pytest

from evaluator.category import Category
from evaluator.diagnosis import Verdict
from evaluator.evidence import ExceptionEvidence
from evaluator.judge import runtime_compilers
from evaluator.judge.runtime_compilers import interpreted, is_installed, without_blame
from evaluator.worker.launch_table import INTERPRETED
from tests.diagnosis.evidence import exception, launch

REFUSED = Verdict(Category.IMPORT_ERROR, "so")


def missing(module: str) -> ExceptionEvidence:
    return exception("ModuleNotFoundError", f"No module named '{module}'", "load")


@pytest.fixture(params=[True, False], ids=["installed", "missing"])
def there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(runtime_compilers, "is_installed", lambda _: request.param)
    return bool(request.param)


@pytest.mark.parametrize("module", ["triton", "cupy", "numba", "numba.cuda"])
def test_a_compiler_that_is_not_installed_is_the_machines_lack(module: str, there: bool) -> None:
    verdict = without_blame(REFUSED, missing(module))
    assert verdict.category is (Category.IMPORT_ERROR if there else Category.NO_TOOLCHAIN)
    assert there or "is not installed" in verdict.message


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    "other",
    [missing("flash_attn"), missing("triton.nothing"), exception("ImportError", "No module named 'triton'"), exception(), None],
    ids=["no compiler", "a part of one", "another exception", "no import", "none"],
)
def test_everything_else_stays_as_it_is(other: ExceptionEvidence | None) -> None:
    assert without_blame(REFUSED, other) is REFUSED


def test_a_verdict_that_rests_on_more_is_no_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_compilers, "is_installed", lambda _: False)
    wrong = Verdict(Category.WRONG_VALUES, "so")
    assert without_blame(wrong, missing("triton")) is wrong


def test_what_triton_compiles_its_launcher_with_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raised = Verdict(Category.PYTHON_EXCEPTION, "so")
    said = exception("RuntimeError", "Failed to find C compiler. Please specify via CC environment variable")
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/gcc")
    assert without_blame(raised, said) is raised
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert without_blame(raised, said).category is Category.NO_TOOLCHAIN
    failed = exception("CalledProcessError", "Command '['gcc', '/tmp/x/cuda_utils.c', …]' returned non-zero exit status 1.")
    monkeypatch.setattr(sysconfig, "get_paths", lambda **_: {"include": str(tmp_path)})
    assert without_blame(raised, failed).category is Category.NO_TOOLCHAIN
    (tmp_path / "Python.h").touch()
    assert without_blame(raised, failed) is raised


def test_packages_are_looked_for_without_being_imported() -> None:
    assert is_installed("torch")
    assert not is_installed("no_such_package_anywhere")


def test_only_own_kernels_of_the_interpreter_stand_in_for_an_extension() -> None:
    own = launch().model_copy(update={"api": INTERPRETED})
    assert interpreted((launch(), own))
    assert not interpreted((launch(), own.model_copy(update={"own": False})))
