"""Exceptions, and what CUDA's errors mean."""

from typing import Any

import pytest

from evaluator.diagnosis import DEVICE_ERRORS, diagnose
from evaluator.diagnosis.rules.exception_rules import OF_REFERENCE, STANDS_ALONE
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExitEvidence
from tests.diagnosis.evidence import ROUNDS, Rule, build, check, exception, launch
from tests.diagnosis.growth import GROWS_LIKE_ITSELF, growth


def raised(*args: Any, **more: Any) -> dict[str, Any]:
    return {"exception": exception(*args, **more)}


def missing(name: str, *args: Any, **more: Any) -> dict[str, Any]:
    return raised("ModuleNotFoundError", f"No module named '{name}'", *args, **more)


ASSERTED = "cuda.cu:12: void k(float *): block: [0,0,0], thread: [3,0,0] Assertion `i < n` failed.\n"
RULES: dict[str, Rule] = {
    "an exception": (raised("KeyError", "'a'\nmore", line=7), Category.PYTHON_EXCEPTION, "line 7: KeyError: 'a'"),
    "a C++ allocation that failed": (raised(message="std::bad_alloc", line=3), Category.OUT_OF_MEMORY, "line 3"),
    "an exception whose first line only announces": (
        raised("RuntimeError", "The following operation failed:\nTraceback\nRuntimeError: shapes differ", line=2),
        Category.PYTHON_EXCEPTION,
        "line 2: RuntimeError: The following operation failed: RuntimeError: shapes differ",
    ),
    "arguments of other types than an extension's": (
        raised("TypeError", "f(): these types are supported:\n    1. (arg0: Tensor) -> Tensor\n    2. (arg0: int)\n\nInvoked with: 'a'"),
        Category.PYTHON_EXCEPTION,
        "TypeError: f(): these types are supported: 1. (arg0: Tensor) -> Tensor 2. (arg0: int) Invoked with: 'a'",
    ),
    "a failed assertion of a kernel": (
        {**raised(cuda_error=710, line=9), "stderr": ASSERTED},
        Category.DEVICE_ASSERT,
        "`i < n` in `k`, cuda.cu:12, block [0,0,0], thread [3,0,0]",
    ),
    "a wild access with one kernel of its own": (
        {**raised(cuda_error=700), "launches": (launch(), launch(own=False))},
        Category.ILLEGAL_MEMORY_ACCESS,
        "in `k`, the only own kernel that was launched",
    ),
    "an exception without a message": (raised("Mine", ""), Category.PYTHON_EXCEPTION, "Mine"),
    "an exception after good rounds": ({"rounds": ROUNDS, "exception": exception("ValueError")}, Category.PYTHON_EXCEPTION, "ValueError"),
    "sys.exit": (raised("SystemExit", "0", "load"), Category.EARLY_EXIT, "SystemExit: 0"),
    "load_inline with a wrong argument": (
        raised("TypeError", "load_inline() got an unexpected keyword argument 'cpp'", "load"),
        Category.LOAD_INLINE_MISUSE,
        "load_inline()",
    ),
    "load_inline with bad functions": (
        raised("ValueError", "Expected 'functions' to be a list or dict, but was int", "load"),
        Category.LOAD_INLINE_MISUSE,
        "'functions'",
    ),
    "download() is not load()": (raised("TypeError", "download() takes 0 arguments", "load"), Category.PYTHON_EXCEPTION, "download()"),
    "an extension that does not load": (
        {"builds": (build(),), "exception": exception("ImportError", "/proc/self/fd/9: undefined symbol: _Z1fv", "load")},
        Category.LINK_ERROR,
        "undefined symbol",
    ),
    "an undefined symbol of something else": (
        raised("ImportError", "x.so: undefined symbol: f", "load"),
        Category.IMPORT_ERROR,
        "undefined symbol",
    ),
    "an import of the reference": (
        missing("reference", "load", line=3),
        Category.REFERENCE_ACCESS,
        "line 3: ModuleNotFoundError: No module named 'reference'",
    ),
    "an import of the judge in forward()": (missing("evaluator.judge"), Category.REFERENCE_ACCESS, "evaluator.judge"),
    "an import from the judge": (
        raised("ImportError", "cannot import name 'judge' from 'evaluator' (/x/__init__.py)", "construct"),
        Category.REFERENCE_ACCESS,
        "cannot import name 'judge'",
    ),
    "an import of the database's": (missing("db", "load"), Category.REFERENCE_ACCESS, "'db'"),
    "an import of its own extension too early": (
        {"builds": (build().model_copy(update={"name": "pipeline"}),), "exception": exception("ImportError", "No module named 'pipeline'")},
        Category.PYTHON_EXCEPTION,
        "'pipeline'",
    ),
    "an import of what only begins alike": (missing("references", "load"), Category.IMPORT_ERROR, "'references'"),
    "an import from a library's own reference": (
        raised("ImportError", "cannot import name 'f' from 'reference' (/tmp/reference.py)", "load"),
        Category.IMPORT_ERROR,
        "'reference'",
    ),
    "a library's own part": (missing("torch.reference", "load"), Category.IMPORT_ERROR, "torch.reference"),
    "words about the reference": (raised("RuntimeError", "No module named 'reference'"), Category.PYTHON_EXCEPTION, "RuntimeError"),
    "an import that fails": (missing("triton", "load"), Category.IMPORT_ERROR, "triton"),
    "an import that fails in forward()": (missing("triton"), Category.PYTHON_EXCEPTION, "triton"),
    "out of device memory": (raised("OutOfMemoryError", "CUDA out of memory"), Category.OUT_OF_MEMORY, "CUDA"),
    "out of memory in __init__": (raised("MemoryError", "", "construct"), Category.OUT_OF_MEMORY, "MemoryError"),
    "the allocator of the CPU": (
        raised(message="DefaultCPUAllocator: can't allocate memory: you tried"),
        Category.OUT_OF_MEMORY,
        "DefaultCPUAllocator",
    ),
    "an __init__ that raises": (raised("TypeError", "__init__()", "construct"), Category.INIT_ERROR, "TypeError"),
    "an illegal access in __init__": (raised(stage="construct", cuda_error=700), Category.ILLEGAL_MEMORY_ACCESS, "RuntimeError"),
    "an address that is not aligned": (raised(cuda_error=716), Category.MISALIGNED_ADDRESS, "not aligned"),
    "shared memory that Triton refuses": (
        raised("OutOfResources", "out of resource: shared memory, Required: 278528, Hardware limit: 232448."),
        Category.INVALID_LAUNCH,
        "out of resource: shared memory",
    ),
    "threads that Triton refuses": (
        raised("OutOfResources", "out of resource: threads, Required: 2048, Hardware limit: 1024."),
        Category.OVERSIZED_BLOCK,
        "out of resource: threads",
    ),
    "another CUDA error": (raised(cuda_error=2), Category.PYTHON_EXCEPTION, "RuntimeError"),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


def test_a_name_of_the_reference_is_the_cause() -> None:
    undefined = raised("NameError", "name 'Model' is not defined", "load")
    verdict = diagnose(Evidence(**undefined, reference_name="Model"))
    assert verdict.category is Category.PYTHON_EXCEPTION
    assert verdict.message.endswith(f"NameError: name 'Model' is not defined; {OF_REFERENCE}") and verdict.hint == STANDS_ALONE
    assert OF_REFERENCE not in diagnose(Evidence(**undefined)).message


@pytest.mark.parametrize(("code", "category"), DEVICE_ERRORS.items())
def test_errors_of_the_device_have_categories(code: int, category: Category) -> None:
    verdict = diagnose(Evidence(exception=exception("AcceleratorError", "CUDA error", cuda_error=code)))
    assert verdict.category is category


def broken(stderr: str) -> Evidence:
    return Evidence(**raised(cuda_error=710), stderr=stderr)


def test_an_assertion_is_found_among_other_output() -> None:
    assert "`i < n` in `k`, cuda.cu:12, block [0,0,0]" in diagnose(broken("x" * 300_000 + "\n" + ASSERTED + "more\n")).message


@pytest.mark.parametrize(
    "line",
    [
        "a:1: f: block: [0,0,0], thread: [0,0,0] Assertion `",
        "a:1: : Assertion ",
        "a:1: (: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
        "(",
    ],
)
@pytest.mark.parametrize("exit_", [None, ExitEvidence(stage="rounds", signal="SIGABRT")])
def test_output_is_read_in_time_that_grows_with_it_alone(line: str, exit_: ExitEvidence | None) -> None:
    noisy = lambda stderr: diagnose(broken(stderr).model_copy(update={"exit": exit_}))  # noqa: E731
    assert growth(noisy, lambda size: line * size + "\n", 1000) < GROWS_LIKE_ITSELF
    nested = "a:1: " + "(" * 10_000 + ")" * 10_000 + ": block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n"
    assert growth(lambda stderr: diagnose(broken(stderr)), lambda size: nested * (size // 1000), 1000) < GROWS_LIKE_ITSELF
