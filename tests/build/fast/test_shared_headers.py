import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.cache import Cache
from evaluator.build.fast.shared_headers import WORTH_MAKING_AFTER, SharedHeaders
from evaluator.build.processes.runner import CommandResult
from evaluator.build.processes.work_folder import work_folder
from evaluator.build.toolchain import Compiler, Toolchain
from tests.build.conftest import FLAGS


def refuse(argv: tuple[str, ...], folder: Path) -> CommandResult:
    raise AssertionError("a compiler was run")


def shared_headers(root: Path, machine: Toolchain) -> SharedHeaders:
    return SharedHeaders(Cache(root), machine, work_folder)


def replace_file(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


@pytest.mark.build
def test_what_was_made_is_found_without_a_compiler(warm: Path, machine: Toolchain) -> None:
    again = shared_headers(warm, machine)
    prepared = again.headers(refuse)
    assert prepared is not None
    assert (prepared.base / "assay" / "torch.h").exists()
    assert prepared.omitted.macros["AT_DISPATCH_FLOATING_TYPES"] >= 0
    header = again.binding(False, ("-Wall", "-I/somewhere", *FLAGS), refuse)
    assert header is not None
    assert header.with_name("binding.h.gch").stat().st_size > 1 << 20


@pytest.mark.build
def test_everybody_may_read_it(warm: Path) -> None:
    for path in (warm / "headers").rglob("*"):
        assert path.stat().st_mode & 0o055 == (0o055 if path.is_dir() else 0o044), path


@pytest.mark.build
def test_a_damaged_precompiled_header_is_made_again(warm: Path, machine: Toolchain) -> None:
    (precompiled,) = warm.rglob("*.gch")
    replace_file(precompiled, precompiled.read_bytes()[: precompiled.stat().st_size // 2])

    def compile_(argv: tuple[str, ...], folder: Path) -> CommandResult:
        if "-o" in argv:
            (folder / argv[-1]).write_bytes(b"whole")
        return CommandResult(0, timed_out=False, output="")

    header = shared_headers(warm, machine).binding(False, FLAGS, compile_)
    assert header is not None
    assert header.with_name("binding.h.gch").read_bytes() == b"whole"


@pytest.mark.build
def test_damaged_headers_are_made_again(warm: Path, machine: Toolchain) -> None:
    (file,) = warm.glob("headers/*/base/assay/torch.h")
    replace_file(file, b"")
    asked: list[str] = []

    def fail(argv: tuple[str, ...], folder: Path) -> CommandResult:
        asked.append((folder / "base/assay/torch.h").read_text())
        return CommandResult(1, timed_out=False, output="no")

    assert shared_headers(warm, machine).headers(fail) is None
    assert asked and all("assay_lean" in text for text in asked)
    assert not file.exists()


@pytest.mark.build
@pytest.mark.parametrize("flags", [("-include", "x.h"), ("-fno-rtti",), ("-DNDEBUG",), ("-O1", "-O2", "-O3", "-O0", "-Ofast")])
def test_flags_that_are_not_known_get_no_precompiled_header(flags: tuple[str, ...], warm: Path, machine: Toolchain) -> None:
    assert shared_headers(warm, machine).binding(False, flags, refuse) is None


@pytest.mark.build
def test_nobody_waits_for_a_precompiled_header_that_is_being_made(warm: Path, machine: Toolchain) -> None:
    entered, release = threading.Event(), threading.Event()

    def slow(argv: tuple[str, ...], folder: Path) -> CommandResult:
        entered.set()
        release.wait(300)
        return CommandResult(1, timed_out=False, output="enough")

    maker = shared_headers(warm, machine)
    thread = threading.Thread(target=maker.binding, args=(False, ("-O1",), slow), kwargs={"at_once": True})
    thread.start()
    assert entered.wait(300)
    assert shared_headers(warm, machine).binding(False, ("-O1",), refuse, at_once=True) is None
    release.set()
    thread.join()


@pytest.mark.build
def test_a_precompiled_header_is_made_for_cpp_at_once_and_for_cuda_when_enough_builds_have_asked(warm: Path, machine: Toolchain) -> None:
    calls: list[str] = []

    def fail(argv: tuple[str, ...], folder: Path) -> CommandResult:
        calls.append(argv[-1])
        return CommandResult(1, timed_out=False, output="no")

    for _ in range(WORTH_MAKING_AFTER):
        assert shared_headers(warm, machine).binding(True, ("-O1",), fail) is None  # in a process each
        assert not calls
    assert shared_headers(warm, machine).binding(True, ("-O1",), fail) is None
    assert len(calls) == 1
    assert shared_headers(warm, machine).binding(False, ("-O1",), fail) is None
    assert len(calls) == 2


def test_a_compiler_that_fails_is_not_asked_twice(machine: Toolchain, tmp_path: Path) -> None:
    calls: list[str] = []

    def fail(argv: tuple[str, ...], folder: Path) -> CommandResult:
        calls.append(argv[-1])
        return CommandResult(1, timed_out=False, output="no")

    broken = shared_headers(tmp_path / "cache", machine)
    assert broken.headers(fail) is None
    asked = len(calls)
    assert asked > 0
    assert broken.headers(fail) is None
    assert len(calls) == asked
    assert not list((tmp_path / "cache").glob("headers/*/base"))


def test_without_a_gnu_compiler_nothing_is_made(machine: Toolchain, tmp_path: Path) -> None:
    for compiler in (None, Compiler(("/usr/bin/clang++",), "clang version 18"), Compiler(("ccache", "g++"), "g++ 12")):
        assert shared_headers(tmp_path, replace(machine, cxx=compiler)).headers(refuse) is None


@pytest.mark.build
def test_the_precompiled_header_changes_no_object(warm: Path, machine: Toolchain, tmp_path: Path) -> None:
    from evaluator.build.commands import cpp_flags

    ready = shared_headers(warm, machine)
    prepared, header = ready.headers(refuse), ready.binding(False, FLAGS, refuse)
    assert prepared is not None
    assert header is not None
    text = '#include <assay/binding.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("n", [](at::Tensor x) { return x.numel(); }); }\n'
    (tmp_path / "main.cpp").write_text(text)
    common = ["-DTORCH_EXTENSION_NAME=x", "-isystem", str(prepared.base), *cpp_flags(machine, False), *FLAGS, "-c", "main.cpp"]
    assert machine.cxx is not None
    subprocess.run([*machine.cxx.command, *common, "-o", "plain.o"], cwd=tmp_path, check=True, timeout=300)
    subprocess.run([*machine.cxx.command, "-include", str(header), *common, "-o", "quick.o"], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "plain.o").read_bytes() == (tmp_path / "quick.o").read_bytes()
