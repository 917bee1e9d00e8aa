import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Compiler, Toolchain, TorchInstall
from evaluator.machine.devices import choose
from evaluator.sandbox import Zygote, best_level

DATA = Path(__file__).parent / "data"
FLAGS = ("-O3", "-fopenmp")
"""Flags of C++ sources for which `prepared` holds a precompiled header: those that the shipped submissions ask for."""
PLAIN_C = "int answer(void) { return 42; }"


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
    """The toolchain of this machine."""
    return Toolchain.find(choose("auto")[0].capability)


@pytest.fixture(scope="session")
def cuda_machine(machine: Toolchain) -> Toolchain:
    """The toolchain of this machine, for tests of nvcc."""
    if machine.nvcc is None:
        pytest.skip("no CUDA toolkit on this machine")
    return machine


@pytest.fixture(scope="session")
def prepared(machine: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the shared headers, made as the judge makes it: in the sandbox, if there is one. All processes of a test run use it,
    so tests must not change it, but take a copy."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "prepared"
    with ExitStack() as stack:
        zygote = stack.enter_context(Zygote.start((), best_level())) if best_level() is not None else None
        stack.enter_context(Cache(root).lock("tests", 600))
        assert Builder(Cache(root), machine, zygote).prepare(False, FLAGS)
    return root


@pytest.fixture
def warm(prepared: Path, tmp_path: Path) -> Path:
    """The test's own cache, fully prepared."""
    return copy_of(prepared, tmp_path / "warm")


def copy_of(prepared: Path, root: Path) -> Path:
    """A cache in `root` with the same headers; the files are shared until they are replaced. Locks are not, or tests that run at the same
    time would wait for each other."""
    shutil.copytree(prepared / "headers", root / "headers", copy_function=os.link)
    return root


def request(text: str = PLAIN_C, file: str = "answer.c", **changes: Any) -> BuildRequest:
    return BuildRequest.model_validate({"name": "answer", "sources": [{"name": file, "text": text}], **changes})


@pytest.fixture
def bare(tmp_path: Path) -> Toolchain:
    """This machine's real C++ compiler, and empty libraries: for builds without PyTorch, which take milliseconds."""
    return bare_toolchain(tmp_path / "torch")


def bare_toolchain(root: Path) -> Toolchain:
    (root / "lib").mkdir(parents=True, exist_ok=True)
    for name in ("c10", "torch_cpu", "torch", "torch_python"):
        (root / "lib" / f"lib{name}.so").write_text("INPUT(-lc)")
    compiler = Compiler(("/bin/sh", str(_counting_compiler(root))), "1")
    return Toolchain(compiler, None, None, None, TorchInstall(root, "0", "0", None, "c++17", ()), root, ("9.0a",))


def _counting_compiler(root: Path) -> Path:
    """gcc, leaving one line for each call."""
    script = root / "counting-gcc"
    script.write_text(
        f"echo call >> {root}/calls\n[ -e {root}/slow ] && sleep 0.5\n"
        'for word; do shift; [ "$word" = -std=c++17 ] || set -- "$@" "$word"; done\nexec gcc "$@"\n'
    )
    return script


def calls(toolchain: Toolchain) -> int:
    log = toolchain.torch.root / "calls"
    return len(log.read_text().splitlines()) if log.exists() else 0
