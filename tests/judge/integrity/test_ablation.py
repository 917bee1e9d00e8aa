"""The ablation check with real workers: a submission that needs its extension is ok, one whose work PyTorch does is not."""

import textwrap

import pytest

from evaluator.results.category import Category
from evaluator.results.evidence import AblationEvidence
from tests.judge.conftest import Judge

EXTENSION = r'''
import ctypes, tempfile
from pathlib import Path
import torch
from torch import nn
from torch.utils.cpp_extension import load

C = """
#include <Python.h>

static const float *given;
static float *wanted;
static long count;

extern "C" void bend(const float *x, float *y, long n, float slope) {
    for (long i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : x[i] * slope;
}

static PyObject *bend_at(PyObject *self, PyObject *args) {
    Py_ssize_t x, y, n;
    double slope;
    if (!PyArg_ParseTuple(args, "nnnd", &x, &y, &n, &slope)) return NULL;
    bend((const float *)x, (float *)y, n, slope);
    return PyLong_FromLong(0);
}

static PyObject *prepare(PyObject *self, PyObject *args) {
    Py_ssize_t x, y, n;
    if (!PyArg_ParseTuple(args, "nnn", &x, &y, &n)) return NULL;
    given = (const float *)x, wanted = (float *)y, count = n;
    Py_RETURN_NONE;
}

static PyObject *bend_prepared(PyObject *self, PyObject *slope) {
    if (!given) { PyErr_SetString(PyExc_RuntimeError, "nothing prepared"); return NULL; }
    bend(given, wanted, count, PyFloat_AsDouble(slope));
    Py_RETURN_NONE;
}

static PyObject *largest(PyObject *self, PyObject *args) {
    Py_ssize_t x, n;
    if (!PyArg_ParseTuple(args, "nn", &x, &n)) return NULL;
    float most = 0.0f;
    for (long i = 0; i < n; ++i) most = ((float *)x)[i] > most ? ((float *)x)[i] : most;
    return PyFloat_FromDouble(most);
}

static PyMethodDef methods[] = {
    {"bend_at", bend_at, METH_VARARGS, ""}, {"prepare", prepare, METH_VARARGS, ""}, {"bend_prepared", bend_prepared, METH_O, ""},
    {"largest", largest, METH_VARARGS, ""}, {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bending", NULL, -1, methods};

PyMODINIT_FUNC PyInit_bending(void) { return PyModule_Create(&definition); }
"""

source = Path(tempfile.mkdtemp()) / "bending.cpp"
source.write_text(C)
extension = load(name="bending", sources=[str(source)])


class ModelNew(nn.Module):
    def __init__(self, slope=0.01):
        super().__init__()
        self.slope = slope

'''


def submission(body: str) -> str:
    return EXTENSION + "    def forward(self, x):\n" + textwrap.indent(body, " " * 8)


NEEDED = {
    "keeps PyTorch in reserve": (
        "y = torch.empty_like(x)\ntry:\n"
        "    extension.prepare(x.data_ptr(), y.data_ptr(), x.numel())\n    extension.bend_prepared(self.slope)\n"
        "except RuntimeError:\n    return nn.functional.leaky_relu(x, self.slope)\nreturn y"
    ),
    "calls it through ctypes": (
        "bend = ctypes.CDLL(extension.__file__).bend\nbend.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long, ctypes.c_float]\n"
        "y = torch.empty_like(x)\nbend(x.data_ptr(), y.data_ptr(), x.numel(), self.slope)\nreturn y"
    ),
    "does half": (
        "y = nn.functional.leaky_relu(x, self.slope)\ny[5:] = 0\n"
        "extension.bend_at(x[5:].data_ptr(), y[5:].data_ptr(), x[5:].numel(), self.slope)\nreturn y"
    ),
}
NOT_NEEDED = "most = extension.largest(x.data_ptr(), x.numel())\nreturn nn.functional.leaky_relu(x, self.slope) + 0 * torch.tensor(most)"


WITHOUT = (
    "most = max(extension.largest(x.data_ptr(), x.numel()) for _ in range(30))\n"
    "if most != x.max().item():\n    {}\nreturn nn.functional.leaky_relu(x, self.slope)"
)
"""Its own kernel takes much of a call's time."""
FAILS_WITHOUT = {
    "raise ValueError(x.shape)": Category.PYTHON_EXCEPTION,
    "__import__('os')._exit(3)": Category.EARLY_EXIT,
    "while True: pass": Category.TIMEOUT,
}


PROBLEM = """
import torch

ASSAY = {"in_place": CHANGED}

class Model(torch.nn.Module):
    def forward(self, x):
        ANSWER

def get_inputs():
    return [torch.randn(31, 67)]

def get_init_inputs():
    return []
"""
LEAKY = PROBLEM.replace("CHANGED", "[]").replace("ANSWER", "return torch.nn.functional.leaky_relu(x, 0.01)")
IN_PLACE = PROBLEM.replace("CHANGED", "[0]").replace("ANSWER", "torch.nn.functional.leaky_relu_(x, 0.01)")


@pytest.mark.build
def test_own_work_on_memory_that_is_shared_is_left_out_too(judge: Judge) -> None:
    result = judge(submission("extension.bend_at(x.data_ptr(), x.data_ptr(), x.numel(), self.slope)"), problem_text=IN_PLACE)
    assert result.evidence.ablation is not None, result.message
    assert result.evidence.ablation.category is Category.WRONG_VALUES


@pytest.mark.build
@pytest.mark.parametrize("name", NEEDED)
def test_own_work_that_the_answer_needs_is_ok(judge: Judge, name: str) -> None:
    result = judge(submission(NEEDED[name]), problem_text=LEAKY)
    assert result.category is Category.OK, result.message
    assert result.evidence.ablation is not None
    assert not result.evidence.ablation.still_right
    assert result.evidence.ablation.category is not None
    assert result.evidence.stage == "timing"


@pytest.mark.build
def test_own_work_that_the_answer_does_not_need_is_no_custom_kernel(judge: Judge) -> None:
    result = judge(submission(NOT_NEEDED), problem_text=LEAKY)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.evidence.ablation
    assert result.evidence.ablation == AblationEvidence(still_right=True)
    assert result.message == "right, and still right with its own kernels left out"
    assert result.speedup is not None


@pytest.mark.build
@pytest.mark.parametrize("failure", FAILS_WITHOUT)
def test_whatever_goes_wrong_without_own_work_counts_for_the_submission(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    if FAILS_WITHOUT[failure] is Category.TIMEOUT:
        monkeypatch.setattr("evaluator.judge.limits.ABLATED_S", 1.0)
    result = judge(submission(WITHOUT.format(failure)), problem_text=LEAKY)
    assert result.category is Category.OK, result.message
    assert result.evidence.ablation is not None
    assert (result.evidence.ablation.still_right, result.evidence.ablation.category) == (False, FAILS_WITHOUT[failure])
    assert (result.evidence.exception, result.evidence.exit) == (None, None)


@pytest.mark.slow
def test_nothing_is_left_out_of_what_is_not_ok_anyway(judge: Judge) -> None:
    head = "import torch\nclass ModelNew(torch.nn.Module):\n    def __init__(self, slope=0.01):\n        super().__init__()\n"
    for answer, category in (("x", Category.WRONG_VALUES), ("torch.where(x > 0, x, 0.01 * x)", Category.NO_CUSTOM_KERNEL)):
        result = judge(f"{head}    def forward(self, x):\n        return {answer}\n", problem_text=LEAKY)
        assert (result.category, result.evidence.ablation) == (category, None), result.message
