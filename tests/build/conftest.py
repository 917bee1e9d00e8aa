from pathlib import Path

import pytest

from evaluator.build.toolchain import Compiler, Toolchain, TorchInstall

DATA = Path(__file__).parent / "data"


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
    return Toolchain.find(None)
