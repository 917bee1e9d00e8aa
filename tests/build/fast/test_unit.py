"""Reading a preprocessor's output, and the names that g++ may suggest."""

import random

import pytest

from evaluator.build.fast.preprocess import all_known
from evaluator.build.fast.proof import resembles
from evaluator.build.fast.unit import MAX_OWN_CHARS, Unit, read_unit

TEXT = """# 0 "main.cpp"
# 1 "/usr/include/a.h" 1 3 4
#define SIZE
int f(int x);
namespace inner { int deep; struct Deeper { int deepest; }; }
extern "C" { int linked; }
namespace { int unnamed; enum { COUNT = 3 }; }
const char* text = "quoted {";
# 2 "main.cpp" 2
int g() {

#pragma omp parallel
# 3 "main.cpp" 3 4
  return 1
# 3 "main.cpp"
  + 2; }
# 1 "own.h" 1
int h();
"""


def read(text: str) -> Unit:
    unit = read_unit(text, {"main.cpp", "own.h"})
    assert unit is not None
    return unit


def test_own_text_is_told_from_headers() -> None:
    unit = read(TEXT)
    assert " ".join(token.text for token in unit.own) == "int g ( ) { return 1 + 2 ; } int h ( ) ;"
    assert [(token.file, token.line) for token in unit.own if token.text in ("g", "return", "2", "h")] == [
        ("main.cpp", 2),
        ("main.cpp", 3),
        ("main.cpp", 3),
        ("own.h", 1),
    ]
    assert {"SIZE", "f", "deep", "deepest", "linked", "quoted"} <= unit.header_words
    assert not unit.header_words & {"g", "h"}


def test_text_that_macros_blow_up_is_not_read() -> None:
    assert read_unit('# 1 "main.cpp"\n' + "x " * (MAX_OWN_CHARS // 2 + 1), {"main.cpp"}) is None


def test_names_of_the_global_namespace_are_told_from_others() -> None:
    words = read(TEXT).global_words
    assert {"SIZE", "f", "linked", "unnamed", "COUNT", "inner"} <= words
    assert not words & {"deep", "deepest", "quoted"}


def edits(left: str, right: str) -> int:
    """With transpositions, by the book."""
    table = [[max(i, j) if not i or not j else 0 for j in range(len(right) + 1)] for i in range(len(left) + 1)]
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def test_names_resemble_each_other_by_gccs_bound() -> None:
    draw = random.Random(7)
    for _ in range(3000):
        left, right = ("".join(draw.choices("abcd", k=draw.randint(1, 9))) for _ in range(2))
        longer, apart = max(len(left), len(right)), abs(len(left) - len(right))
        # As in get_edit_distance_cutoff, where an edit costs 2.
        cost = 0 if longer <= 1 else 2 * max(longer // 3, 1) if apart <= 1 else 2 * (longer + 2) // 3
        assert resembles(left, [right]) == (2 * edits(left, right) <= cost), (left, right)


@pytest.mark.parametrize(("word", "name"), [("zeros_lik", "zeros_like"), ("numle", "numel"), ("pythang", "PyThing"), ("CHECKS", "CHECK")])
def test_typing_errors_resemble_what_was_meant(word: str, name: str) -> None:
    assert resembles(word, ["entirely_different", name])


@pytest.mark.parametrize(
    ("flags", "known"),
    [
        (["-O3", "-fopenmp", "-march=native", "-std=c++20", "-Wall"], True),
        (["--use_fast_math", "-lineinfo", "-gencode", "arch=compute_90,code=sm_90", "-Xcompiler", "-fPIC,-O3"], True),
        (["-Xptxas", "-v", "-arch=sm_90a", "-U__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr"], True),
        ([], True),
        (["-DN=3"], False),
        (["-fpermissive"], False),
        (["-Werror"], False),
        (["-include", "x.h"], False),
        (["-fdirectives-only"], False),
        (["-Xcompiler", "-fpermissive"], False),
        (["-Xcompiler"], False),
        (["-std=c++26"], False),
        (["-save-temps"], False),
        (["-E"], False),
        (["-fmax-errors=1"], False),
    ],
)
def test_only_flags_that_are_known_leave_room_for_a_proof(flags: list[str], known: bool) -> None:
    assert all_known(flags) is known
