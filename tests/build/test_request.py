from dataclasses import replace
from typing import Any

import pytest

from evaluator.build.request import MAX_FILES, MAX_FLAGS, MAX_TOTAL_BYTES, BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.worker.protocol import MAX_HEADERS, MAX_PATH_PARTS


def given(**changes: Any) -> dict[str, Any]:
    return {"name": "softmax", "sources": [{"name": "main.cpp", "text": "int a;"}, {"name": "cuda.cu", "text": "int b;"}], **changes}


def request(**changes: Any) -> BuildRequest:
    return BuildRequest.model_validate(given(**changes))


def test_accepts_what_load_inline_sends() -> None:
    made = request(extra_cflags=[""], extra_cuda_cflags=["-O3 --use_fast_math", " ", "-Xcompiler '-Wall -Wextra'"], extra_ldflags=None)
    assert made.extra_cflags == ()
    assert made.extra_cuda_cflags == ("-O3", "--use_fast_math", "-Xcompiler", "-Wall -Wextra")
    assert made.extra_ldflags == ()
    assert made.uses_cuda


def test_uses_cuda_only_when_asked() -> None:
    plain = [{"name": "main.cpp", "text": ""}]
    assert not request(sources=plain).uses_cuda
    assert request(sources=plain, with_cuda=True).uses_cuda


@pytest.mark.parametrize(
    "name",
    [
        "../main.cpp",
        "a/../b.cpp",
        "a//b.cpp",
        "a/.b.cpp",
        "-a/b.cpp",
        "a\x1b/b.cpp",
        "/etc/x.cpp",
        ".main.cpp",
        "-o.cpp",
        "@x.cpp",
        "main",
        "main.py",
        "a\0.cpp",
        "a b.cpp",
        "a.cpp\n",
        "x" * 200 + ".cpp",
        "漢" * 90 + ".cpp",
        "x/" * MAX_PATH_PARTS + "a.cpp",
        7,
        None,
    ],
)
def test_refuses_file_names(name: Any) -> None:
    with pytest.raises(ValueError):
        request(sources=[{"name": name, "text": ""}])


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a/b", "a\n", "a\0", "é", "a" * 201, b"a", 3, None, ["a"]])
def test_refuses_extension_names(name: Any) -> None:
    with pytest.raises(ValueError):
        request(name=name)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", b"int a;", 5, None, "x" * (MAX_TOTAL_BYTES + 1)])
def test_refuses_texts(text: Any) -> None:
    with pytest.raises(ValueError):
        request(sources=[{"name": "main.cpp", "text": text}])


@pytest.mark.parametrize(
    "flags", [["-D'open"], ["a\0b"], ["\ud800"], [3], "-O3", {"a": 1}, 5, ["x" * 5000], ["-O3"] * (MAX_FLAGS + 1), [" ".join(["-g"] * 300)]]
)
def test_refuses_flags(flags: Any) -> None:
    for field in ("extra_cflags", "extra_cuda_cflags", "extra_ldflags"):
        with pytest.raises(ValueError):
            request(**{field: flags})


def test_refuses_too_much_of_everything() -> None:
    with pytest.raises(ValueError, match="bytes together"):
        request(sources=[{"name": f"s{i}.cpp", "text": "é" * (MAX_TOTAL_BYTES // 4)} for i in range(3)])
    with pytest.raises(ValueError):
        request(sources=[{"name": f"s{i}.cpp", "text": ""} for i in range(MAX_FILES + 1)])
    with pytest.raises(ValueError):
        request(headers=[{"name": f"h{i}.h", "text": ""} for i in range(MAX_HEADERS + 1)])
    with pytest.raises(ValueError):
        request(sources=[])


@pytest.mark.parametrize(
    ("sources", "header", "why"),
    [
        (["main.cpp", "main.cpp"], "a.h", "same name"),
        (["a/main.cpp", "b/main.cpp"], "a.h", "same name"),
        (["main.cpp"], "main.cpp", "same name"),
        (["main.cpp"], "main.cpp/a.h", "name of a folder"),
        (["main.cpp"], "main.cpp.o", "name of an output"),
        (["a/main.cpp"], "main.cpp.o/a.h", "name of an output"),
        (["main.cpp"], "softmax.so", "name of an output"),
    ],
)
def test_refuses_names_that_collide(sources: list[str], header: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        request(sources=[{"name": name, "text": ""} for name in sources], headers=[{"name": header, "text": ""}])


@pytest.mark.parametrize("path", ["..", "/usr/include", "a/../b", "", "-I", ".a"])
def test_refuses_folders_outside_its_own(path: str) -> None:
    with pytest.raises(ValueError):
        request(include_paths=[path])


def test_refuses_unknown_fields_and_truthy_strings() -> None:
    with pytest.raises(ValueError):
        request(output="/etc/passwd")
    with pytest.raises(ValueError):
        request(with_cuda="yes")


def test_refusal_does_not_repeat_the_input() -> None:
    with pytest.raises(ValueError) as refusal:
        request(sources=[{"name": "main.cpp", "text": "secret\0" * 1000}])
    assert "secret" not in str(refusal.value)


def test_key_is_stable_and_ignores_empty_flags(toolchain: Toolchain) -> None:
    assert request().key(toolchain) == request(extra_cflags=["", " "]).key(toolchain)
    assert len(request().key(toolchain)) == 64


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "softmax2"},
        {"sources": [{"name": "main.cpp", "text": "int a;i"}, {"name": "cuda.cu", "text": "nt b;"}]},
        {"sources": [{"name": "cuda.cu", "text": "int b;"}, {"name": "main.cpp", "text": "int a;"}]},
        {"sources": [{"name": "main.cpp", "text": "int b;"}, {"name": "cuda.cu", "text": "int a;"}]},
        {"headers": [{"name": "a.h", "text": ""}]},
        {"include_paths": ["."]},
        {"extra_cflags": ["-O3"]},
        {"extra_cuda_cflags": ["-O3"]},
        {"extra_ldflags": ["-O3"]},
        {"with_cuda": True},
    ],
)
def test_key_sees_every_field(changes: dict[str, Any], toolchain: Toolchain) -> None:
    assert request(**changes).key(toolchain) != request().key(toolchain)


def test_key_keeps_fields_and_list_items_apart(toolchain: Toolchain) -> None:
    keys = {
        request(extra_cflags=first, extra_cuda_cflags=second).key(toolchain)
        for first, second in [
            (["-a", "-b"], []),
            (["-a"], ["-b"]),
            ([], ["-a", "-b"]),
            (["-a-b"], []),
            (["-b", "-a"], []),
            (["'-a -b'"], []),
        ]
    }
    assert len(keys) == 6


def test_key_sees_the_toolchain(toolchain: Toolchain) -> None:
    others = [
        replace(toolchain, arch=("8.0",)),
        replace(toolchain, nvcc=None),
        replace(toolchain, host_compiler="gcc-11"),
        replace(toolchain, torch=replace(toolchain.torch, version="2.11.1")),
        replace(toolchain, torch=replace(toolchain.torch, standard="c++17")),
        replace(toolchain, torch=replace(toolchain.torch, abi_flags=())),
    ]
    assert len({request().key(other) for other in [toolchain, *others]}) == 7


MODULE = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"


def named(text: str, name: str = "kernel", **changes: Any) -> BuildRequest:
    return BuildRequest.model_validate({"name": name, "sources": [{"name": "main.cpp", "text": text}], **changes})


def test_name_is_no_part_of_a_request_whose_module_alone_bears_it() -> None:
    first, second = (named(MODULE, name).under_common_name() for name in ("one", "two"))
    assert first == second
    assert first.name.startswith("assay_build_")
    assert first.name != named(MODULE + "int x;").under_common_name().name


@pytest.mark.parametrize(
    "text",
    [
        "int x;",
        MODULE + MODULE,
        MODULE + "TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {}",
        "PYBIND11_MODULE(kernel, m) {}",
        MODULE + "PYBIND11_MODULE(kernel, m) {}",
        MODULE + 'extern "C" void* PyInit_kernel();',
    ],
)
def test_name_stays_where_it_means_more(text: str) -> None:
    assert named(text).under_common_name().name == "kernel"


def test_name_stays_where_flags_speak_of_it() -> None:
    assert named(MODULE, extra_cflags=["-DTORCH_EXTENSION_NAME=other"]).under_common_name().name == "kernel"
