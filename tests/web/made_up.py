"""A database like after a week's work, for pictures and layout: long names, many authors, all kinds of verdicts."""

import random
from datetime import timedelta
from typing import Any

from db.store import Entry, Store
from evaluator.results.category import Category
from evaluator.results.evidence import RoundEvidence
from evaluator.results.result import Result, now
from tests.db.samples import environment, full_evidence, result, sha256

PROBLEMS = (
    *("softmax", "layer_norm", "level1/23_Softmax", "level1/40_LayerNorm", "level2/37_Matmul_Swish_Sum_GroupNorm"),
    *("level2/99_Matmul_GELU_Softmax", "level3/43_MinGPTCausalAttention", "conv_transposed_3d_asymmetric_input_square_kernel"),
)
AUTHORS = ("claude-opus", "gpt-oss-120b", "qwen3-coder-480b-a35b-instruct", "deepseek-r1", "kevin-32b", "ada")
FAILED = (
    *(Category.WRONG_VALUES, Category.WRONG_VALUES, Category.CUDA_COMPILE_ERROR, Category.ILLEGAL_MEMORY_ACCESS, Category.TIMEOUT),
    *(Category.SYNTAX_ERROR, Category.CACHED_OUTPUT, Category.NO_DEVICE, Category.REDUCED_PRECISION, Category.NO_CUSTOM_KERNEL),
)
MESSAGES = {
    Category.WRONG_VALUES: "round 1: 3 of 1024 elements are wrong; the largest error is 0.31, the tolerance 1e-05",
    Category.CUDA_COMPILE_ERROR: 'cuda.cu(31): error: identifier "warp_reduce_max" is undefined',
    Category.ILLEGAL_MEMORY_ACCESS: "softmax_kernel(float const*) read memory that it does not own",
    Category.TIMEOUT: "forward() did not end within 60 s",
    Category.OK: "",
}
PROBLEM = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, dim=-1)\n"
SOURCE = (
    'import torch\nfrom torch.utils.cpp_extension import load_inline\n\ncuda_source = r"""\n#include <torch/extension.h>\n'
    "__global__ void softmax_kernel(const float* in, float* out, int columns) {\n"
    + "".join(f"  float partial_{number} = in[blockIdx.x * columns + {number}];  // a step of the reduction\n" for number in range(40))
    + '}\n"""\nextension = load_inline(name="softmax", cpp_sources="", cuda_sources=cuda_source)\n\n\n'
    "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return extension.softmax(x)\n"
)


def fill(store: Store) -> dict[str, int]:
    """Fill the store with the same rows each time, except for the date. Return the number of an evaluation of each category."""
    draw = random.Random(7)
    start = now() - timedelta(days=6)
    ids: dict[str, int] = {}
    for number, command in enumerate((("pipeline.py", "submissions", "--db", "sqlite:///assay.db"), ("assay", "judge", "rerun/"))):
        store.start_run(list(command), 160)
        entries = []
        for place in range(150):
            made, source = _result(draw, place, start + timedelta(days=3 * number, minutes=20 * place))
            entries.append(Entry(made, source, PROBLEM))
        for entry, found in zip(entries, store.save_all(entries), strict=True):
            if entry.result.evidence.rounds or entry.result.category not in ids:
                ids[entry.result.category.value] = found
    store.compact()
    return ids


def _result(draw: random.Random, place: int, moment: Any) -> tuple[Result, str]:
    problem, author = draw.choice(PROBLEMS), draw.choice(AUTHORS)
    category = Category.OK if draw.random() < 0.55 else draw.choice(FAILED)
    name = f"runs/2026-05/{author}/{problem}_sample_{place % 4}.py"
    source = f"{SOURCE}# {place}\n"
    changes: dict[str, Any] = {"submission": name, "author": author, "problem": problem, "started_at": moment}
    changes |= {"message": MESSAGES.get(category, category.value.replace("_", " ")), "source_sha256": sha256(source)}
    changes |= {"environment": environment(draw.choice(("NVIDIA H200", "NVIDIA H200", "NVIDIA H100 80GB HBM3")))}
    changes["precision"] = draw.choice(("own", "own", "float16"))
    speedup = round(draw.lognormvariate(0.3, 0.6), 3)
    if category.status.value == "rejected":
        changes.pop("environment")
    elif draw.random() < 0.6:
        changes["evidence"] = _evidence(category)
    return result(category, source, speedup, **changes), source


def _evidence(category: Category) -> Any:
    """All that there can be, but for what an evaluation with this verdict can't have."""
    evidence = full_evidence()
    rounds: tuple[RoundEvidence, ...] = evidence.rounds
    away: dict[str, Any] = {"stdout": "", "stderr": "", "detail": "", "protocol_error": ""}
    if category.status.value == "correct":
        rounds = tuple(one.model_copy(update={"passed": True, "category": None, "cause": None, "outputs": ()}) for one in rounds)
        builds = tuple(one.model_copy(update={"ok": True, "category": None, "diagnostics": ()}) for one in evidence.builds)
        away |= {"exception": None, "exit": None, "fault": None, "starving": None, "builds": builds, "trivial": (), "sanitizer": None}
        away |= {"wrong_timed_answer": None}
    else:
        away |= {"timing": None, "conditions": None, "light": None, "launches": (), "device_states": (), "profile": None}
        if category is Category.WRONG_VALUES:
            builds = tuple(one.model_copy(update={"ok": True, "category": None, "diagnostics": ()}) for one in evidence.builds)
            away |= {"exception": None, "exit": None, "fault": None, "builds": builds}
    return evidence.model_copy(update={"rounds": rounds, **away})
