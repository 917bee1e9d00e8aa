"""Results to store."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from db.store import Store
from evaluator.results.category import Category, Status
from evaluator.results.evidence import (
    AblationEvidence,
    BuildAttempt,
    BuildEvidence,
    ChangedInputsEvidence,
    ConditionsEvidence,
    DeviceState,
    Diagnostic,
    ErrorFigures,
    ErrorMap,
    Evidence,
    ExceptionEvidence,
    ExitEvidence,
    FaultEvidence,
    FloorEvidence,
    KernelLimits,
    KernelProfile,
    KernelTimes,
    LaunchRecord,
    LightEvidence,
    OwnWorkEvidence,
    ParametersEvidence,
    ProfiledSide,
    ProfileEvidence,
    RoundEvidence,
    SanitizerEvidence,
    SanitizerFinding,
    SanitizerPlace,
    SanitizerRun,
    ShapeEvidence,
    Stall,
    TimingEvidence,
    TimingSide,
    WorkloadEvidence,
    WrongElement,
)
from evaluator.results.protocol_names import UNTIMED
from evaluator.results.result import Environment, Result, now
from evaluator.results.score import overall_ms

PROBLEM_SOURCE = "class Model: ...\n"
SOURCE = "class ModelNew: ...\n"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def environment(device_name: str = "NVIDIA H200", **changes: Any) -> Environment:
    values: dict[str, Any] = {
        "device_kind": "cuda",
        "device_name": device_name,
        "torch": "2.11.0",
        "python": "3.11.7",
        "cpu": "Xeon",
        "cpu_count": 16,
        "platform": "Linux",
        "settings": {"allow_tf32": False, "threads": 1},
    }
    return Environment(**values | changes)


def result(category: Category = Category.OK, source: str = SOURCE, speedup: float | None = None, **changes: Any) -> Result:
    """A result of `category` for softmax on an H200; a speedup of s is 2·s ms against 2 ms."""
    values: dict[str, Any] = {
        "submission": "submissions/softmax/a.py",
        "author": "ada",
        "problem": "softmax",
        "case": "full",
        "precision": "own",
        "device": "cuda:0",
        "status": category.status,
        "category": category,
        "message": "as observed",
        "source_sha256": sha256(source),
        "problem_sha256": sha256(PROBLEM_SOURCE),
        "started_at": now(),
        "duration_s": 1.5,
        "environment": environment(),
    }
    if category is Category.UNTIMED:
        values["protocol"] = UNTIMED
    elif category.status is Status.CORRECT:
        speedup = speedup or 2.0
        values |= {"runtime_ms": 2.0, "baseline_ms": 2.0 * speedup, "speedup": speedup}
    if category.status is Status.REJECTED:
        values |= {"problem_sha256": None, "environment": None, "device": None, "case": None, "precision": None}
    return Result(**values | changes)


def timing(speedup: float, share: float = 0.01, **more: Any) -> TimingEvidence:
    """A timing of 2 ms. The interval of the speedup is `share` of it to either side."""
    candidate, baseline = (
        TimingSide(median_ms=ms, lower_quartile_ms=ms, upper_quartile_ms=ms, samples_ms=(ms,) * 8) for ms in (2.0, 2.0 * speedup)
    )
    told: dict[str, Any] = {"interval": (speedup * (1 - share), speedup * (1 + share))}
    return TimingEvidence(clock="cuda_event", calls=8, candidate=candidate, baseline=baseline, **told | more)


def solved(name: str, speedup: float, **changes: Any) -> Result:
    """A ranked result with an interval."""
    values: dict[str, Any] = {"submission": name, "evidence": Evidence(timing=timing(speedup))}
    return result(speedup=speedup, **values | changes)


def failed(name: str, category: Category = Category.TIMEOUT, **changes: Any) -> Result:
    return result(category, submission=name, **changes)


def in_workloads(author: str, category: Category = Category.OK, **speedups: float | None) -> Result:
    """A result in these workloads; None for an unsolved one."""
    workloads = tuple(
        WorkloadEvidence(
            case=name, input_bytes=4096, right=bool(each), timing=timing(each, 0.1) if each else None, message="" if each else "no"
        )
        for name, each in speedups.items()
    )
    found = timing(next(speedup for speedup in speedups.values() if speedup), 0.1, workloads=workloads)
    runtime_ms, baseline_ms = overall_ms(found)
    times: dict[str, Any] = {"runtime_ms": runtime_ms, "baseline_ms": baseline_ms, "speedup": baseline_ms / runtime_ms}
    return result(category, f"of {author}", author=author, submission=f"{author}.py", case="all", evidence=Evidence(timing=found), **times)


def stored_run(url: str, *results: Result, skipped: Sequence[int] = ()) -> int:
    """Store a run with these results; returns its number."""
    with Store.open(url) as working:
        working.start_run(["pipeline.py"])
        working.skip(skipped)
        for each in results:
            text = f"source of {each.submission} {each.hint}"
            working.save(each.model_copy(update={"source_sha256": sha256(text)}), text)
        assert working._run_id is not None
        return working._run_id


def full_evidence(text: str = "") -> Evidence:
    """Evidence with every part filled in; `text` is put wherever a submission could put text of its own."""
    figures = ErrorFigures(
        output=f"[0]{text}",
        elements=1024,
        wrong=3,
        max_error=float("inf"),
        rms_error=0.25,
        tolerance=1e-5,
        reference_error=1e-7,
        gross_error=0.0625,
        first_index=(1, 2),
        first_value=0.1,
        first_expected=0.3,
        nonfinite_mismatch=1,
        pattern="a tail of 3",
        likeness="all of them are 0",
        examples=(WrongElement(index=(1, 2), value=float("inf"), expected=0.3),),
        error_map=ErrorMap(rows=("....", "..1#"), rows_per_cell=4, columns_per_cell=64),
    )
    side = TimingSide(median_ms=1.25, lower_quartile_ms=1.125, upper_quartile_ms=1.375, samples_ms=(1.125, 1.25, 1.375), wall_ms=(1.5,))
    diagnostic = Diagnostic(
        file=f"cuda.cu{text}",
        line=7,
        column=3,
        severity="error",
        message=f"identifier undefined{text}",
        source_line=31,
        excerpt=f"x = y;{text}",
    )
    return Evidence(
        sandbox="namespaces",
        stage="time",
        builds=(
            BuildEvidence(
                name=f"softmax_ext{text}",
                key="k" * 64,
                ok=False,
                category=Category.CUDA_COMPILE_ERROR,
                uses_cuda=True,
                duration_s=11.25,
                output=f"cuda.cu(7): error\nmore of it{text}",
                diagnostics=(diagnostic,),
                attempts=(BuildAttempt(output=f"cuda.o{text}", way="lean+passes", ok=False, duration_s=3.5),),
            ),
        ),
        launches=(
            LaunchRecord(
                api="cudaLaunchKernel",
                kernel=f"softmax_kernel(float const*){text}",
                object="ext.so",
                own=True,
                count=5,
                grid=(128, 1, 1),
                block=(4096, 1, 1),
                shared_bytes=8192,
                code=1,
                first=2,
                last=9,
                cluster=(2, 1, 1),
                timed=6,
                device_ms=3.0,
                limits=KernelLimits(
                    registers=40, static_shared_bytes=1024, local_bytes=16, max_threads=1024, max_dynamic_shared_bytes=49152
                ),
            ),
        ),
        kernel_times=KernelTimes(calls=3, call_ms=4.0),
        fault=FaultEvidence(kernel=f"softmax_kernel{text}", own=True, grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0, position=3),
        sizes=(17, 1021),
        device_kind="cuda",
        parameters=ParametersEvidence(
            source="drawn",
            kept=(f"fc.weight{text}",),
            converted=(f"weight{text} (64, 32): float32 to bfloat16",),
            unmatched=(f"scale{text} (64,)",),
            missing=(f"bias{text} (32,)",),
        ),
        changed_inputs=(
            ChangedInputsEvidence(distribution="wide", right=True),
            ChangedInputsEvidence(
                distribution="shifted", right=False, category=Category.PRECISION_LOSS, message=f"somewhat off{text}", max_error=0.03125
            ),
            ChangedInputsEvidence(distribution="special", right=None, message=f"the reference has no answer{text}"),
        ),
        device_states=(
            DeviceState(
                stage=f"time{text}", sm_clock_mhz=1980.0, temperature_c=41.5, throttled=f"sw_power_cap{text}", other_processes=0, at_s=0.125
            ),
            DeviceState(stage=f"after time{text}", sm_clock_mhz=1755.0, power_w=640.5, throttled="", other_processes=2, at_s=0.25),
            DeviceState(stage="after"),
        ),
        conditions=ConditionsEvidence(
            shared=True, throttled="hw_thermal_slowdown", repeated=True, first_runtime_ms=2.5, first_baseline_ms=4.5
        ),
        light=LightEvidence(
            read_bytes=1 << 30,
            written_bytes=1 << 30,
            moved_bytes=2 << 30,
            operations=1e9,
            arithmetic="3 × tf32",
            bytes_per_s=4.25e12,
            operations_per_s=1.25e14,
            light_ms=0.5,
            bound="memory",
            uncertainty=0.01,
            calibrated_at=datetime(2026, 5, 1, 12, tzinfo=UTC),
            declared=False,
        ),
        rounds=(
            RoundEvidence(
                index=0,
                seed=987654321,
                passed=False,
                category=Category.WRONG_VALUES,
                message=f"far off{text}",
                outputs=(figures,),
                cause=f"GELU's tanh approximation{text}",
            ),
        ),
        timing=TimingEvidence(
            clock="cuda_event",
            calls=3,
            candidate=side.model_copy(update={"hot_ms": (1.0, 1.25), "blank_ms": 0.0035, "launch_lead_ms": 0.125, "host_ms": 0.0625}),
            baseline=side,
            alone=side.model_copy(update={"median_ms": 0.5, "lower_quartile_ms": 0.5, "upper_quartile_ms": 0.5}),
            unclaimed_ms=0.375,
            protocol="cold",
            fallback=f"graph: it waits for the device{text}" if text else "",
            calls_in_block=16,
            blocks=3,
            warm_up_calls=8,
            steady=True,
            stop="precise",
            interval=(0.4, 0.4),
            others={"compile": side.model_copy(update={"at_s": (0.1, 0.2, 0.3), "outliers": (2,)})},
            failed_baselines={"other": f"no{text}"},
        ),
        floor=FloorEvidence(
            read_bytes=3 << 30,
            written_bytes=1 << 30,
            l2_bytes=0,
            moved_bytes=4_000_000_000,
            operations=2e12,
            bytes_per_s=4e12,
            operations_per_s=8e14,
            margin=1.3,
            floor_ms=1.923,
            declared=True,
        ),
        shapes=(
            ShapeEvidence(case="odd", constants={"rows": 15, "pair": [3, 5]}, declared=False, inputs=("float32 (15, 7)",), right=True),
            ShapeEvidence(case="batch", declared=True, right=False, category=Category.WRONG_SHAPE, message=f"far from it{text}"),
        ),
        strict_shapes=True,
        trivial=("zeros",),
        ablation=AblationEvidence(still_right=False, category=Category.NAN_OR_INF, message=f"nothing left{text}"),
        own_work=OwnWorkEvidence(time_share=0.02, written_bytes=4, answer_bytes=4096),
        sanitizer=SanitizerEvidence(
            version="2025.3.1.0",
            case="small",
            runs=(SanitizerRun(tool="racecheck", outcome="ended", reports=1, duration_s=12.5, remark=f"it raised{text}"),),
            findings=(
                SanitizerFinding(
                    tool="racecheck",
                    severity="warning",
                    message=f"Write access that races{text}",
                    count=3,
                    kernel=f"softmax_kernel(float const*){text}",
                    own=True,
                    file=f"cuda.cu{text}",
                    line=7,
                    source_line=31,
                    excerpt=f"tile[i] = x;{text}",
                    detail=f"508 hazards{text}",
                    others=(SanitizerPlace(role=f"Read access{text}", kernel="softmax_kernel", file="cuda.cu", line=9, source_line=33),),
                ),
            ),
        ),
        profile=_profile(text),
        reference_name=f"helper{text}",
        exception=ExceptionEvidence(
            stage="call", type=f"RuntimeError{text}", message=f"boom{text}", traceback=f"line one\nline two{text}", line=12
        ),
        exit=ExitEvidence(stage="call", signal="SIGKILL", deadline_s=60.0, memory_limit_bytes=1 << 30, disk_limit_bytes=2 << 30),
        stdout=f"printed{text}",
        stderr=f"warned{text}",
        stages_s={"load": 0.25, "build": 11.5},
        detail=f"the judge's own{text}",
    )


def _profile(text: str) -> ProfileEvidence:
    kernel = KernelProfile(
        kernel=f"void softmax_kernel<4>(float const*){text}",
        own=True,
        grid=(4096, 1, 1),
        block=(512, 1, 1),
        duration_ms=0.25,
        memory_share=0.5,
        arithmetic_share=0.25,
        occupancy=0.24,
        occupancy_limit=0.25,
        limited_by=("registers",),
        registers=168,
        shared_bytes=5120,
        l2_hit_share=0.66,
        read_bytes=400_000_000,
        written_bytes=100_000_000,
        instructions=60_000_000,
        issue_share=0.35,
        stalls=(Stall(reason="long_scoreboard", share=0.6), Stall(reason="barrier", share=0.2)),
    )
    unknown = KernelProfile(kernel=f"at::native::vectorized{text}", own=False)
    return ProfileEvidence(
        version="2025.3.1.0",
        case="small",
        remark=f"another case{text}",
        submission=ProfiledSide(outcome="ended", kernels=(kernel,), passes=8, duration_s=12.5),
        reference=ProfiledSide(outcome="deadline", kernels=(kernel.model_copy(update={"own": False}), unknown), remark=f"stopped{text}"),
        light=LightEvidence(
            read_bytes=100_000_000,
            written_bytes=100_000_000,
            moved_bytes=200_000_000,
            operations=0.0,
            bytes_per_s=4e12,
            light_ms=0.05,
            bound="memory",
            calibrated_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
            uncertainty=0.01,
            declared=True,
        ),
    )
