import ctypes
from pathlib import Path

import pytest

from evaluator.build.native import NativeBuildError, compile_native


def test_compiles_once_and_loads(tmp_path: Path) -> None:
    source = tmp_path / "answer.c"
    source.write_text("int answer(void) { return 42; }")
    first = compile_native(source, tmp_path / "cache")
    made_at = first.stat().st_mtime_ns
    assert compile_native(source, tmp_path / "cache") == first
    assert first.stat().st_mtime_ns == made_at
    assert ctypes.CDLL(str(first)).answer() == 42
    assert first.stat().st_mode & 0o777 == 0o755


def test_another_source_is_another_object(tmp_path: Path) -> None:
    source = tmp_path / "answer.c"
    source.write_text("int answer(void) { return 42; }")
    first = compile_native(source, tmp_path / "cache")
    source.write_text("int answer(void) { return 43; }")
    assert compile_native(source, tmp_path / "cache") != first


def test_another_header_is_another_object(tmp_path: Path) -> None:
    source, header = tmp_path / "answer.c", tmp_path / "value.h"
    source.write_text('#include "value.h"\nint answer(void) { return VALUE; }')
    header.write_text("#define VALUE 42")
    first = compile_native(source, tmp_path / "cache")
    assert ctypes.CDLL(str(first)).answer() == 42
    header.write_text("#define VALUE 43")
    second = compile_native(source, tmp_path / "cache")
    assert second != first and ctypes.CDLL(str(second)).answer() == 43


def test_refused_source_raises_with_the_compilers_words(tmp_path: Path) -> None:
    source = tmp_path / "broken.c"
    source.write_text("int answer(void) { return nothing; }")
    with pytest.raises(NativeBuildError, match="nothing"):
        compile_native(source, tmp_path / "cache")
