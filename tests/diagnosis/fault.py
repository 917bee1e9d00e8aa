"""Faulty submissions: corpus/, and those too odd for a file (see tests/corpus.py)."""

from pathlib import Path

from tests.corpus import Entry, corpus

_MODEL = "class ModelNew:\n    def forward(self, x):\n        return x\n"
_PROBLEM = "# problem: softmax\n"


def _rejected(name: str, fault: str, category: str, text: str | bytes, says: str) -> Entry:
    data = text if isinstance(text, bytes) else text.encode()
    return Entry(name, data, {"fault": (fault,), "expect": (f"rejected/{category}",), "says": (says,)})


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
    _rejected("colon.py", "a colon is missing", "syntax_error", _PROBLEM + "class ModelNew(Base)  # HERE\n    pass\n", "line 2"),
    _rejected("cut.md", "the response breaks off", "syntax_error", _PROBLEM + "\nHere:\n\n```python\nimport torch\nx = (1,\n", "cut off"),
    _rejected(
        "indent.py",
        "a body that is not indented",
        "syntax_error",
        _PROBLEM + "import torch\nclass ModelNew:\ndef f(x):  # HERE\n    pass\n",
        "indented",
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
"""Submissions that are not judged at all."""

_RESPONSE = """<!-- problem: leaky_relu -->
# problem: leaky_relu

First some words, then the code:

```python
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r'''
float leaky(float value) {
    return value > 0 ? value : slope * value;  // HERE
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
    return x.gelu()  # HERE


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return helper(x)
```
"""


def _answered(name: str, fault: str, expect: str, text: str, says: str) -> Entry:
    return Entry(name, text.encode(), {"fault": (fault,), "expect": (expect,), "says": (says,)})


UNDECLARED = "cpu build_failed/undeclared_identifier"
RESPONSES = (
    _answered("undeclared.md", "an undeclared name in a response", UNDECLARED, _RESPONSE, "'slope' was not declared"),
    _answered("raises.txt", "an exception, after reasoning", "run_failed/python_exception", _RAISING, "'gelu'"),
)
"""Lines are those of the response, not of the block in it."""

FAULTS = {fault.name: fault for fault in (*corpus(Path(__file__).parent / "corpus").values(), *REJECTED, *RESPONSES)}
"""Every fault, by the name of its file."""
