from pathlib import Path

import pytest

from evaluator.build.fast.identifiers import Identifiers, read_identifiers
from evaluator.build.fast.lean_headers import PARTS, HeaderCutter, UnknownHeadersError
from evaluator.build.toolchain import Toolchain


@pytest.fixture(scope="module")
def cutter(machine: Toolchain) -> HeaderCutter:
    return HeaderCutter(machine.torch.root / "include")


def words(text: str) -> Identifiers:
    return read_identifiers([text])


def test_operators_that_a_source_names_are_included_and_no_others(cutter: HeaderCutter) -> None:
    files = cutter.for_source(words("auto y = torch::empty_like(x); at::mm_out(y, a, b); z.sum(0);"), ()).files
    included = [line for line in files["assay/source_aten.h"].splitlines() if line.startswith("#include <ATen/ops/")]
    assert {"#include <ATen/ops/empty_like.h>", "#include <ATen/ops/mm.h>"} <= set(included)
    assert "#include <ATen/ops/sum.h>" not in included  # a method: its definition is enough
    assert "#include <ATen/ops/relu.h>" not in included


def test_methods_that_a_source_names_are_defined_and_no_others(cutter: HeaderCutter) -> None:
    made = cutter.for_source(words("return x.sum(0).contiguous();"), ())
    assert "Tensor::sum(" in made.files["assay/source_aten.h"]
    assert "Tensor::relu(" not in made.files["assay/source_aten.h"]
    assert "relu" in made.undefined
    assert "sum" not in made.undefined


def test_factories_are_pytorchs_own_but_for_make_variable(cutter: HeaderCutter) -> None:
    text = cutter.for_source(words("torch::zeros({2}); torch::full({2}, 1.0);"), ()).files["assay/source_torch.h"]
    assert "inline at::Tensor zeros(at::IntArrayRef size" in text
    assert "inline at::Tensor full(at::IntArrayRef size" in text
    assert "return autograd::make_variable(" not in text
    assert "ones" not in text
    assert text.count("{") == text.count("}")


def test_every_method_is_still_declared(cutter: HeaderCutter, machine: Toolchain) -> None:
    stock = (machine.torch.root / "include" / "ATen" / "core" / "TensorBody.h").read_text()
    cut = cutter.base()["ATen/core/TensorBody.h"]
    end = "namespace detail {"
    assert cut[cut.index("class TORCH_API Tensor") : cut.index(end)] == stock[stock.index("class TORCH_API Tensor") : stock.index(end)]
    assert len(cut) < len(stock) / 2


def test_operators_keep_their_functions_and_lose_the_headers(cutter: HeaderCutter) -> None:
    text = cutter.base()["ATen/ops/empty.h"]
    assert "inline at::Tensor empty(at::IntArrayRef size" in text
    assert "ATen/Context.h" not in text
    assert text.count("{") == text.count("}")


def test_parts_come_where_they_are_listed(cutter: HeaderCutter) -> None:
    number = next(number for number, part in enumerate(PARTS) if part.header == "ATen/Dispatch.h")
    binding = next(number for number, part in enumerate(PARTS) if part.python)
    files = cutter.for_source(words(""), [number, binding]).files
    assert "#include <ATen/Dispatch.h>" in files["assay/source_aten.h"]
    assert PARTS[binding].header in files["torch/extension.h"]
    assert PARTS[binding].header not in files["torch/types.h"]


def test_an_object_that_needs_a_method_without_definition_is_told(cutter: HeaderCutter) -> None:
    made = cutter.for_source(words("x.sum(0);"), ())
    assert made.left_undefined(b"\0_ZNK2at6Tensor4reluEv\0")
    assert not made.left_undefined(b"\0_ZNK2at6Tensor3sumEN3c10\0_ZNK2at10TensorBase4reluEv\0")


def test_headers_of_another_form_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ATen" / "core").mkdir(parents=True)
    (tmp_path / "ATen" / "core" / "TensorBody.h").write_text("class Tensor;\n")
    (tmp_path / "ATen" / "TensorOperators.h").write_text("")
    with pytest.raises(UnknownHeadersError):
        HeaderCutter(tmp_path).base()
    with pytest.raises(OSError):
        HeaderCutter(tmp_path / "nowhere").for_source(words("x"), ())
