import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.toolchain import Compiler, Toolchain, TorchInstall
from evaluator.machine.devices import choose
from evaluator.sandbox import Zygote, best_level

DATA = Path(__file__).parent / "data"
FLAGS = ("-O3", "-fopenmp")
"""Flags of C++ sources for which `prepared` holds a precompiled header: those that the shipped submissions ask for."""


@pytest.fixture
def toolchain() -> Toolchain:
    """A made-up CUDA machine, for tests that run no compiler."""
    return Toolchain(
        cxx=Compiler(("/usr/bin/c++",), "g++ 12.2.0"),
        nvcc=Compiler(("/opt/cuda/bin/nvcc",), "V13.0.88"),
        host_compiler=None,
        cuda_home=Path("/opt/cuda"),
        torch=TorchInstall(Path("/opt/torch"), "2.11.0", "abc", "13.0", "c++20", ("-D_GLIBCXX_USE_CXX11_ABI=1",)),
        python_include=Path("/opt/python/include"),
        arch=("9.0a",),
    )


@pytest.fixture(scope="session")
def machine() -> Toolchain:
    """The toolchain of the machine that the tests run on."""
    return Toolchain.find(choose("auto")[0].capability)


@pytest.fixture(scope="session")
def cuda_machine(machine: Toolchain) -> Toolchain:
    """The same, for tests of what nvcc does."""
    if machine.nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    return machine


@pytest.fixture(scope="session")
def prepared(machine: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds what builds share, made as the judge has it made: in the sandbox, where there is one. For all processes of a test
    run, so that nobody may change it: tests take a copy."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "prepared"
    with ExitStack() as stack:
        zygote = stack.enter_context(Zygote.start((), best_level())) if best_level() is not None else None
        stack.enter_context(Cache(root).lock("tests", 600))
        assert Builder(Cache(root), machine, zygote).prepare(False, FLAGS)
    return root


@pytest.fixture
def warm(prepared: Path, tmp_path: Path) -> Path:
    """A cache of the test's own, in which everything has been prepared."""
    return copy_of(prepared, tmp_path / "warm")


def copy_of(prepared: Path, root: Path) -> Path:
    """A cache in `root` with the same headers; the files are shared until they are replaced. Locks are not, or tests that run at the same
    time would wait for each other."""
    shutil.copytree(prepared / "headers", root / "headers", copy_function=os.link)
    return root
