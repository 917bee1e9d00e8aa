"""In the ablation, own code's writes are lost, its outputs are wrong, and other ways to it don't run."""

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from evaluator.judge.workers import launch_table
from evaluator.worker.origin import OWN_PREFIXES
from evaluator.worker.patches import ablation
from evaluator.worker.patches.ablation import ENDED_EARLY, Ablation
from evaluator.worker.patches.caches import generated_folder

C = "static int calls;\nint increment(void) { return ++calls; }\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared object at a place where a submission's could be."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "own.c").write_text(C)
    subprocess.run(["cc", "-shared", "-fPIC", "own.c", "-o", "own.so"], cwd=folder, check=True)
    return folder / "own.so"


@pytest.fixture
def name() -> Iterator[str]:
    """The name of a module that is not there after the test."""
    yield "assay_test_extension"
    sys.modules.pop("assay_test_extension", None)


def in_fork(body: Callable[[], object]) -> int:
    """Exit code of a fork of this process in which `body` ran: 0 where it came to its end, 100 after an exception, −N after signal N."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        code = 100
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fail(*_: object) -> None:
    raise ValueError("not today")


def test_writing_to_an_argument_is_lost() -> None:
    x = torch.ones(4)
    assert Ablation().taken_out(x.zero_)() is not x
    assert x.tolist() == [1, 1, 1, 1]


def test_writing_past_the_arguments_is_lost() -> None:
    y, kept = torch.ones(4), list[int]()

    def write(address: int) -> None:
        ctypes.memset(address, 0, 16)
        kept.append(1)

    Ablation().taken_out(write)(y.data_ptr())
    assert (y.tolist(), kept) == ([1, 1, 1, 1], [])


DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64),
    *(torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_returned_tensor_keeps_its_form_and_no_value(dtype: torch.dtype) -> None:
    for made in (torch.ones(shape, dtype=dtype) for shape in ((), (1,), (3, 5), (0, 4))):
        got = Ablation().taken_out(lambda made=made: made)()
        assert (got.shape, got.dtype) == (made.shape, dtype) and got is not made
        assert not made.numel() or not torch.equal(got, made)
        assert torch.isfinite(got).all()


def test_single_truths_are_always_turned() -> None:
    stand_in = Ablation().taken_out(lambda value: torch.tensor(value))
    assert [[bool(stand_in(value)) for value in (True, False)] for _ in range(8)] == [[False, True]] * 8


def test_everything_in_a_nested_result_is_wrong_but_text_and_none() -> None:
    value = {"a": [torch.ones(2), (1, 2.5, True)], "b": None, "c": "text"}
    got = Ablation().taken_out(lambda: value)()
    assert (got["b"], got["c"], len(got["a"]), type(got["a"][1])) == (None, "text", 2, tuple)
    assert not torch.equal(got["a"][0], torch.ones(2))
    assert [type(item) for item in got["a"][1]] == [int, float, bool]
    assert all(mine != theirs for mine, theirs in zip(got["a"][1], (1, 2.5, True), strict=True))


def test_a_builtin_exception_is_raised_again() -> None:
    with pytest.raises(ValueError, match="not today"):
        Ablation().taken_out(fail)()


def test_another_exception_is_a_runtime_error() -> None:
    class OwnError(Exception): ...

    def raise_own() -> None:
        raise OwnError("so")

    with pytest.raises(RuntimeError, match="so"):
        Ablation().taken_out(raise_own)()


def test_an_exception_after_something_was_lost_ends_the_process() -> None:
    def body() -> None:
        taken = Ablation()
        taken.taken_out(lambda: None)()
        try:
            taken.taken_out(fail)()
        except ValueError:
            return

    assert in_fork(body) == ENDED_EARLY


@pytest.mark.parametrize(
    "function", [lambda: os.abort(), lambda: os._exit(0), lambda: object()], ids=["crash", "exit", "object of its own"]
)
def test_what_nothing_can_stand_in_for_ends_the_process(function: Callable[[], Any]) -> None:
    assert in_fork(lambda: Ablation().taken_out(function)()) == ENDED_EARLY


def test_own_code_is_not_executable_where_nobody_takes_it_out(library: Path) -> None:
    def body() -> None:
        taken = Ablation()
        own = ctypes.CDLL(str(library))
        taken.seal()
        own.increment()

    assert in_fork(body) == -signal.SIGSEGV


def test_code_that_was_there_before_the_submission_stays_executable(library: Path) -> None:
    known = ctypes.CDLL(str(library))

    def body() -> None:
        Ablation().seal()
        assert known.increment() == 1

    assert in_fork(body) == 0


def test_own_code_that_is_taken_out_runs_and_leaves_nothing(library: Path) -> None:
    def body() -> None:
        taken = Ablation()
        own = ctypes.CDLL(str(library))
        taken.seal()
        stand_in = taken.taken_out(own.increment)
        assert stand_in() == stand_in() == ~1
        taken.open()
        assert own.increment() == 1

    assert in_fork(body) == 0


def test_a_module_is_replaced_with_its_functions_taken_out(name: str, library: Path) -> None:
    def load() -> ModuleType:
        module = ModuleType(name, "about it")
        vars(module).update(increment=ctypes.CDLL(str(library)).increment, LIMIT=7, Error=ValueError)
        sys.modules[name] = module
        return module

    def body() -> None:
        module = Ablation().around(load)
        assert module is sys.modules[name]
        assert (module.__name__, module.__doc__, module.LIMIT, module.Error) == (name, "about it", 7, ValueError)
        assert module.increment() == module.increment()
        assert Ablation().around(load) is not module

    assert in_fork(body) == 0


def test_what_torch_compile_makes_is_nobodys_own(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(generated_folder()).mkdir()
    generated = Path(generated_folder()) / "generated.so"
    generated.write_bytes(library.read_bytes())

    def body() -> None:
        made = ctypes.CDLL(str(generated))
        Ablation().seal()
        assert made.increment() == 1

    assert in_fork(body) == 0


def test_operators_that_a_load_registers_are_taken_out() -> None:
    made = []

    def load() -> None:
        library: Any = torch.library.Library("assay_test", "DEF")  # type: ignore[no-untyped-call]
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: 2 * x, "CompositeExplicitAutograd")
        made.append(library)

    def body() -> None:
        assert Ablation().around(load) is None
        x = torch.ones(3)
        for answer in (torch.ops.assay_test.double(x), torch.ops.assay_test.double.default(x)):
            assert answer.shape == x.shape
            assert not torch.equal(answer, 2 * x)
        assert torch.equal(torch.ops.aten.neg(x), -x)

    assert in_fork(body) == 0


def test_own_code_is_what_the_judge_calls_own() -> None:
    recorder = (Path(ablation.__file__).parents[1] / "launch_recorder.c").read_text(encoding="utf-8")
    assert all(f'"{prefix}"' in recorder for prefix in (*OWN_PREFIXES, launch_table.BUILT_PREFIX))
