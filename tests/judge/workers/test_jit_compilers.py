"""The judge looks for missing compilers itself, and never asks a worker."""

import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.diagnosis import Verdict
from evaluator.dsl import numba as numba_dsl
from evaluator.judge import limits
from evaluator.judge.workers import jit_compilers
from evaluator.judge.workers.jit_compilers import interpreted, is_installed, without_blame
from evaluator.results.category import Category
from evaluator.results.evidence import ExceptionEvidence
from evaluator.worker.recorder import INTERPRETED
from tests.diagnosis.evidence import exception, launch

REFUSED = Verdict(Category.IMPORT_ERROR, "so")


def missing(module: str) -> ExceptionEvidence:
    return exception("ModuleNotFoundError", f"No module named '{module}'", "load")


@pytest.fixture(params=[True, False], ids=["installed", "missing"])
def there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(jit_compilers, "is_installed", lambda _: request.param)
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
    monkeypatch.setattr(jit_compilers, "is_installed", lambda _: False)
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


BROKEN = "module 'numpy' has no attribute 'row_stack'"
SOURCE = "from numba import cuda"


@pytest.fixture
def numba(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An installation of Numba whose `cuda` is what the test says; what is set up when it first compiles calls its `refresh`."""
    (tmp_path / "numba/cuda").mkdir(parents=True)
    (tmp_path / "numba/__init__.py").touch()
    (tmp_path / "numba/cuda/__init__.py").write_text(request.param)
    (tmp_path / "numba/cuda/descriptor.py").write_text(TARGET)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(jit_compilers, "_TRIED", {})
    yield


IMPORTING = f'raise AttributeError("{BROKEN}")'
DECORATING = f"print('not JSON')\ndef jit(function):\n    {IMPORTING}"
SETTING_UP = f"def jit(function):\n    return function\n\ndef refresh():\n    {IMPORTING}"
WORKING = "print('[1, 2]')\ndef jit(function):\n    return function\n\ndef refresh():\n    return None"
TARGET = """
import types
from numba import cuda

class Target:
    typing_context = property(lambda self: types.SimpleNamespace(refresh=cuda.refresh))

cuda_target = Target()
"""


@pytest.mark.parametrize("numba", [IMPORTING, DECORATING, SETTING_UP], ids=["importing", "decorating", "setting up"], indirect=True)
@pytest.mark.usefixtures("numba")
def test_a_library_that_fails_in_the_same_way_without_the_submission_is_the_machines_fault() -> None:
    for raised in (Verdict(Category.PYTHON_EXCEPTION, "so"), REFUSED):
        verdict = without_blame(raised, exception("AttributeError", BROKEN), SOURCE)
        assert verdict == Verdict(Category.NO_TOOLCHAIN, f"numba is broken on this machine: AttributeError: {BROKEN}")
    raised = Verdict(Category.PYTHON_EXCEPTION, "so")
    others = [(exception("AttributeError", BROKEN + "s"), SOURCE), (exception("TypeError", BROKEN), SOURCE)]
    named_only = [(exception("AttributeError", BROKEN), source) for source in ("import torch", "import torch  # numba", "numba = (")]
    for said, source in [*others, *named_only]:
        assert without_blame(raised, said, source) is raised
    wrong = Verdict(Category.WRONG_VALUES, "so")
    assert without_blame(wrong, exception("AttributeError", BROKEN), SOURCE) is wrong


@pytest.mark.parametrize("numba", [WORKING], indirect=True)
@pytest.mark.usefixtures("numba")
def test_what_a_submission_says_of_a_library_that_works_is_its_own_doing() -> None:
    assert jit_compilers.failure_of(numba_dsl.DSL) is None
    raised = Verdict(Category.PYTHON_EXCEPTION, "so")
    assert without_blame(raised, exception("AttributeError", BROKEN), SOURCE) is raised


@pytest.mark.parametrize("numba", ["import os\nos._exit(3)", "import os\nos._exit(8)"], indirect=True)
@pytest.mark.usefixtures("numba")
def test_a_library_that_ends_its_process_says_nothing() -> None:
    assert jit_compilers.failure_of(numba_dsl.DSL) is None


@pytest.mark.slow
@pytest.mark.parametrize("numba", ["import time\ntime.sleep(60)"], indirect=True)
@pytest.mark.usefixtures("numba")
def test_what_a_trial_does_not_tell_in_time_is_not_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "TRIAL_S", 2.0)
    assert jit_compilers.failure_of(numba_dsl.DSL) is None
    (tmp_path / "numba/__init__.py").write_text(IMPORTING)
    monkeypatch.setattr(limits, "TRIAL_S", 60.0)
    assert jit_compilers.failure_of(numba_dsl.DSL) == ("AttributeError", BROKEN)
    (tmp_path / "numba/__init__.py").write_text("")
    assert jit_compilers.failure_of(numba_dsl.DSL) == ("AttributeError", BROKEN), "what was found out is"


def test_packages_are_looked_for_without_being_imported() -> None:
    assert is_installed("torch")
    assert not is_installed("no_such_package_anywhere")


def test_only_own_kernels_of_the_interpreter_stand_in_for_an_extension() -> None:
    own = launch().model_copy(update={"api": INTERPRETED})
    assert interpreted((launch(), own))
    assert not interpreted((launch(), own.model_copy(update={"own": False})))
