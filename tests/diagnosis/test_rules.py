"""From evidence to verdict: each rule, and which one wins."""

import math
from typing import Any

import pytest

from evaluator.category import CATEGORIES, Category
from evaluator.diagnosis import DEVICE_ERRORS, diagnose
from evaluator.result import (
    AblationEvidence,
    BuildEvidence,
    Diagnostic,
    Evidence,
    ExceptionEvidence,
    ExitEvidence,
    FloorEvidence,
    LaunchRecord,
    RoundEvidence,
    TimingEvidence,
    TimingSide,
    WrongTimedAnswer,
)
from tests.diagnosis.growth import GROWS_LIKE_ITSELF, growth


def launch(block: tuple[int, int, int] = (256, 1, 1), code: int = 0, own: bool = True, side_stream: bool = False) -> LaunchRecord:
    return LaunchRecord(
        api="cudaLaunchKernel",
        kernel="k(float*)",
        object="extension",
        own=own,
        count=1,
        grid=(4, 1, 1),
        block=block,
        shared_bytes=60_000,
        code=code,
        first=0,
        side_stream=side_stream,
    )


def exception(type: str = "RuntimeError", message: str = "no", stage: str = "rounds", **more: Any) -> ExceptionEvidence:  # noqa: A002
    return ExceptionEvidence(stage=stage, type=type, message=message, **more)


def build(category: Category | None = None, output: str = "", *diagnostics: Diagnostic) -> BuildEvidence:
    return BuildEvidence(name="x", key="k", ok=category is None, category=category, output=output, diagnostics=diagnostics)


def passed(index: int) -> RoundEvidence:
    return RoundEvidence(index=index, seed=1, passed=True)


def failed(category: Category, index: int = 0) -> RoundEvidence:
    return RoundEvidence(index=index, seed=1, passed=False, category=category, message="so")


def timing(
    median_ms: float = 1.0, unexplained_ms: float | None = 0.0, late_ms: float = 0.0, others_late_ms: tuple[float, ...] = ()
) -> TimingEvidence:
    """On a GPU; on the CPU where there is no unexplained time.

    The baseline's answers arrive in 0.5 ms; the candidate's `late_ms` later, and some so much later as `others_late_ms` says.
    """
    reveals_ms = ([0.5 + late_ms] * 4 + [0.5 + late_ms + more_ms for more_ms in others_late_ms], [0.5] * 4)
    sides = [
        TimingSide(
            median_ms=median_ms,
            lower_quartile_ms=median_ms,
            upper_quartile_ms=median_ms,
            samples_ms=(median_ms,) * 3,
            reveal_ms=tuple(reveal_ms),
        )
        for reveal_ms in reveals_ms
    ]
    return TimingEvidence(
        clock="judge_wall" if unexplained_ms is None else "cuda_event",
        calls=3,
        candidate=sides[0],
        baseline=sides[1],
        alone=sides[1],
        unexplained_ms=unexplained_ms,
        deferred_ms=late_ms,
    )


def witnessed(bursts_ms: tuple[float, ...], unflushed_bursts: int) -> TimingEvidence:
    """With so many bursts that count, and so many that don't for want of a flush."""
    made = timing()
    candidate = made.candidate.model_copy(update={"burst_ms": bursts_ms})
    return made.model_copy(update={"candidate": candidate, "unflushed_bursts": unflushed_bursts})


def floor(floor_ms: float, declared: bool = True, operations: float = 0.0) -> FloorEvidence:
    """Of a device that moves 4 TB and computes 800 TFLOP in a second."""
    return FloorEvidence(
        read_bytes=0,
        written_bytes=6_000_000_000,
        l2_bytes=1_000_000_000,
        moved_bytes=5_000_000_000,
        operations=operations,
        bytes_per_s=4e12,
        operations_per_s=8e14,
        margin=1.3,
        floor_ms=floor_ms,
        declared=declared,
    )


NEEDED = AblationEvidence(still_right=False, category=Category.WRONG_VALUES, message="so")
NOT_NEEDED = AblationEvidence(still_right=True)
WRONG = WrongTimedAnswer(call=7, message="so")
BACK_TO_BACK = WrongTimedAnswer(call=7, message="so", back_to_back=True)
ROUNDS = (passed(0), passed(1))
REFUSED = launch((4096, 1, 1), code=1)
ERROR = Diagnostic(file="cuda.cu", line=12, severity="error", message='identifier "foo" is undefined')
UNDECLARED = build(Category.UNDECLARED_IDENTIFIER, "cuda.cu(12): error\n", ERROR)
TO_EXTENSION = exception(message="Error building extension 'x': no", stage="load")

GPU: dict[str, Any] = {"rounds": ROUNDS, "timing": timing(), "builds": (build(),)}
CPU: dict[str, Any] = {"rounds": ROUNDS, "timing": timing(unexplained_ms=None), "builds": (build(),)}

RULES: dict[str, tuple[dict[str, Any], Category, str]] = {
    "all well on a GPU": ({**GPU, "launches": (launch(),)}, Category.OK, ""),
    "all well on the CPU": (CPU, Category.OK, ""),
    "all well, and wrong without its own kernels": ({**GPU, "launches": (launch(),), "ablation": NEEDED}, Category.OK, ""),
    "still right without its own kernels": (
        {**GPU, "launches": (launch(),), "ablation": NOT_NEEDED},
        Category.NO_CUSTOM_KERNEL,
        "still right with its own kernels left out",
    ),
    "still right without its extension": ({**CPU, "ablation": NOT_NEEDED}, Category.NO_CUSTOM_KERNEL, "still right"),
    "no launch of its own": ({**GPU, "launches": (launch(own=False),)}, Category.NO_CUSTOM_KERNEL, "no kernel of the submission's own"),
    "no launch at all": (GPU, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "only a refused launch of its own": ({**GPU, "launches": (launch(code=1),)}, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "no extension on the CPU": ({**CPU, "builds": ()}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed extension, survived, on the CPU": ({**CPU, "builds": (UNDECLARED,)}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed build, then one that worked": ({**CPU, "builds": (UNDECLARED, build())}, Category.OK, ""),
    "a bad frame": ({"protocol_error": "no JSON"}, Category.FORGED_RESULT, "invalid frame on the result channel: no JSON"),
    "a build that failed": ({"builds": (UNDECLARED,), "exception": TO_EXTENSION}, Category.UNDECLARED_IDENTIFIER, '"foo" is undefined'),
    "a build that failed without diagnostics": (
        {"builds": (build(Category.LINK_ERROR, "one\ntwo\n"),), "exception": TO_EXTENSION},
        Category.LINK_ERROR,
        "two",
    ),
    "a build that failed silently": (
        {"builds": (build(Category.BUILD_TIMEOUT),), "exception": TO_EXTENSION},
        Category.BUILD_TIMEOUT,
        "'x'",
    ),
    "a failed build, caught, then a missing name": (
        {"builds": (UNDECLARED,), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.PYTHON_EXCEPTION,
        "NameError",
    ),
    "no toolchain, caught, then a missing name": (
        {"builds": (build(Category.NO_TOOLCHAIN, "no nvcc"),), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.NO_TOOLCHAIN,
        "no nvcc",
    ),
    "a failed build, then an exit": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", code=1)},
        Category.UNDECLARED_IDENTIFIER,
        "",
    ),
    "an exit": ({"exit": ExitEvidence(stage="load", code=0)}, Category.EARLY_EXIT, "loading the file ended the process with exit code 0"),
    "an exit while timed": ({**GPU, "exit": ExitEvidence(stage="timing", code=1)}, Category.EARLY_EXIT, "forward() while timed"),
    "a signal": ({"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")}, Category.PROCESS_CRASH, "forward() ended by SIGSEGV"),
    "a forbidden system call": (
        {"exit": ExitEvidence(stage="construct", signal="SIGSYS")},
        Category.SANDBOX_VIOLATION,
        "constructing ModelNew made a system call that serves to leave the sandbox",
    ),
    "a failed build, then a forbidden system call": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", signal="SIGSYS")},
        Category.SANDBOX_VIOLATION,
        "loading the file",
    ),
    "a deadline": (
        {"exit": ExitEvidence(stage="construct", deadline_s=60)},
        Category.TIMEOUT,
        "constructing ModelNew did not end within 60 s",
    ),
    "a memory limit": (
        {"exit": ExitEvidence(stage="rounds", signal="SIGKILL", memory_limit_bytes=16 << 30)},
        Category.OUT_OF_MEMORY,
        "passed the memory limit of 16 GiB",
    ),
    "a directory's limit": (
        {"exit": ExitEvidence(stage="construct", signal="SIGKILL", disk_limit_bytes=2 << 30)},
        Category.PROCESS_CRASH,
        "constructing ModelNew filled its private directory beyond the limit of 2 GiB",
    ),
    "too many threads": (
        {"launches": (REFUSED,), "exception": exception(message="CUDA error: invalid argument")},
        Category.OVERSIZED_BLOCK,
        "block 4096×1×1, the device allows 1024 threads",
    ),
    "too many threads in three dimensions": (
        {"launches": (launch((32, 32, 2), code=1),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.OVERSIZED_BLOCK,
        "block 32×32×2",
    ),
    "a block too deep": (
        {"launches": (launch((1, 1, 128), code=9),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.OVERSIZED_BLOCK,
        "the device allows 1024×1024×64",
    ),
    "too much shared memory": (
        {"launches": (launch(code=1),), "rounds": (failed(Category.NAN_OR_INF),)},
        Category.INVALID_LAUNCH,
        "60000 bytes of dynamic shared memory, 49152 are allowed; more has to be asked for: cudaFuncSetAttribute(k, ",
    ),
    "a refused launch of the library's": (
        {"launches": (launch(code=1, own=False),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.WRONG_VALUES,
        "round 1: so",
    ),
    "a refused launch that did no harm": ({**GPU, "launches": (REFUSED, launch())}, Category.OK, ""),
    "a refused launch, then a broken context": (
        {"launches": (REFUSED,), "exception": exception(cuda_error=700)},
        Category.ILLEGAL_MEMORY_ACCESS,
        "RuntimeError",
    ),
    "processes that compute after the answer": (
        {**CPU, "timing": timing(unexplained_ms=None).model_copy(update={"background_ms": 3.4})},
        Category.DEFERRED_WORK,
        "then compute for 3.4 ms more",
    ),
    "processes that compute while inputs arrive": (
        {**CPU, "timing": timing(unexplained_ms=None).model_copy(update={"ahead_ms": 3.4})},
        Category.TIMING_TAMPERING,
        "compute for 3.4 ms before it is asked for",
    ),
    "processes that are late to fall asleep": (
        {**CPU, "timing": timing(unexplained_ms=None).model_copy(update={"ahead_ms": 0.2})},
        Category.OK,
        "",
    ),
    "a flush that was spoilt once": (
        {**GPU, "launches": (launch(),), "timing": timing().model_copy(update={"unflushed": 1, "calls": 30})},
        Category.OK,
        "",
    ),
    "processes that tidy up after the answer": (
        {**CPU, "timing": timing(unexplained_ms=None).model_copy(update={"background_ms": 0.2})},
        Category.OK,
        "",
    ),
    "a flush that was left out": (
        {**GPU, "launches": (launch(),), "timing": timing().model_copy(update={"unflushed": 2})},
        Category.TIMING_TAMPERING,
        "not emptied before 2 calls",
    ),
    "single calls and bursts without their flush": (
        {**GPU, "launches": (launch(),), "timing": witnessed(bursts_ms=(1.0,) * 8, unflushed_bursts=1)},
        Category.TIMING_TAMPERING,
        "not emptied before 1 calls",
    ),
    "a burst of many whose flush was spoilt": (
        {**GPU, "launches": (launch(),), "timing": witnessed(bursts_ms=(1.0,) * 9, unflushed_bursts=1)},
        Category.OK,
        "",
    ),
    "less than the talk varies by, without the gate as with it": (
        {**GPU, "launches": (launch(),), "timing": timing(0.01, 0.29).model_copy(update={"gated": False})},
        Category.OK,
        "",
    ),
    "more than the talk varies by": ({**GPU, "launches": (launch(),), "timing": timing(0.01, 0.31)}, Category.TIMING_TAMPERING, ""),
    "an exception": (
        {"exception": exception("KeyError", "'a'\nmore", line=7)},
        Category.PYTHON_EXCEPTION,
        "line 7: KeyError: 'a'",
    ),
    "a C++ allocation that failed": ({"exception": exception(message="std::bad_alloc", line=3)}, Category.OUT_OF_MEMORY, "line 3"),
    "an exception whose first line only announces": (
        {"exception": exception("RuntimeError", "The following operation failed:\nTraceback\nRuntimeError: shapes differ", line=2)},
        Category.PYTHON_EXCEPTION,
        "line 2: RuntimeError: The following operation failed: RuntimeError: shapes differ",
    ),
    "a wild pointer on the host": (
        {"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")},
        Category.PROCESS_CRASH,
        "forward() ended by SIGSEGV: it used an address that is not its own",
    ),
    "a C++ exception that nothing caught": (
        {
            "exit": ExitEvidence(stage="rounds", signal="SIGABRT"),
            "stderr": "noise\nterminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::at\n",
        },
        Category.PROCESS_CRASH,
        "(terminate called after throwing an instance of 'std::out_of_range'; what():  vector::at)",
    ),
    "the limit on processor time": ({"exit": ExitEvidence(stage="load", signal="SIGXCPU")}, Category.TIMEOUT, "loading the file used up"),
    "a kill that was no limit's": ({"exit": ExitEvidence(stage="load", signal="SIGKILL")}, Category.PROCESS_CRASH, "neither a deadline"),
    "a failed assertion of a kernel": (
        {
            "exception": exception(cuda_error=710, line=9),
            "stderr": "cuda.cu:12: void k(float *): block: [0,0,0], thread: [3,0,0] Assertion `i < n` failed.\n",
        },
        Category.DEVICE_ASSERT,
        "`i < n` in `k`, cuda.cu:12, block [0,0,0], thread [3,0,0]",
    ),
    "a wild access with one kernel of its own": (
        {"exception": exception(cuda_error=700), "launches": (launch(), launch(own=False))},
        Category.ILLEGAL_MEMORY_ACCESS,
        "in `k`, the only kernel of its own that was launched",
    ),
    "an exception without a message": ({"exception": exception("Mine", "")}, Category.PYTHON_EXCEPTION, "Mine"),
    "an exception after good rounds": ({"rounds": ROUNDS, "exception": exception("ValueError")}, Category.PYTHON_EXCEPTION, "ValueError"),
    "sys.exit": ({"exception": exception("SystemExit", "0", "load")}, Category.EARLY_EXIT, "SystemExit: 0"),
    "load_inline with a wrong argument": (
        {"exception": exception("TypeError", "load_inline() got an unexpected keyword argument 'cpp'", "load")},
        Category.LOAD_INLINE_MISUSE,
        "load_inline()",
    ),
    "load_inline with bad functions": (
        {"exception": exception("ValueError", "Expected 'functions' to be a list or dict, but was int", "load")},
        Category.LOAD_INLINE_MISUSE,
        "'functions'",
    ),
    "download() is not load()": (
        {"exception": exception("TypeError", "download() takes 0 arguments", "load")},
        Category.PYTHON_EXCEPTION,
        "download()",
    ),
    "an extension that does not load": (
        {"builds": (build(),), "exception": exception("ImportError", "/proc/self/fd/9: undefined symbol: _Z1fv", "load")},
        Category.LINK_ERROR,
        "undefined symbol",
    ),
    "an undefined symbol of something else": (
        {"exception": exception("ImportError", "x.so: undefined symbol: f", "load")},
        Category.IMPORT_ERROR,
        "undefined symbol",
    ),
    "an import of the reference": (
        {"exception": exception("ModuleNotFoundError", "No module named 'reference'", "load", line=3)},
        Category.REFERENCE_ACCESS,
        "line 3: ModuleNotFoundError: No module named 'reference'",
    ),
    "an import of the judge in forward()": (
        {"exception": exception("ModuleNotFoundError", "No module named 'evaluator.judge'")},
        Category.REFERENCE_ACCESS,
        "evaluator.judge",
    ),
    "an import from the judge": (
        {"exception": exception("ImportError", "cannot import name 'judge' from 'evaluator' (/x/__init__.py)", "construct")},
        Category.REFERENCE_ACCESS,
        "cannot import name 'judge'",
    ),
    "an import of the database's": (
        {"exception": exception("ModuleNotFoundError", "No module named 'db'", "load")},
        Category.REFERENCE_ACCESS,
        "'db'",
    ),
    "an import of its own extension too early": (
        {"builds": (build().model_copy(update={"name": "pipeline"}),), "exception": exception("ImportError", "No module named 'pipeline'")},
        Category.PYTHON_EXCEPTION,
        "'pipeline'",
    ),
    "an import of what only begins alike": (
        {"exception": exception("ModuleNotFoundError", "No module named 'references'", "load")},
        Category.IMPORT_ERROR,
        "'references'",
    ),
    "an import from a library's own reference": (
        {"exception": exception("ImportError", "cannot import name 'f' from 'reference' (/tmp/reference.py)", "load")},
        Category.IMPORT_ERROR,
        "'reference'",
    ),
    "a library's own part": (
        {"exception": exception("ModuleNotFoundError", "No module named 'torch.reference'", "load")},
        Category.IMPORT_ERROR,
        "torch.reference",
    ),
    "words about the reference": (
        {"exception": exception("RuntimeError", "No module named 'reference'")},
        Category.PYTHON_EXCEPTION,
        "RuntimeError",
    ),
    "an import that fails": (
        {"exception": exception("ModuleNotFoundError", "No module named 'triton'", "load")},
        Category.IMPORT_ERROR,
        "triton",
    ),
    "an import that fails in forward()": (
        {"exception": exception("ModuleNotFoundError", "No module named 'triton'")},
        Category.PYTHON_EXCEPTION,
        "triton",
    ),
    "out of device memory": ({"exception": exception("OutOfMemoryError", "CUDA out of memory")}, Category.OUT_OF_MEMORY, "CUDA"),
    "out of memory in __init__": ({"exception": exception("MemoryError", "", "construct")}, Category.OUT_OF_MEMORY, "MemoryError"),
    "the allocator of the CPU": (
        {"exception": exception(message="DefaultCPUAllocator: can't allocate memory: you tried")},
        Category.OUT_OF_MEMORY,
        "DefaultCPUAllocator",
    ),
    "an __init__ that raises": ({"exception": exception("TypeError", "__init__()", "construct")}, Category.INIT_ERROR, "TypeError"),
    "an illegal access in __init__": (
        {"exception": exception(stage="construct", cuda_error=700)},
        Category.ILLEGAL_MEMORY_ACCESS,
        "RuntimeError",
    ),
    "another CUDA error": ({"exception": exception(cuda_error=2)}, Category.PYTHON_EXCEPTION, "RuntimeError"),
    "a round of another distribution": (
        {"rounds": (passed(0), failed(Category.WRONG_VALUES, 2).model_copy(update={"distribution": "signs"}))},
        Category.WRONG_VALUES,
        "round 3, distribution 'signs': so",
    ),
    "the first failed round": (
        {"rounds": (passed(0), failed(Category.NAN_OR_INF, 1), failed(Category.WRONG_VALUES, 2))},
        Category.NAN_OR_INF,
        "round 2: so",
    ),
    "time beyond what the events claim": (
        {**GPU, "launches": (launch(),), "timing": timing(1.0, 0.6)},
        Category.TIMING_TAMPERING,
        "claim 1 ms",
    ),
    "a fifth of a long call": ({**GPU, "launches": (launch(),), "timing": timing(1.0, 0.2)}, Category.OK, ""),
    "less time than claimed": ({**GPU, "launches": (launch(),), "timing": timing(1.0, -3.0)}, Category.OK, ""),
    "microseconds that the clock can't tell": ({**GPU, "launches": (launch(),), "timing": timing(0.01, 0.02)}, Category.OK, ""),
    "claims of nothing": ({**GPU, "launches": (launch(),), "timing": timing(1e-4, 0.9)}, Category.TIMING_TAMPERING, "claim 0.0001 ms"),
    "time beyond the events, and a stream of its own": (
        {**GPU, "launches": (launch(), launch(side_stream=True)), "timing": timing(1.0, 0.6)},
        Category.ESCAPED_STREAM,
        "claim 1 ms",
    ),
    "time beyond the events, and a stream of the library's": (
        {**GPU, "launches": (launch(), launch(own=False, side_stream=True)), "timing": timing(1.0, 0.6)},
        Category.TIMING_TAMPERING,
        "",
    ),
    "a stream of its own that is waited for": ({**GPU, "launches": (launch(side_stream=True),)}, Category.OK, ""),
    "a timed answer that was wrong": (
        {**GPU, "launches": (launch(),), "wrong_timed_answer": WRONG},
        Category.CACHED_OUTPUT,
        "timed call 7: so",
    ),
    "calls back to back that were wrong, on a stream of its own": (
        {**GPU, "launches": (launch(side_stream=True),), "wrong_timed_answer": BACK_TO_BACK},
        Category.ESCAPED_STREAM,
        "on other streams: so",
    ),
    "calls back to back that were wrong": (
        {**GPU, "launches": (launch(),), "wrong_timed_answer": BACK_TO_BACK},
        Category.CACHED_OUTPUT,
        "timed call 7: so",
    ),
    "an answer that comes late": (
        {**GPU, "launches": (launch(),), "timing": timing(late_ms=8.0)},
        Category.DEFERRED_WORK,
        "an answer takes 1 ms, and then 8 ms longer to arrive",
    ),
    "an answer that comes late on the CPU": ({**CPU, "timing": timing(1.0, None, 8.0)}, Category.DEFERRED_WORK, ""),
    "an answer that is slow to copy": ({**GPU, "launches": (launch(),), "timing": timing(late_ms=1.5)}, Category.OK, ""),
    "an answer that now and then comes late": (
        {**GPU, "launches": (launch(),), "timing": timing(others_late_ms=(9.0, 9.0))},
        Category.OK,
        "",
    ),
    "faster than the bytes can move": (
        {**GPU, "launches": (launch(),), "floor": floor(1.1)},
        Category.IMPLAUSIBLE_SPEED,
        "a call takes 1 ms, where this device needs 1.1 ms at the least: 5 GB at 4 TB/s, 1.3 times faster than measured",
    ),
    "faster than the operations can be done": (
        {**GPU, "launches": (launch(),), "floor": floor(1.1, operations=1.2e12)},
        Category.IMPLAUSIBLE_SPEED,
        "1200 GFLOP at 800 TFLOP/s",
    ),
    "faster than the answer can be written": (
        {**GPU, "launches": (launch(),), "floor": floor(1.1, declared=False)},
        Category.IMPLAUSIBLE_SPEED,
        "",
    ),
    "what may be a view of the input": ({**GPU, "floor": floor(1.1, declared=False)}, Category.NO_CUSTOM_KERNEL, ""),
    "faster than the declared bytes can move, without a kernel": ({**GPU, "floor": floor(1.1)}, Category.IMPLAUSIBLE_SPEED, ""),
    "as fast as the device": ({**GPU, "launches": (launch(),), "floor": floor(1.0)}, Category.OK, ""),
    "a floor too low to tell": (
        {**GPU, "launches": (launch(),), "timing": timing(1e-3), "floor": floor(1.9e-3)},
        Category.OK,
        "",
    ),
    "work put off counts towards the floor": (
        {**GPU, "launches": (launch(),), "timing": timing(1.0, late_ms=1.5), "floor": floor(2.4)},
        Category.OK,
        "",
    ),
    "an implausible claim that the judge's clock contradicts": (
        {**GPU, "launches": (launch(),), "timing": timing(1.0, 0.6), "floor": floor(1.1)},
        Category.TIMING_TAMPERING,
        "",
    ),
    "tampering without a kernel": ({**GPU, "timing": timing(1.0, 0.9)}, Category.TIMING_TAMPERING, ""),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    evidence, category, words = RULES[name]
    verdict = diagnose(Evidence(**evidence))
    assert (verdict.category, words in verdict.message) == (category, True), verdict.message
    assert verdict.hint == CATEGORIES[category].hint
    assert (verdict.message == "") == (category is Category.OK)


@pytest.mark.parametrize(("code", "category"), DEVICE_ERRORS.items())
def test_errors_of_the_device_have_categories(code: int, category: Category) -> None:
    verdict = diagnose(Evidence(exception=exception("AcceleratorError", "CUDA error", cuda_error=code)))
    assert verdict.category is category


PRECEDENCE: list[tuple[dict[str, Any], Category]] = [
    ({"protocol_error": "no"}, Category.FORGED_RESULT),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSYS")}, Category.SANDBOX_VIOLATION),
    ({"builds": (build(Category.CONST_POINTER),), "exception": TO_EXTENSION}, Category.CONST_POINTER),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")}, Category.PROCESS_CRASH),
    ({"launches": (REFUSED,), "rounds": (failed(Category.WRONG_VALUES),)}, Category.OVERSIZED_BLOCK),
    ({"exception": exception("KeyError")}, Category.PYTHON_EXCEPTION),
    ({"rounds": (failed(Category.WRONG_VALUES),)}, Category.WRONG_VALUES),
    ({"wrong_timed_answer": WRONG}, Category.CACHED_OUTPUT),
    ({"timing": timing(late_ms=9.0)}, Category.DEFERRED_WORK),
    ({"timing": timing(unexplained_ms=0.9)}, Category.TIMING_TAMPERING),
    ({"timing": timing(), "floor": floor(9.0)}, Category.IMPLAUSIBLE_SPEED),
    ({"timing": timing()}, Category.NO_CUSTOM_KERNEL),
]


@pytest.mark.parametrize("first", range(len(PRECEDENCE)))
@pytest.mark.parametrize("second", range(len(PRECEDENCE)))
def test_the_earlier_rule_wins(first: int, second: int) -> None:
    if first >= second or {first, second} == {2, 5}:
        # An exception other than a build's own is told apart from the build; that has a rule of its own above.
        return
    earlier, later = PRECEDENCE[first][0], PRECEDENCE[second][0]
    merged = later | earlier
    if "timing" in earlier and "timing" in later:
        unexplained_ms = max(earlier["timing"].unexplained_ms, later["timing"].unexplained_ms)
        merged["timing"] = earlier["timing"].model_copy(update={"unexplained_ms": unexplained_ms})
    assert diagnose(Evidence(**merged)).category is PRECEDENCE[first][1]


def test_a_verdict_is_the_same_after_the_evidence_was_stored() -> None:
    for evidence, category, _ in RULES.values():
        stored = Evidence.model_validate_json(Evidence(**evidence).model_dump_json())
        assert diagnose(stored).category is category


def test_messages_have_an_end() -> None:
    long = "x" * 50_000
    for evidence in (
        Evidence(exception=exception(long[:1000], long)),
        Evidence(exception=TO_EXTENSION, builds=(build(Category.LINK_ERROR, long),)),
    ):
        assert len(diagnose(evidence).message) <= 1000


@pytest.mark.parametrize("unexplained_ms", [math.inf, math.nan, -math.inf])
def test_figures_that_are_not_finite_do_no_harm(unexplained_ms: float) -> None:
    found = diagnose(Evidence(**{**GPU, "launches": (launch(),), "timing": timing(unexplained_ms=unexplained_ms)}))
    assert found.category is (Category.TIMING_TAMPERING if not unexplained_ms < 0 else Category.OK)


ASSERTED = "cuda.cu:12: void k(float *): block: [0,0,0], thread: [3,0,0] Assertion `i < n` failed.\n"


def broken(stderr: str) -> Evidence:
    return Evidence(
        exception=ExceptionEvidence(stage="rounds", type="AcceleratorError", message="CUDA error", line=2, cuda_error=710), stderr=stderr
    )


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
    assert (
        growth(lambda stderr: diagnose(broken(stderr).model_copy(update={"exit": exit_})), lambda size: line * size + "\n", 1000)
        < GROWS_LIKE_ITSELF
    )
    nested = "a:1: " + "(" * 10_000 + ")" * 10_000 + ": block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n"
    assert growth(lambda stderr: diagnose(broken(stderr)), lambda size: nested * (size // 1000), 1000) < GROWS_LIKE_ITSELF


def test_the_last_words_may_be_long() -> None:
    exit_ = ExitEvidence(stage="rounds", signal="SIGABRT")
    said = "  what():  " + "x" * 5000 + " the end\n"
    message = diagnose(Evidence(exit=exit_, stderr=said)).message
    assert "what():" in message and "the end" in message and len(message) < 600
