"""The contract of DSLs, and the check of it that authors of plug-ins run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay import dsl_contract
from evaluator.dsl import Dsl, dsls
from evaluator.dsl.registry import OWN
from tests import warm
from tests.dsl.test_registry import PLUGIN, install
from tests.shipped import ROOT

RIGHT = """\
# problem: leaky_relu
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <cstdint>
#include <pybind11/pybind11.h>

void leak(intptr_t in, intptr_t out, int64_t count, float slope) {
    for (int64_t i = 0; i < count; i++) {
        float x = ((const float*)in)[i];
        ((float*)out)[i] = x > 0 ? x : slope * x;
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("leak", leak); }
'''
extension = load_inline(name="leak", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        extension.leak(x.data_ptr(), out.data_ptr(), x.numel(), self.negative_slope)
        return out
"""
"""It includes no header of PyTorch, so its build is quick."""


def check(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    search = ":".join(map(str, [ROOT, *([folder] if folder else [])]))
    return subprocess.run(
        [sys.executable, "-m", "assay.dsl_contract", *arguments],
        cwd="/",
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("name", OWN)
def test_assays_own_hold_the_contract(name: str) -> None:
    found = {dsl.name: dsl for dsl in dsls()}
    assert list(dsl_contract.broken(found[name], tuple(found.values()))) == []


def test_a_plug_in_of_others_can_be_checked(tmp_path: Path) -> None:
    done = check("weave", folder=install(tmp_path))
    assert (done.returncode, done.stdout) == (0, "weave: no errors (contract; no example was judged)\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"WEAVE_CACHE": "weave"', '"TRITON_CACHE_DIR": "weave"', "TRITON_CACHE_DIR is another DSL's variable too"),
        ('"WEAVE_CACHE": "weave"', '"WEAVE_CACHE": "triton"', "triton is another DSL's folder too"),
        ("Refused(raised.message, line=3)", "1 / len(raised.message)", "compile_error raises ZeroDivisionError over WeaveError('')"),
        ("else None", "else 3", "compile_error returns a int over RuntimeError('')"),
        ("weave_assay:install", "weave_assay:installs", "weave_assay:installs is no function"),
        ("weave_assay:install", "weave_nowhere:install", "weave_nowhere:install can't be imported"),
        ('{"weave": "weave-lang"}', '{"textwrap": "x"}', ""),
        ("from evaluator", "import colorsys\nfrom evaluator", ""),
    ],
)
def test_what_breaks_the_contract_is_said(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = 'KNOWN = ("WeaveError",)\n' + PLUGIN.replace('packages={"weave"', 'packages={"colorsys": "x", "weave"').replace(old, new)
    done = check("weave", folder=install(tmp_path, text=text))
    assert (done.returncode == 1) is bool(says or "colorsys" in new), done.stdout + done.stderr
    assert (says or ("imports the DSL itself" if "colorsys" in new else "no errors")) in done.stdout


def test_wrong_usage_has_a_way_out() -> None:
    for arguments, says in ((["tritn"], "no DSL 'tritn'; nearest: triton"), (["triton", "one.py"], "give two submissions")):
        done = check(*arguments)
        assert done.returncode == 2
        assert says in done.stderr


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "Weave"}, "lower-case letters"),
        ({"kernel_names": ("kernel",)}, "not a form of a kernel name"),
        ({"kernel_names": ("{name}",)}, "not a form of a kernel name"),
        ({"kernel_names": ("{name}*",)}, "not a form of a kernel name"),
        ({"library_kernels": ("*",)}, "no spaces"),
        ({"library_kernels": ("two words",)}, "no spaces"),
        ({"caches": {"X": "../up"}}, "not a plain folder name"),
        ({"in_worker": "module"}, "module:function"),
    ],
)
def test_what_the_judge_can_t_use_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Dsl(**{"name": "weave", "title": "Weave", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kernel", "own"),
    [
        ("weave_bend", True),
        ("weave_bend_0_kernel", True),
        ("weave_bent_0", False),
        ("weave_", False),
        ("bend", False),
        ("my_weave_bend", False),
    ],
)
def test_a_kernel_is_told_by_the_function_that_it_is_named_after(kernel: str, own: bool) -> None:
    dsl = Dsl(name="weave", title="Weave", kernel_names=("weave_{name}", "weave_{name}_*"))
    assert dsl.names_function(kernel, "import weave\ndef bend(x):\n    bent = 0  # weave_bent def\n") is own


@pytest.mark.build
def test_two_examples_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, failing = str(tmp_path / "right.py"), str(tmp_path / "failing.py")
    Path(right).write_text(RIGHT, encoding="utf-8")
    Path(failing).write_text(RIGHT.replace("float x = ", "float y = "), encoding="utf-8")
    with warm.servers():
        assert dsl_contract.main(["load_inline", right, failing]) == 0
        assert capsys.readouterr().out == "load_inline: no errors (contract and examples)\n"
        assert dsl_contract.main(["load_inline", failing, right]) == 1
    told = capsys.readouterr().out
    assert "has to be correct/ok, but is build_failed/" in told and "has to be build_failed, but is correct/" in told
