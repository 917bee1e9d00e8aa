"""Submissions written out by what their forward() does."""

import re

HEAD = """\
import os, sys, time
import torch
from torch import nn

class ModelNew(nn.Module):
"""


def forward(body: str, parameters: str = "x") -> str:
    """A submission whose forward() has this body; the body's first line is line 7."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}    def forward(self, {parameters}):\n{lines}    def __init__(self, *arguments):\n        super().__init__()\n"


SOFTMAX = forward("return torch.softmax(x, 1)")
"""Right, and no kernel of its own."""

EXTENSION = '''\
import torch
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <Python.h>
#include <cmath>
#include <cstdint>
#include <cstring>

DEFINED
static PyObject* run(PyObject*, PyObject* given) {
    long long at[8] = {};
    if (!PyArg_ParseTuple(given, "LL|LLLLLL", at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7)) return nullptr;
    int64_t count = at[0];
    float* y = (float*)at[1];
    BODY
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"run", run, METH_VARARGS, ""}, {}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "own", "", -1, methods};
#define NAMED(name) PyInit_##name
#define INIT(name) NAMED(name)
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""
extension = load_inline(name="own", cpp_sources=CPP, no_implicit_headers=True)


def run(to, *tensors):
    tensors = [each.contiguous() for each in tensors]
    extension.run(tensors[0].numel(), to.data_ptr(), *(each.data_ptr() for each in tensors))
    return to


'''
"""Without PyTorch's headers and pybind11's a build takes a second, and not half a minute."""


def extension(body: str, names: str = "x", defined: str = "") -> str:
    """The beginning of a submission with a C++ extension: `run(to, *tensors)` has it fill `to`, and returns that. `body` is C++: `y` points
    to what is filled, these names to the tensors, and `count` is the number of elements of the first one."""
    pointers = "".join(f"const float* {name} = (const float*)at[{number}];\n    " for number, name in enumerate(names.split(), 2))
    return EXTENSION.replace("DEFINED", defined).replace("BODY", pointers + body)


COPIES = extension("for (int64_t i = 0; i < count; i++) y[i] = x[i];")
"""The extension of submissions that need any kernel of their own: run(torch.empty_like(x), x) is x."""


def copied(code: str) -> str:
    """The submission, each line `return VALUE` with VALUE passed through an extension of its own."""
    through = r"\1return (lambda value: run(torch.empty_like(value), value))(\2)"
    return COPIES + re.sub(r"^( +)return (.*)$", through, code, flags=re.MULTILINE)
