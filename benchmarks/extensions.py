"""Build requests of the shipped submissions, as their workers would send them to the builder, and some of several sources."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluator.build import BuildRequest
from evaluator.submission.discover import find
from evaluator.worker.patches.extension import Extensions

FOLDER = Path(__file__).parents[1] / "submissions"
LOADING_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Extension:
    """The first extension of a submission."""

    label: str
    """The submission's path, relative to the searched folder."""
    request: BuildRequest


_OPERATION = """#include <torch/extension.h>
#include <vector>

torch::Tensor times_NUMBER(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), 1024, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) to[i] = from[i] * NUMBER;
    });
    return y;
}
"""
_BINDING = """#include <torch/extension.h>

DECLARATIONS

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
BINDINGS
}
"""


def several_sources(counts: Sequence[int] = (2, 3, 4)) -> Iterator[Extension]:
    """C++ extensions of so many sources, one of which binds the functions of the others. The shipped ones have one source each."""
    for count in counts:
        numbers = range(1, count)
        declarations = "\n".join(f"torch::Tensor times_{number}(torch::Tensor x);" for number in numbers)
        bindings = "\n".join(f'm.def("times_{number}", &times_{number});' for number in numbers)
        texts = {f"times_{number}.cpp": _OPERATION.replace("NUMBER", str(number)) for number in numbers}
        texts["main.cpp"] = _BINDING.replace("DECLARATIONS", declarations).replace("BINDINGS", bindings)
        sources = [{"name": name, "text": text} for name, text in texts.items()]
        flags = ["-O3", "-fopenmp"]
        yield Extension(
            f"{count} sources", BuildRequest.model_validate({"name": f"sources_{count}", "sources": sources, "extra_cflags": flags})
        )


class _AskedError(Exception):
    """Ends the loading of a submission at its first build."""


def shipped_extensions(folder: Path = FOLDER) -> Iterator[Extension]:
    """The first extension of each submission below `folder`, in order, without submissions that request none or an invalid one."""
    for submission in find([folder], every_block=True):
        request = requested(submission.code)
        if request is not None:
            block = f" [{submission.block}]" if submission.block else ""
            yield Extension(f"{submission.path.relative_to(folder)}{block}", request)


def requested(source: str) -> BuildRequest | None:
    """The first build request of a submission. Runs it up to there, in its own process but without a sandbox: only for trusted code."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_load, args=(source, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        data = ours.recv() if ours.poll(LOADING_TIMEOUT_S) else None
        return BuildRequest.model_validate(data) if data else None
    except (EOFError, ValidationError):
        return None
    finally:
        process.kill()
        process.join()


def _load(source: str, pipe: Connection) -> None:
    def ask(request: dict[str, Any]) -> Any:
        pipe.send(request)
        raise _AskedError

    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    Extensions(ask).install()
    names: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, "submission.py", "exec"), names)
    names["ModelNew"]()  # some build on construction
