import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.cache import Cache
from evaluator.build.memory_file import sealed_copy
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.build.toolchain import Compiler, Toolchain
from evaluator.diagnosis.source_map import SourceMap, located
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence
from evaluator.sandbox import Zygote, best_level
from tests.build.conftest import FLAGS, PLAIN_C, bare_toolchain, calls, copy_of, request

ADD = """#include <torch/extension.h>
torch::Tensor twice(torch::Tensor x) { return x + x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("twice", twice, "twice");
}
"""
DOUBLE_CU = """#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>
__global__ void doubled(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    doubled<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


def content(outcome: BuildOutcome) -> bytes:
    assert outcome.object_fd is not None, outcome.evidence.output
    with os.fdopen(outcome.object_fd, "rb") as file:
        return file.read()


def test_builds_once_and_answers_from_the_cache_after(bare: Toolchain, tmp_path: Path) -> None:
    builder = Builder(Cache(tmp_path / "cache"), bare)
    assert not builder.holds(request())
    first, second = builder.build(request()), builder.build(request())
    assert builder.holds(request())
    assert calls(bare) == 2  # compile and link
    assert (first.evidence.cached, second.evidence.cached) == (False, True)
    assert first.evidence.ok
    assert first.evidence.key == request().key(bare)
    assert content(first) == content(second)


def test_object_loads_from_its_descriptor(bare: Toolchain, tmp_path: Path) -> None:
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(request())
    assert outcome.object_fd is not None
    code = f"import ctypes; print(ctypes.CDLL('/proc/self/fd/{outcome.object_fd}').answer())"
    done = subprocess.run(
        [sys.executable, "-c", code], pass_fds=[outcome.object_fd], capture_output=True, text=True, check=True, timeout=60
    )
    os.close(outcome.object_fd)
    assert done.stdout == "42\n"


def test_object_can_be_changed_by_nobody(tmp_path: Path) -> None:
    descriptor = sealed_copy(b"data", "x")
    with pytest.raises(OSError):
        os.write(descriptor, b"evil")
    os.fchmod(descriptor, 0o777)
    again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR)
    for attempt in (lambda: os.write(again, b"evil"), lambda: os.ftruncate(again, 0)):
        with pytest.raises(PermissionError):
            attempt()
    assert os.pread(descriptor, 10, 0) == b"data"
    os.close(again)
    os.close(descriptor)


def test_failure_is_cached_with_its_diagnostics(bare: Toolchain, tmp_path: Path) -> None:
    builder = Builder(Cache(tmp_path / "cache"), bare)
    broken = request("int answer(void) { return nothing; }")
    first, second = builder.build(broken), builder.build(broken)
    assert calls(bare) == 1
    assert first.evidence.category is Category.CPP_COMPILE_ERROR
    assert first.object_fd is None
    assert first.evidence.diagnostics[0].line == 1
    assert first.evidence.diagnostics[0].file == "answer.c"
    assert second.evidence.cached
    assert second.evidence.diagnostics == first.evidence.diagnostics


def test_timeout_is_named_and_not_cached(bare: Toolchain, tmp_path: Path) -> None:
    (bare.torch.root / "slow").touch()
    cache = Cache(tmp_path / "cache")
    assert Builder(cache, bare, timeout_s=0.1).build(request()).evidence.category is Category.BUILD_TIMEOUT
    (bare.torch.root / "slow").unlink()
    assert Builder(cache, bare).build(request()).evidence.ok


def test_headers_lie_beside_the_sources(bare: Toolchain, tmp_path: Path) -> None:
    with_header = request(
        '#include "answer.h"\nint answer(void) { return ANSWER; }', headers=[{"name": "answer.h", "text": "#define ANSWER 7"}]
    )
    assert Builder(Cache(tmp_path / "cache"), bare).build(with_header).evidence.ok


@pytest.mark.parametrize("paths", [("include-1",), ("include-1/my kernels", ".")])
def test_folders_keep_their_headers_and_are_searched(paths: tuple[str, ...], bare: Toolchain, tmp_path: Path) -> None:
    first = "my kernels/deep/answer" if paths == ("include-1",) else "deep/answer"
    request = BuildRequest.model_validate(
        {
            "name": "x",
            "sources": [
                {"name": "c sources/main.c", "text": f'#include <{first}>\n#include "../beside.c"\nint answer(void) {{ return A + B; }}'}
            ],
            "headers": [
                {"name": "include-1/my kernels/deep/answer", "text": '#include "../next.tpp"\n'},
                {"name": "include-1/my kernels/next.tpp", "text": "#define A 7\n"},
                {"name": "beside.c", "text": "#define B 2\n"},
            ],
            "include_paths": paths,
        }
    )
    built = Builder(Cache(tmp_path / "cache"), bare).build(request).evidence
    assert built.ok, built.output
    broken = request.model_copy(update={"headers": (*request.headers[:2], SourceFile(name="beside.c", text="#error no\n"))})
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(broken)
    error, *_ = located(outcome.evidence, broken, SourceMap("one\n#error no\n")).diagnostics
    assert (error.message, error.line, error.source_line, error.foreign) == ("#error no", 1, 2, False)


def test_the_longest_names_are_built(bare: Toolchain, tmp_path: Path) -> None:
    longest = request(PLAIN_C, f"{'f' * 126}.c", name="x" * 200)
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(longest)
    assert content(outcome)
    assert [attempt.output for attempt in outcome.evidence.attempts] == [f"{'f' * 126}.c.o", f"{'x' * 200}.so"]


@pytest.mark.parametrize(
    "flags", [{"extra_cflags": ["-E"]}, {"extra_cflags": ["-o", "elsewhere"]}, {"extra_ldflags": ["-r", "-o", "/dev/null"]}]
)
def test_flags_that_lead_the_product_astray_only_fail_the_build(flags: dict[str, Any], bare: Toolchain, tmp_path: Path) -> None:
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(request(**flags))
    assert outcome.evidence.ok or outcome.evidence.category in (Category.CPP_COMPILE_ERROR, Category.LINK_ERROR)


def test_product_that_is_a_link_is_not_followed(bare: Toolchain, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    compiler = tmp_path / "linking-cc"
    compiler.write_text(f'for last; do :; done\nln -sf {secret} "$last"\n')
    hostile = replace(bare, cxx=Compiler(("/bin/sh", str(compiler)), "1"))
    outcome = Builder(Cache(tmp_path / "cache"), hostile).build(request())
    assert outcome.object_fd is None
    assert outcome.evidence.category is Category.CPP_COMPILE_ERROR
    assert "is not a plain file" in outcome.evidence.output


def test_killed_compiler_is_nobodys_fault_and_not_cached(bare: Toolchain, tmp_path: Path) -> None:
    compiler = tmp_path / "dying-cc"
    compiler.write_text("kill -9 $$\n")
    cache = Cache(tmp_path / "cache")
    dying = replace(bare, cxx=Compiler(("/bin/sh", str(compiler)), "1"))
    assert Builder(cache, dying).build(request()).evidence.category is Category.INFRASTRUCTURE_ERROR
    assert not list((tmp_path / "cache").glob("builds/*/*"))


def test_a_compiler_that_can_not_be_run_is_the_machines_failure(bare: Toolchain, tmp_path: Path) -> None:
    broken = replace(bare, cxx=Compiler((f"{tmp_path}/no-such-cc",), "1"))
    evidence = Builder(Cache(tmp_path / "cache"), broken, stock_only=True).build(request()).evidence
    assert evidence.category is Category.INFRASTRUCTURE_ERROR
    assert "no-such-cc" in evidence.output


def test_unusable_cache_is_an_infrastructure_error(bare: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder is needed")
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(request())
    assert (outcome.evidence.category, outcome.object_fd) == (Category.INFRASTRUCTURE_ERROR, None)


def test_missing_nvcc_is_the_machines_lack_unless_the_cpp_part_fails_by_itself(bare: Toolchain, tmp_path: Path) -> None:
    builder = Builder(Cache(tmp_path / "cache"), bare)
    cuda = {"name": "cuda.cu", "text": ""}
    lacking = builder.build(request(sources=[{"name": "a.c", "text": PLAIN_C}, cuda])).evidence
    assert lacking.category is Category.NO_TOOLCHAIN
    assert "nvcc" in lacking.output
    assert lacking.uses_cuda
    assert builder.build(request(sources=[{"name": "a.c", "text": "broken"}, cuda])).evidence.category is Category.CPP_COMPILE_ERROR


def test_work_folder_is_gone_afterwards(bare: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    outcome = Builder(Cache(tmp_path / "cache"), bare).build(request("int answer(void) { return nothing; }"))
    assert not list(scratch.iterdir())
    assert str(scratch) not in outcome.evidence.output


def _build_in_process(root: Path, toolchain: Toolchain) -> BuildEvidence:
    outcome = Builder(Cache(root / "cache"), toolchain).build(request())
    assert outcome.object_fd is not None
    os.close(outcome.object_fd)
    return outcome.evidence


@pytest.mark.slow
def test_two_processes_with_one_key_compile_once(tmp_path: Path) -> None:
    toolchain = bare_toolchain(tmp_path / "torch")
    (toolchain.torch.root / "slow").touch()
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(
        2, spawn.Barrier(2).wait
    ) as pool:  # neither begins before both are there; each call of the compiler takes half a second
        found = pool.starmap(_build_in_process, [(tmp_path, toolchain)] * 2, chunksize=1)
    assert calls(toolchain) == 2
    assert sorted(evidence.cached for evidence in found) == [False, True]


@pytest.fixture(scope="module")
def builder(machine: Toolchain, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """A builder that keeps its builds from one test to the next, and compiles in the sandbox, if there is one."""
    cache = Cache(copy_of(prepared, tmp_path_factory.mktemp("builder") / "cache"))
    with ExitStack() as stack:
        zygote = stack.enter_context(Zygote.start((), best_level())) if best_level() is not None else None
        yield Builder(cache, machine, zygote)


@pytest.fixture(scope="module")
def adder(builder: Builder) -> BuildEvidence:
    """Evidence of the first build of ADD."""
    outcome = builder.build(request(ADD, "main.cpp", name="adder", extra_cflags=FLAGS))
    assert content(outcome)
    assert [(attempt.way, attempt.ok) for attempt in outcome.evidence.attempts] == [("lean+precompiled", True), ("stock", True)]
    return outcome.evidence


@pytest.mark.build
def test_pytorch_extension_is_built_and_imported(builder: Builder, adder: BuildEvidence) -> None:
    outcome = builder.build(request(ADD, "main.cpp", name=adder.name, extra_cflags=FLAGS))
    assert outcome.object_fd is not None, outcome.evidence.output
    code = f"""
import sys, torch
from evaluator.worker.patches.extension import _load
module = _load("adder", {outcome.object_fd}, True)
print(module.twice(torch.tensor([3.0])).item(), module.__name__, sys.modules["adder"] is module)
"""
    done = subprocess.run([sys.executable, "-c", code], pass_fds=[outcome.object_fd], capture_output=True, text=True, timeout=120)
    os.close(outcome.object_fd)
    assert done.stdout == "6.0 adder True\n", done.stderr


@pytest.mark.build
def test_the_same_kernel_under_another_name_is_a_hit(builder: Builder, adder: BuildEvidence) -> None:
    again, other = (builder.build(request(ADD, "main.cpp", name=name, extra_cflags=FLAGS)) for name in ("adder", "other"))
    assert (adder.cached, other.evidence.cached) == (False, True)
    assert (adder.name, other.evidence.name) == ("adder", "other")
    assert content(again) == content(other)


def test_what_the_compiler_says_speaks_of_the_name_that_was_asked_for(bare: Toolchain, tmp_path: Path) -> None:
    text = "int TORCH_EXTENSION_NAME = wrong; // PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n"
    broken = request(text.replace("int TORCH_EXTENSION_NAME", "int x"), name="mine")
    assert broken.under_common_name().name != "mine"
    shouting = tmp_path / "shouting-cc"
    shouting.write_text('for word; do case $word in -DTORCH_EXT*) echo "answer.c:1:1: error: ${word#*=} is wrong";; esac; done; exit 1\n')
    evidence = Builder(Cache(tmp_path / "cache"), replace(bare, cxx=Compiler(("/bin/sh", str(shouting)), "1"))).build(broken).evidence
    assert (evidence.name, evidence.output) == ("mine", "answer.c:1:1: error: mine is wrong")
    assert evidence.diagnostics[0].message == "mine is wrong"


@pytest.mark.build
def test_cuda_source_compiles_without_a_gpu(builder: Builder, cuda_machine: Toolchain) -> None:
    outcome = builder.build(request(DOUBLE_CU, "cuda.cu", name="doubled"))
    assert outcome.evidence.ok, outcome.evidence.output
    assert outcome.evidence.uses_cuda
    assert [attempt.way for attempt in outcome.evidence.attempts if attempt.output == "cuda.cu.o"] == ["lean+passes"]
    assert (outcome.object_fd is not None) == cuda_machine.links_cuda
    if outcome.object_fd is not None:
        os.close(outcome.object_fd)
