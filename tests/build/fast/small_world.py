"""A PyTorch of a few lines, whole and cut down, for tests of proofs. g++ reads it at once."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.commands import Command, Step
from evaluator.build.diagnostics.messages import parse
from evaluator.build.fast.preprocess import units
from evaluator.build.fast.proof import Failure
from evaluator.build.processes.runner import CommandResult
from evaluator.build.request import BuildRequest
from evaluator.results.evidence import Diagnostic

WHOLE = """#pragma once
#include <small/common.h>
#define DECLARE(name) int name = 0
#define MAKE(first, second) int first##second = 0
#define CHECK(condition) if (!(condition)) throw 1
#define BEGIN_GUARD {
#define SMALL_WHOLE 1
#define OPERATOR(name, tag) inline int name##_##tag() { return 0; }
OPERATOR(relu, operator)
namespace at {
struct Options { int device = 0; friend int device_of(const Options& options) { return options.device; } };
struct Thing { Thing() = default; int value = 0; };
inline Tensor softmax_of(const Tensor& x) { return x; }
inline Tensor zeros_like(const Tensor& x) { return x; }
inline int rank(const Tensor&, double) { return 0; }
template <class T> int rank(const Tensor&) { return 0; }
template <class T> T item_of(const Tensor&) { return T(); }
template <> struct TypeOf<float> { static constexpr int value = 6; };
struct Module : Base { int parameters = 0; };
}
namespace torch { using namespace at; namespace nn { struct Linear { int features = 0; }; } }
struct PyThing { int count; };
enum { WHOLE_ONLY = 3 };
#ifdef __CUDA_ARCH__
enum { only_on_device = 3 };
#endif
"""
CUT = """#pragma once
#include <small/common.h>
#define MAKE(first, second) int second = 0
namespace torch { using namespace at; }
"""
COMMON = """#pragma once
#define BOTH(value) if (value.dim()) throw 1
namespace at {
struct Tensor { float* data() const { return nullptr; } int size(int) const { return 0; } int dim() const { return 0; } };
struct Base { int own = 0; };
struct Later;
int later();
template <class T> struct TypeOf;
inline int rank(const Tensor& x, const char*) { return x.dim(); }
}
inline int Thing(int value) { return value; }
"""
OPENS = "namespace opened {\n"
CLOSES = "}\n"
MORE = ", 2,\n"
ONLY_WHOLE = "#pragma once\n"


@dataclass(frozen=True)
class Tried:
    """One source, compiled both ways."""

    proof: str | None
    cut: CommandResult
    whole: CommandResult

    @property
    def messages(self) -> tuple[Diagnostic, ...]:
        return parse(self.cut.output)

    @property
    def same(self) -> bool:
        """Whether the whole headers fail as well, with the same messages."""
        return self.whole.code != 0 and parse(self.whole.output) == self.messages


class SmallWorld:
    """Both sets of headers, below `root`."""

    def __init__(self, root: Path, compiler: tuple[str, ...], suffix: str) -> None:
        self.root, self.compiler, self.suffix = root, compiler, suffix
        for name, text in (
            ("whole/torch/extension.h", WHOLE),
            ("whole/small/common.h", COMMON),
            ("whole/small/opens.h", OPENS),
            ("whole/small/closes.h", CLOSES),
            ("whole/small/more.h", MORE),
            ("whole/small/only_whole.h", ONLY_WHOLE),
            ("cut/torch/extension.h", CUT),
        ):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def try_both(self, text: str, header: str = "") -> Tried:
        """Compile `text`, with `header` as "own.h" beside it."""
        name = f"main{self.suffix}"
        headers = [{"name": "own.h", "text": header}] if header else []
        request = BuildRequest.model_validate({"name": "x", "sources": [{"name": name, "text": text}], "headers": headers})
        for file in request.sources + request.headers:
            (self.root / file.name).write_text(file.text)
        before, common = ["-isystem", "cut"], ["-isystem", "whole"]
        cuda = self.suffix == ".cu"
        flags = ["-gencode=arch=compute_90a,code=sm_90a"] if cuda else []
        tail = [*flags, "-std=c++17", "-c", name, "-o", f"{name}.o"]
        cut, whole = self._run((*self.compiler, *before, *common, *tail)), self._run((*self.compiler, *common, *tail))
        command = Command(Step.CUDA if cuda else Step.CPP, (*self.compiler, *common, *tail), f"{name}.o")
        found = units(request, request.sources[0], command, ("cut",), self.root, self._run)
        texts = {file.name: file.text for file in request.sources + request.headers}
        proof = Failure(cut.output, texts, *found, gnu=not cuda).proof() if found and cut.code else None
        return Tried(proof, cut, whole)

    def _run(self, argv: tuple[str, ...]) -> CommandResult:
        environment = {"PATH": "/usr/local/cuda/bin:/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": str(self.root)}
        done = subprocess.run(argv, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return CommandResult(done.returncode, timed_out=False, output=done.stdout.decode())
