import pytest

from evaluator.build.fast.identifiers import read_identifiers
from evaluator.build.fast.lean_headers import PARTS, HeaderCutter
from evaluator.build.fast.omitted_names import NEVER, OmittedNames, Preprocessed, compare, read_files, read_preprocessed, relative_to
from evaluator.build.toolchain import Toolchain

TEXT = """# 1 "ATen/A.h" 1 3
#define CHECKED(x) (x)
namespace at {
inline int sum_all(int x) { return helper(x); }
class Thing { int member(int); };
namespace native { int inner(int); }
}
# 7 "std/vector" 3
namespace std { int outside(int); }
# 9 "ATen/B.h" 3
namespace c10 { extern "C" { } bool is_fine (int); }
"""


def test_declarations_are_found_where_calls_find_them_by_their_arguments() -> None:
    found = read_preprocessed(TEXT)
    assert found.macros == {"CHECKED": {"ATen/A.h"}}
    assert found.functions == {"sum_all": {"intx": {"ATen/A.h"}}, "is_fine": {"int": {"ATen/B.h"}}}
    assert read_files(TEXT) == {"ATen/A.h", "std/vector", "ATen/B.h"}


def test_paths_become_relative() -> None:
    assert relative_to(["/x/api", "/x"], '# 1 "/x/api/t.h"\n# 1 "/x/u.h"\n') == '# 1 "t.h"\n# 1 "u.h"\n'


def test_what_is_missing_belongs_to_the_first_part_that_has_all_of_it() -> None:
    stock = Preprocessed(
        {"HERE": {"a"}, "PART": {"b"}, "NOWHERE": {"z"}, "BOTH": {"b", "z"}},
        {"f": {"int": {"c"}}, "g": {"int": {"a", "z"}}, "h": {"int": {"a"}, "float": {"z"}}},
    )
    with_part = {number: frozenset("a") for number in range(len(PARTS))} | {1: frozenset("ab"), 3: frozenset("abc")}
    found = compare(stock, frozenset("a"), with_part)
    assert found.macros == {"PART": 1, "NOWHERE": NEVER, "BOTH": NEVER}
    assert found.functions == {"f": 3, "h": NEVER}


@pytest.fixture(scope="module")
def cutter(machine: Toolchain) -> HeaderCutter:
    return HeaderCutter(machine.torch.root / "include")


OMITTED = OmittedNames(
    macros={"AT_DISPATCH_ALL_TYPES": 0, "TORCH_MODULE": NEVER}, functions={"parallel_for": 1, "from_blob": NEVER, "relu": NEVER}
)


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef TORCH_MODULE\n#endif",
        "auto y = torch::from_blob(p, {2});",
        "using namespace torch; Tensor y;",
        "#ifdef AT_PER_OPERATOR_HEADERS\n#endif",
        "#define J(a) a##2",
        "#define N 1\n#include <torch/extension.h>",
    ],
)
def test_a_source_that_may_mean_something_else_gets_no_cut_down_headers(text: str, cutter: HeaderCutter) -> None:
    assert OMITTED.headers_for(read_identifiers([text]), cutter) is None


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("AT_DISPATCH_ALL_TYPES(t, n, f);", "#include <ATen/Dispatch.h>"),
        ("at::parallel_for(0, n, 1, f);", "#include <ATen/Parallel.h>"),
        ("auto y = at::relu(x); int from_blob = 1;", "#include <ATen/ops/relu.h>"),
        ("x.index_put_({torch::indexing::Slice()}, 1);", "#include <ATen/TensorIndexing.h>"),
    ],
)
def test_words_bring_in_what_declares_them(text: str, header: str, cutter: HeaderCutter) -> None:
    made = OMITTED.headers_for(read_identifiers([text]), cutter)
    assert made is not None
    assert header in made.files["assay/source_aten.h"]
