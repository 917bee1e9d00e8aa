"""PyTorch's `load_inline` and `load`: C++ and CUDA that the builder compiles. So the builder reads their errors."""

import re

from evaluator.dsl.plugin import Dsl

DSL = Dsl(
    name="load_inline",
    title="load_inline",
    marks=frozenset(("load_inline", "load")),
    caches={"TORCH_EXTENSIONS_DIR": "torch_extensions"},
    in_worker="evaluator.worker.patches.extension:install",
    misused=re.compile(r"\b(load_inline|load)\(\)|'functions'"),
    compiles_in="builder",
)
