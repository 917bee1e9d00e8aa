"""Faulty submissions: corpus/, and what is too odd to lie in a file of its own, with the verdict that each deserves.

The header of each file in corpus/:

    # fault: what is wrong
    # problem: the problem that it poses as an answer to
    # expect: cpu status/category        where it is judged so; a device without such a line does not judge it
    # expect: cuda status/category
    # says: words                        that the message, the hint or the feedback holds; repeatable
    # needs: nvcc                        to be found out on a CPU

A line that ends with HERE is the one that the verdict has to name; in a file without one, any will do.
"""

import re
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
MARK = "HERE"

_FIELD = re.compile(r"^# (fault|problem|expect|says|needs): (.+)$")


@dataclass(frozen=True)
class Fault:
    """One faulty submission."""

    name: str
    """Of its file, with suffix."""
    data: bytes
    fault: str
    verdicts: dict[str, str]
    """`status/category` by device kind."""
    line: int | None
    says: tuple[str, ...]
    needs_nvcc: bool


def read(path: Path) -> Fault:
    """The fault in a file. Raises ValueError where its header is not of the form above."""
    fields: dict[str, list[str]] = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        match = _FIELD.match(line)
        if not match:
            break
        fields.setdefault(match[1], []).append(match[2])
    if not {"fault", "problem", "expect", "says"} <= fields.keys():
        raise ValueError(f"{path.name}: the header needs fault, problem, expect and says")
    marked = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(MARK)]
    return Fault(
        name=path.name,
        data=path.read_bytes(),
        fault=fields["fault"][0],
        verdicts=dict(line.split(" ", 1) for line in fields["expect"]),
        line=marked[0] if marked else None,
        says=tuple(fields["says"]),
        needs_nvcc="needs" in fields,
    )


_MODEL = "class ModelNew:\n    def forward(self, x):\n        return x\n"
_PROBLEM = "# problem: softmax\n"


def _rejected(name: str, fault: str, category: str, text: str | bytes, says: str, line: int | None = None) -> Fault:
    data = text if isinstance(text, bytes) else text.encode()
    verdict = f"rejected/{category}"
    return Fault(name, data, fault, {"cpu": verdict, "cuda": verdict}, line, (says,), needs_nvcc=False)


REJECTED = (
    _rejected("nul.py", "it holds a NUL character", "unreadable_file", b"# problem: softmax\nx = '\0'\n" + _MODEL.encode(), "NUL"),
    _rejected("empty.jsonl", "a bundle without a line", "unreadable_file", "", "empty"),
    _rejected("line.jsonl", "a line of a bundle is no JSON", "unreadable_file", "{'code': 'x'}\n", "not JSON"),
    _rejected("large.py", "more than a mebibyte of code", "too_large", _PROBLEM + "#" * 80 + ("\n" + "#" * 80) * 14_000, "bytes"),
    _rejected("large.md", "a response of five mebibytes", "too_large", "word " * 1_100_000, "bytes"),
    _rejected(
        "large.txt", "a code block of two mebibytes", "too_large", _PROBLEM + f"```python\n{_MODEL}{'# x' * 700_000}\n```\n", "bytes"
    ),
    _rejected(
        "talk.md", "a response that only talks", "no_code_block", _PROBLEM + "\nUse shared memory and you will be fine.\n", "no code block"
    ),
    _rejected("cpp.md", "a response in C++ alone", "no_code_block", _PROBLEM + "\n```cpp\nint f();\n```\n", "only cpp"),
    _rejected("refusal.txt", "a refusal", "no_code_block", _PROBLEM + "I can't help with that.\n", "fenced Python block"),
    _rejected("colon.py", "a colon is missing", "syntax_error", _PROBLEM + "class ModelNew(Base)\n    pass\n", "line 2", 2),
    _rejected("cut.md", "the response breaks off", "syntax_error", _PROBLEM + "\nHere:\n\n```python\nimport torch\nx = (1,\n", "cut off"),
    _rejected(
        "indent.py",
        "a body that is not indented",
        "syntax_error",
        _PROBLEM + "import torch\nclass ModelNew:\ndef f(x):\n    pass\n",
        "indented",
        4,
    ),
    _rejected(
        "model.py", "the class has the reference's name", "missing_model_new", _PROBLEM + _MODEL.replace("ModelNew", "Model"), "ModelNew"
    ),
    _rejected(
        "nested.py", "the class is inside a function", "missing_model_new", _PROBLEM + "def f():\n    class ModelNew: ...\n", "top level"
    ),
    _rejected(
        "guarded.md",
        "the class is defined for scripts only",
        "missing_model_new",
        _PROBLEM + "\n```python\nif __name__ == '__main__':\n    class ModelNew: ...\n```\n",
        "class ModelNew",
    ),
    _rejected("typo.py", "a problem whose name is misspelt", "unknown_problem", "# problem: sofmax\n" + _MODEL, "nearest: softmax"),
    _rejected("nameless.py", "nothing says which problem it answers", "unknown_problem", _MODEL, "--problem"),
    _rejected(
        "numbered.md", "a number that no problem has", "unknown_problem", f"# problem: 9999_fused\n\n```python\n{_MODEL}```\n", "9999_fused"
    ),
)
"""What is not judged at all."""

_RESPONSE = """<!-- problem: leaky_relu -->
# problem: leaky_relu

First some words, then the code:

```python
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r'''
float leaky(float value) {
    return value > 0 ? value : slope * value;
}
'''
ops = load_inline(name="answered", cpp_sources=CPP, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.leaky(x)
```

That is all.
"""
_RAISING = """<think>
What about PyTorch?
</think>
# problem: gelu_tanh

```python
import torch


def helper(x):
    return x.gelu()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return helper(x)
```
"""


def _answered(name: str, fault: str, verdict: str, text: str, says: str, line: int, *kinds: str) -> Fault:
    return Fault(name, text.encode(), fault, dict.fromkeys(kinds, verdict), line, (says,), needs_nvcc=False)


UNDECLARED = "build_failed/undeclared_identifier"
RESPONSES = (
    _answered("undeclared.md", "an undeclared name in a response", UNDECLARED, _RESPONSE, "'slope' was not declared", 12, "cpu"),
    _answered("raises.txt", "an exception, after reasoning", "run_failed/python_exception", _RAISING, "'gelu'", 11, "cpu", "cuda"),
)
"""Lines are those of the response, not of the block in it."""


def corpus() -> dict[str, Fault]:
    """Every fault, by the name of its file."""
    return {fault.name: fault for fault in (*(read(path) for path in sorted(CORPUS.glob("*.py"))), *REJECTED, *RESPONSES)}
