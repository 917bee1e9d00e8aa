"""The files that `load` and `load_inline` send to the builder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch.utils import cpp_extension

from evaluator.worker.patches import extension
from evaluator.worker.patches.extension import Extensions

Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Calls `load`, and returns its request."""
    for name in ("_jit_compile", "_check_and_build_extension_h_precompiler_headers", "remove_extension_h_precompiler_headers"):
        monkeypatch.setattr(cpp_extension, name, getattr(cpp_extension, name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "torch_extensions"))
    requests: list[dict[str, Any]] = []

    def ask(request: dict[str, Any]) -> tuple[bool, str, None]:
        requests.append(request)
        return False, "not built", None

    Extensions(ask).install()

    def load(function: Callable[..., Any] = cpp_extension.load, **options: Any) -> dict[str, Any]:
        with pytest.raises(RuntimeError, match="not built"):
            function(name="x", **options)
        return requests[-1]

    return load


def write(*paths: str, text: str = "text\n") -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def names(request: dict[str, Any], field: str) -> list[str]:
    return sorted(file["name"] for file in request[field])


@pytest.mark.parametrize("ending", [".tpp", ".ipp", ".cu", ".cc", ".hxx", ".h", ".hpp", ".cuh", ".inl", ""])
def test_files_below_the_sources_and_below_include_paths_are_sent(ending: str, asked: Asked) -> None:
    write("my kernels/main.cpp", f"my kernels/deep/a{ending}", f"other/deeper/b{ending}", f"elsewhere/c{ending}", "my kernels/.git/d")
    Path("my kernels/library.so").write_bytes(b"ELF\0")
    told = asked(sources=["my kernels/main.cpp"], extra_include_paths=["other", "nowhere", "/usr/include"])
    assert names(told, "sources") == ["main.cpp"]
    assert names(told, "headers") == [f"deep/a{ending}", f"include-1/deeper/b{ending}"]
    assert told["include_paths"] == ["include-1", "include-2"]


@pytest.mark.parametrize(
    ("paths", "sources", "headers", "searched"),
    [
        ([], ["main.cpp"], ["own.h"], []),
        (["p/src"], ["main.cpp"], ["own.h"], ["."]),
        (["p/include"], ["src/main.cpp"], ["include/a.h", "src/own.h"], ["include"]),
        (["p"], ["src/main.cpp"], ["include/a.h", "src/own.h"], ["."]),
        (["."], ["p/src/main.cpp"], ["p/include/a.h", "p/src/own.h"], ["."]),
    ],
)
def test_folders_of_one_tree_keep_their_distance(
    paths: list[str], sources: list[str], headers: list[str], searched: list[str], asked: Asked
) -> None:
    write("p/src/main.cpp", "p/src/own.h", "p/include/a.h")
    told = asked(sources=["p/src/main.cpp"], extra_include_paths=paths)
    assert (names(told, "sources"), names(told, "headers"), told["include_paths"]) == (sources, headers, searched)


def test_load_inline_sends_include_paths_under_names_that_are_not_random(asked: Asked) -> None:
    write("tmp1a2b/deep/a.h")
    told = asked(cpp_extension.load_inline, cpp_sources="int f();", extra_include_paths=["tmp1a2b"])
    assert (names(told, "sources"), names(told, "headers"), told["include_paths"]) == (["main.cpp"], ["include-1/deep/a.h"], ["include-1"])


@pytest.mark.parametrize(("limit", "value"), [("MAX_HEADERS", 1), ("MAX_HEADERS_BYTES", 9)])
def test_headers_end_with_the_first_that_is_too_much(limit: str, value: int, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    write("p/main.cpp", "p/a.h", "p/b.h", "p/c.h")
    monkeypatch.setattr(extension, limit, value)
    assert names(asked(sources=["p/main.cpp"]), "headers") == ["a.h", "b.h"]
