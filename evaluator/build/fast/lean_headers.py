"""PyTorch's headers at a fraction of the compile time: the same declarations, cut down to those that a source can reach.

The time grows with the number of declarations, so these headers hold only the operators that the source names. Their text is cut out of the
installed headers: a `Tensor` that declares all methods but defines only the named ones (inline); the functions `at::NAME` and factories
`torch::NAME` of the named operators. Everything else is PyTorch's own file, included unchanged.

They come in two layers, searched before PyTorch's own: the base, the same for all sources, and the files of one source.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evaluator.build.fast.identifiers import Identifiers
from evaluator.build.fast.number_types import without_conversions

_METHOD = re.compile(
    r"^(?://[^\n]*\n)?inline [^\n(]*? Tensor::(?P<name>\w+)\([^\n]*\{\n +return at::_ops::(?P<operator>\w+)::call\([^\n]*\n\}\n",
    re.MULTILINE,
)
_ALL_METHODS = "#include <ATen/MethodOperators.h>\n"
_STRUCT = re.compile(r"^struct TORCH_API (\w+) \{", re.MULTILINE)
_FACTORY = re.compile(r"^inline at::Tensor (?P<name>\w+)\((?:[^{};]|\{\})*\) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_MAKE_VARIABLE = "autograd::make_variable("
_SUFFIXES = ("_outf", "_out", "_symint", "_")
_TENSOR_METHOD = re.compile(rb"_ZNKR?2at6Tensor(\d{1,3})(\w+)")

_NEEDS = {
    "Generator": "ATen/core/Generator.h",
    "Reduction": "ATen/core/Reduction.h",
    "ITensorListRef": "ATen/core/IListRef.h",
    "Dimname": "ATen/core/Dimname.h",
}
"""Headers that the signatures of some operators need in full."""

_ATEN = """#pragma once
#define AT_PER_OPERATOR_HEADERS
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
#include <c10/core/Scalar.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>
"""
_TORCH = """#pragma once
#include <assay/aten.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <functional>
#include <optional>
namespace assay_lean {
// What make_variable does with a tensor that was made just now, by way of exported functions: its own needs half of autograd's headers.
inline at::Tensor make_variable(at::Tensor data, bool requires_grad) {
  if (!data.defined()) return at::Tensor();
  c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl> impl;
  if (data.use_count() == 1 && data.getIntrusivePtr()->unique_version()) {
    impl = data.unsafeReleaseIntrusivePtr();
  } else {
    impl = data.getIntrusivePtr()->shallow_copy_and_detach(0, true);
  }
  impl->set_allow_tensor_metadata_change(true);
  impl->set_autograd_meta(nullptr);
  at::Tensor variable(std::move(impl));
  if (requires_grad) variable.set_requires_grad(true);
  return variable;
}
}
namespace torch {
using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
using Deleter = std::function<void(void*)>;
using at::MemoryFormat;
"""
BINDING_HEADER = "assay/binding.h"
"""In the base: the part that a binding file needs, to be precompiled."""
SOURCE_HEADER = "torch/extension.h"
"""In a source's own files, and in PyTorch's."""


@dataclass(frozen=True)
class Part:
    """A PyTorch header that the cut-down ones omit unless a word of the source needs it."""

    header: str
    python: bool = False
    """Whether only `torch/extension.h` includes it."""
    words: tuple[str, ...] = ()
    """Words that need it, besides the macros and functions that it declares (the compiler lists those)."""


PARTS = (
    Part("ATen/Dispatch.h"),
    Part("ATen/Parallel.h"),
    Part("ATen/TensorIndexing.h", words=("indexing", "TensorIndex", "Slice", "Ellipsis", "index_put_")),
    Part("ATen/DeviceGuard.h", words=("DeviceGuard", "OptionalDeviceGuard")),
    Part("torch/library.h"),
    Part("torch/csrc/utils/pybind.h", python=True, words=("py", "pybind11", "PYBIND11_MODULE")),
    Part("torch/csrc/Exceptions.h", python=True, words=("wrap_pybind_function",)),
)
PART_OF_WORD = {word: number for number, part in enumerate(PARTS) for word in part.words}


class UnknownHeadersError(RuntimeError):
    """PyTorch's headers differ from the expected form, so they can't be cut."""


@dataclass(frozen=True)
class SourceHeaders:
    """Headers for one source."""

    files: dict[str, str] = field(repr=False)
    """Text by path, such as "torch/extension.h"."""
    undefined: frozenset[str] = field(repr=False)
    """Names of Tensor methods that are declared but not defined."""

    def left_undefined(self, object_file: bytes) -> bool:
        """Whether an object compiled with these headers refers to a method without a definition."""
        found = ((int(size), name.decode()) for size, name in _TENSOR_METHOD.findall(object_file))
        return any(name[:size] in self.undefined for size, name in found)


class HeaderCutter:
    """Cuts headers of the PyTorch whose include folder is `include`; it reads them on first use.

    All methods raise OSError if a header is missing, and UnknownHeadersError if one can't be read.
    """

    def __init__(self, include: Path) -> None:
        self._include = include

    def base(self) -> dict[str, str]:
        """The files of the base, by path."""
        folder = self._include / "ATen" / "ops"
        names = sorted(path.name.removesuffix("_ops.h") for path in folder.glob("*_ops.h"))
        files = {f"ATen/ops/{name}.h": self._operator(name) for name in names if (folder / f"{name}.h").exists()}
        return files | {
            "ATen/core/TensorBody.h": self._tensor_body(),
            "assay/aten.h": _ATEN,
            "assay/torch.h": f"{_TORCH}{self._dtypes()}}}\n",
            BINDING_HEADER: "#pragma once\n" + _include(["assay/torch.h", *(part.header for part in PARTS if part.python)]),
        }

    def has_operator(self, word: str) -> bool:
        """Whether the headers for a source that uses `word` include `at::word`."""
        return self._operator_of(word) is not None

    def for_source(self, identifiers: Identifiers, parts: Iterable[int]) -> SourceHeaders:
        """The files for a source of these words, with the given PARTS."""
        chosen = [PARTS[number] for number in sorted(set(parts))]
        wanted = identifiers.used | {word for part in chosen for word in re.findall(r"\b[a-z_]\w*", self._read(part.header))}
        operators = sorted({name for word in identifiers.named if (name := self._operator_of(word))})
        methods = [match for match in self._methods if match["name"] in wanted - self._own_methods]
        aten = [*(f"ATen/ops/{name}.h" for name in operators), *self._files_of(methods)]
        factories = "".join(self._factories(frozenset(operators)))
        once = "#pragma once\n"
        files = {
            "assay/source_aten.h": f"{once}{_include(['assay/aten.h', *aten])}namespace at {{\n{_texts(methods)}}}\n"
            + _include(part.header for part in chosen if not part.python),
            "assay/source_torch.h": f"{once}{_include(['assay/torch.h', 'ATen/ATen.h'])}namespace torch {{\n{factories}}}\n",
            "ATen/ATen.h": once + _include(["assay/source_aten.h"]),
            "torch/types.h": once + _include(["assay/source_torch.h"]),
            "torch/all.h": once + _include(["torch/types.h"]),
            "torch/torch.h": once + _include(["torch/all.h"]),
            SOURCE_HEADER: once + _include(["torch/all.h", *(part.header for part in chosen if part.python)]),
        }
        return SourceHeaders(files, frozenset(match["name"] for match in self._methods) - wanted - self._own_methods)

    @cached_property
    def plain_numbers(self) -> dict[str, str]:
        """Files for nvcc's passes over a source that never converts PyTorch's numbers to CUDA's."""
        return without_conversions(self._read)

    @cached_property
    def _tensor(self) -> str:
        return self._read("ATen/core/TensorBody.h")

    @cached_property
    def _methods(self) -> list[re.Match[str]]:
        found = list(_METHOD.finditer(self._tensor))
        if not found or _ALL_METHODS not in self._tensor:
            raise UnknownHeadersError("TensorBody.h defines no methods that can be told apart")
        return found

    @cached_property
    def _own_methods(self) -> frozenset[str]:
        """Methods that the class's own inline functions and PyTorch's tensor operators call."""
        rest = _METHOD.sub("", self._tensor)
        bodies = re.findall(r"\) const (?:&+ )?\{(.*?)^  \}", rest, re.MULTILINE | re.DOTALL)
        called = re.findall(r"\b(\w+)\(", "".join([*bodies, self._read("ATen/TensorOperators.h")]))
        return frozenset(called) & {match["name"] for match in self._methods}

    @cached_property
    def _file_of_struct(self) -> dict[str, str]:
        """The header of each operator's class."""
        paths = (self._include / "ATen" / "ops").glob("*_ops.h")
        return {name: f"ATen/ops/{path.name}" for path in paths for name in _STRUCT.findall(path.read_text(encoding="utf-8"))}

    def _files_of(self, methods: Iterable[re.Match[str]]) -> list[str]:
        try:
            return sorted({self._file_of_struct[match["operator"]] for match in methods})
        except KeyError as error:
            raise UnknownHeadersError(f"no header declares at::_ops::{error.args[0]}") from error

    def _tensor_body(self) -> str:
        kept = [match for match in self._methods if match["name"] in self._own_methods]
        text = _METHOD.sub(lambda match: match[0] if match["name"] in self._own_methods else "", self._tensor)
        return text.replace(_ALL_METHODS, _include(["ATen/core/ATen_fwd.h", *self._files_of(kept)]))

    def _dtypes(self) -> str:
        """PyTorch's names of dtypes."""
        text = self._read("torch/csrc/api/include/torch/types.h")
        return "".join(f"{line}\n" for line in re.findall(r"^constexpr auto k\w+ = [\w:]+;$", text, re.MULTILINE))

    def _operator_of(self, word: str) -> str | None:
        stems = [word, *(word.removesuffix(suffix) for suffix in _SUFFIXES if word.endswith(suffix))]
        return next((stem for stem in stems if stem in self._operators), None)

    @cached_property
    def _operators(self) -> frozenset[str]:
        folder = self._include / "ATen" / "ops"
        return frozenset(path.name.removesuffix("_ops.h") for path in folder.glob("*_ops.h"))

    def _operator(self, name: str) -> str:
        """The functions of an operator, without the headers that its file includes: none of them needs those."""
        text = self._read(f"ATen/ops/{name}.h")
        start, end = text.find("namespace at {"), text.find("\n#else")
        if start < 0:
            return text
        body = text[start : text.rindex("}", start, end if end > 0 else None) + 1]
        needs = [header for word, header in _NEEDS.items() if re.search(rf"\b{word}", body)]
        return f"#pragma once\n{_include(['ATen/core/Tensor.h', *needs, f'ATen/ops/{name}_ops.h'])}{body}\n"

    @cached_property
    def _all_factories(self) -> list[re.Match[str]]:
        return list(_FACTORY.finditer(self._read("torch/csrc/autograd/generated/variable_factories.h")))

    def _factories(self, operators: frozenset[str]) -> Iterator[str]:
        for match in self._all_factories:
            if match["name"].removesuffix("_symint") in operators:
                yield match[0].replace(_MAKE_VARIABLE, "assay_lean::make_variable(")

    def _read(self, name: str) -> str:
        return (self._include / name).read_text(encoding="utf-8")


def _include(names: Iterable[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


def _texts(methods: Iterable[re.Match[str]]) -> str:
    return "".join(match[0] for match in methods)
