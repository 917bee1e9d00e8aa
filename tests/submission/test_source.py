"""Bytes to text, and text to a verdict on whether it can be a submission."""

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.results.category import Category
from evaluator.submission.source import MAX_CODE_BYTES, Rejection, decode, defines, examine, parse

CLASS = "class ModelNew:\n    pass\n"


def rejected(code: str, first_line: int = 1) -> Rejection:
    rejection = examine(code, first_line)
    assert rejection is not None
    return rejection


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_in_every_encoding_that_marks_itself(encoding: str) -> None:
    assert decode("x = 'é≈'\r\ny = 2\r".encode(encoding)) == "x = 'é≈'\ny = 2\n"


def test_other_bytes_are_read_as_windows_or_latin_1() -> None:
    assert decode(b"# caf\xe9 \x80\n") == "# café €\n"
    assert decode(b"# \x81\xe9\n") == "# \x81é\n"


@pytest.mark.parametrize("data", [b"a\0b", "a\0b".encode("utf-16"), b"\xff\xfea"])
def test_bytes_that_are_no_text(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(data)


@given(st.binary())
def test_decoding_yields_text_that_encodes_or_value_error(data: bytes) -> None:
    try:
        text = decode(data)
    except ValueError:
        return
    assert "\r" not in text
    text.encode()


@pytest.mark.parametrize(
    "code",
    [
        CLASS,
        f"if True:\n    {CLASS}        pass\n".replace("    pass\n        pass", "        pass"),
        "try:\n    from fast import ModelNew\nexcept ImportError:\n    ModelNew = object\n",
        "class Fast: pass\nModelNew = Fast\n",
        "class Fast: pass\nModelNew: type = Fast\n",
        "A, ModelNew = 1, object\n",
        "import fast as ModelNew\n",
        "with open('x'):\n    class ModelNew: pass\n",
        "if False: pass\nelse:\n    class ModelNew: pass\n",
    ],
)
def test_what_binds_model_new_at_module_level(code: str) -> None:
    assert defines(parse(code), "ModelNew")


@pytest.mark.parametrize(
    "code",
    [
        "",
        "def f():\n    class ModelNew: pass\n",
        "class A:\n    class ModelNew: pass\n",
        "ModelNew\n",
        "ModelNew: type\n",
        "x.ModelNew = object\n",
        "if __name__ == '__main__':\n    class ModelNew: pass\n",
    ],
)
def test_what_does_not(code: str) -> None:
    assert rejected(code).category is Category.MISSING_MODEL_NEW


HOSTILE = {
    "minus": "-" * 200_000 + "1",
    "parentheses": "(" * 100_000,
    "attributes": "a" + ".b" * 100_000,
    "sums": "1" + "+1" * 100_000,
    "elif": "if 1: pass\n" + "elif 1: pass\n" * 30_000,
    "digits": "1" * 100_000,
    "indents": "".join(" " * depth + "if 1:\n" for depth in range(200)),
    "surrogate": "x = '\ud800'",
    "nul": "x\0",
    "lambdas": "lambda:" * 50_000 + "1",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_code_is_a_syntax_error_and_nothing_worse(code: str) -> None:
    with pytest.raises(SyntaxError):
        parse(code)


def test_the_message_names_the_line_of_the_file() -> None:
    rejection = rejected("x = 1\ny = (\n", first_line=40)
    assert rejection.category is Category.SYNTAX_ERROR
    assert rejection.message.startswith("line 41: ")


def test_warnings_of_the_parser_are_not_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(parse("x = '\\d'\ny = 1 is 1\n"), ast.Module)


def test_code_has_a_limit() -> None:
    room = MAX_CODE_BYTES - len(CLASS)
    assert examine(CLASS + "#" * room) is None
    assert rejected(CLASS + "#" * (room + 1)).category is Category.TOO_LARGE
