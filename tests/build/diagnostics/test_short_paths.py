"""Stored output of compilers names installed headers without this machine's folders."""

from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.diagnostics.messages import errors, summary
from evaluator.build.diagnostics.short_paths import ShortPaths
from evaluator.build.toolchain import Toolchain
from evaluator.diagnosis.source_map import SourceMap, located
from evaluator.results.evidence import BuildEvidence, Diagnostic
from tests.build.conftest import request

PREPARED = Path("/home/me/.cache/assay/headers")
WITHIN = """#include <algorithm>
#include <vector>
struct Odd {};
int answer(std::vector<Odd> odd) {
    std::sort(odd.begin(), odd.end());
    return 42;
}
"""
WITHIN_TORCH = '#include <c10/util/Exception.h>\nint answer(int x) { TORCH_CHECK(x.size() > 0, "none"); return c10::str(answer) + 1; }\n'


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("/opt/torch/include/ATen/ATen.h:3:4: error: no", "torch/include/ATen/ATen.h:3:4: error: no"),
        ("In file included from /opt/torch/include/c10.h:1,", "In file included from torch/include/c10.h:1,"),
        ("/opt/cuda/bin/../targets/x86_64-linux/include/cuda_fp16.hpp(12): error: no", "cuda/include/cuda_fp16.hpp(12): error: no"),
        ("/opt/cuda/include/cub/cub.cuh(1): error", "cuda/include/cub/cub.cuh(1): error"),
        ("/opt/python/include/Python.h:1: error", "python/include/Python.h:1: error"),
        ("/usr/include/c++/12/bits/stl_algo.h:1:", "c++/12/bits/stl_algo.h:1:"),
        ("/usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h:1:", "c++/12/bits/c++config.h:1:"),
        ("/home/me/conda/lib/gcc/x86_64-conda-linux-gnu/12.3.0/include/c++/vector:1:", "c++/vector:1:"),
        (f"{PREPARED}/{64 * 'a'}/base/assay/torch.h:1:", "assay/torch.h:1:"),
        ("/opt/torchvision/include/x.h:1: 'a/opt/torch/include'", "/opt/torchvision/include/x.h:1: 'a/opt/torch/include'"),
    ],
)
def test_an_installed_header_has_a_short_name(said: str, short: str, toolchain: Toolchain) -> None:
    assert ShortPaths(toolchain.short_names, PREPARED).text(said) == short


@pytest.mark.build
@pytest.mark.parametrize("source", [WITHIN, WITHIN_TORCH])
def test_an_error_in_an_installed_header_keeps_its_line_of_the_submission(source: str, machine: Toolchain, tmp_path: Path) -> None:
    asked = request(source, "answer.cpp")
    builder = Builder(Cache(tmp_path), machine, stock_only=True)
    for cached in (False, True):
        evidence = builder.build(asked).evidence
        assert evidence.cached == cached and not evidence.ok
        assert "c++/" in evidence.output and "/usr/include/c++" not in evidence.output
        assert not any(str(folder) in evidence.model_dump_json() for folder in (machine.torch.root, machine.python_include, tmp_path))
        found = errors(located(evidence, asked, SourceMap(f"SOURCE = '''\n{source}'''\n")).diagnostics)
        assert found and all(item.source_line and not item.foreign for item in found)


def test_an_own_header_is_never_taken_for_an_installed_one_of_the_same_short_name() -> None:
    paths = ShortPaths([(Path("/opt/torch"), "torch")], PREPARED)
    said = [Diagnostic(file=file, line=7, severity="error", message="no") for file in ("/opt/torch/include/x.h", "torch/include/x.h")]
    build = BuildEvidence(name="m", key="k", ok=False, diagnostics=tuple(said))
    assert [item.file for item in paths.evidence(build, ()).diagnostics] == ["torch/include/x.h"] * 2
    assert [item.file for item in paths.evidence(build, {"torch/include/x.h"}).diagnostics] == ["/torch/include/x.h", "torch/include/x.h"]


def test_a_summary_names_the_submission_s_line_for_an_error_in_an_installed_header() -> None:
    def told(file: str) -> str:
        return summary([Diagnostic(file=file, line=7, severity="error", message="no", asked_file="own.cu", asked_line=3)])

    assert told("torch/include/ATen/ATen.h") == told("/opt/torch/include/ATen/ATen.h") == "own.cu:3: no"
    assert told("util.cuh") == "util.cuh:7: no"
