import pytest

from evaluator.build.fast.identifiers import read_identifiers


def test_comments_and_literals_hold_no_words() -> None:
    text = """
// line comment
/* block
   comment */
const char* a = "quoted // not_a_comment"; char b = 'c'; auto d = R"x(raw "text" )x"; int e = 1'000'000; // last
int f;
"""
    used = read_identifiers([text]).used
    assert used == {"const", "char", "a", "b", "auto", "d", "int", "e", "f"}


def test_splices_are_undone_before_anything_is_read() -> None:
    assert "shape" in read_identifiers(["int sha\\\npe;"]).used


def test_members_and_the_standard_library_are_not_named() -> None:
    words = read_identifiers(["x.size(0); p->numel(); std::move(y); at::relu(y); max(a, b); int width;"])
    assert {"size", "numel", "move"} <= words.used
    assert not {"size", "numel", "move"} & words.named
    assert {"relu", "max"} <= words.called
    assert "width" in words.named
    assert "width" not in words.called


@pytest.mark.parametrize("text", ["#define JOIN(a, b) a##b", "%:define X", "int \\u0061;"])
def test_words_that_may_come_into_being_are_noticed(text: str) -> None:
    assert read_identifiers([text]).hidden


def test_a_dropped_comma_makes_no_word() -> None:
    assert not read_identifiers(['#define SAY(f, ...) printf(f, ##__VA_ARGS__)\nSAY("\\n");']).hidden


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("using namespace torch;", True),
        ("using namespace torch::indexing;", True),
        ("namespace t = torch; using namespace t;", True),
        ("using namespace std; using namespace cooperative_groups;", False),
        ("namespace mine { int x; } using namespace mine;", False),
        ("using torch::Tensor;", False),
    ],
)
def test_opened_namespaces(text: str, opens: bool) -> None:
    assert read_identifiers([text]).opens_namespace is opens


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("#define N 4\n#include <torch/extension.h>", True),
        ("#include <torch/types.h>\n#define N 4\n#include <torch/extension.h>", True),
        ("#include <torch/types.h>\n#define N 4\n#include <vector>", False),
        ('#undef N\n#  include "ATen/ATen.h"', True),
        ("#ifndef ROWS_H\n#define ROWS_H\n#include <torch/extension.h>\n#endif", False),
    ],
)
def test_macros_above_pytorchs_headers(text: str, early: bool) -> None:
    assert read_identifiers([text]).early_macros is early
