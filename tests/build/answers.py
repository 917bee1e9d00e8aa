"""Prints digests of what a trusted submission computes, its extensions built one way or the other:

python -m tests.build.answers SUBMISSION CACHE fast|stock cpu|cuda
"""

import contextlib
import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from evaluator.build import Builder, BuildRequest, Cache, Toolchain
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.worker.patches.extension import Extensions
from evaluator.worker.patches.process import BuildReply


def main(path: Path, cache: Path, way: str, device: str) -> None:
    """Two draws of the problem's small inputs, one line each."""
    builder = Builder(
        Cache(cache), Toolchain.find(torch.cuda.get_device_capability() if device == "cuda" else None), stock_only=way == "stock"
    )

    def ask(request: dict[str, Any]) -> BuildReply:
        outcome = builder.build(BuildRequest.model_validate(request))
        return outcome.object_fd is not None, outcome.evidence.output, outcome.object_fd

    Extensions(ask).install()
    names: dict[str, Any] = {"__name__": "submission"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    case = load(SHIPPED / f"{path.parent.name}.py").instance("small")
    torch.manual_seed(0)
    model = names["ModelNew"](*case.init_inputs(0)).to(device).eval()
    for seed in (1, 2):
        with torch.no_grad():
            arguments = case.inputs(seed, device)
            answer = model(*arguments)
        digest = hashlib.sha256()
        for tensor in tree_leaves(arguments if answer is None else answer):  # without an answer, the arguments are what is changed
            digest.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
        print(digest.hexdigest())


if __name__ == "__main__":
    # Like a worker's: headers that a submission writes are its own where they lie below the working directory.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        tempfile.tempdir = folder
        main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
