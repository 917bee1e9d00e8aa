"""What one evaluation produces: the Result and the evidence that it rests on.

Every figure carries its unit in its name. Everything here is plain data that goes through JSON unchanged.
"""

import statistics
from datetime import UTC, datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evaluator.category import CATEGORIES, Category, Status

EVALUATOR_VERSION = "0.7.0"
"""Part of what makes two evaluations the same: raised whenever a verdict could change."""
OWN_PRECISION = "own"
"""The precision of a problem that declares none: whatever its file makes."""
DISTURBED_SHARE = 0.1
"""A baseline that was slower by more than this while the candidate lived counts as it is without."""


class Record(BaseModel):
    """Base of all that is stored: immutable, no unknown fields, no NaN in its JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Diagnostic(Record):
    """One message of a compiler or linker."""

    file: str
    line: int | None = None
    column: int | None = None
    severity: str
    """error, fatal error, warning, or info (what ptxas tells of a kernel)."""
    message: str
    asked_file: str | None = None
    """The file of the build's own that led there, where `file` is a header of others or a template: by its instantiation or include."""
    asked_line: int | None = None
    source_line: int | None = None
    """Line of what was handed in that this comes from."""
    excerpt: str = ""
    """That line, and on a second one a caret under the column where it is known."""


class BuildAttempt(Record):
    """One command of a build."""

    output: str
    """File that it was to make."""
    way: str
    """`stock`, or what was done to be faster, as in `lean+passes`: an attempt of that kind says nothing when it fails."""
    ok: bool
    duration_s: float


class BuildEvidence(Record):
    """One build that a worker asked for."""

    name: str
    """The extension's name as the submission gave it."""
    key: str
    """Content hash of sources, flags and toolchain."""
    ok: bool
    category: Category | None = None
    """Why it failed; None where it did not."""
    cached: bool = False
    uses_cuda: bool = False
    duration_s: float = 0.0
    output: str = ""
    """Output of all compilers, capped."""
    diagnostics: tuple[Diagnostic, ...] = ()
    attempts: tuple[BuildAttempt, ...] = ()
    """What the build that made this consisted of, in the order in which it ended; of a cached one, long ago."""


class KernelLimits(Record):
    """What limits the launches of one kernel (cudaFuncGetAttributes), told by the worker's process."""

    registers: int
    """A thread."""
    static_shared_bytes: int
    """A block."""
    local_bytes: int
    """A thread: stack, and registers that were spilled."""
    max_threads: int
    """A block, as far as registers allow."""
    max_dynamic_shared_bytes: int
    """A block, with what the kernel has asked for by cudaFuncSetAttribute."""


class LaunchRecord(Record):
    """All launches of one kernel from one shared object."""

    api: str
    kernel: str
    """Demangled where it could be."""
    object: str
    """Base name of the shared object that asked for the launch; `extension` for one that the builder made."""
    own: bool
    """Whether that object is an extension of the submission's."""
    count: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory asked for."""
    code: int
    """Return code of the first refused launch, else 0; grid, block and shared_bytes are that launch's."""
    first: int
    """Position of this record's launch (the refused one where there is one) among all launches of the process."""
    side_stream: bool = False
    """Whether any of the launches named another stream than the default one."""
    last: int = 0
    """Position of the last of these launches among all of the process."""
    pending: bool = False
    """Whether one of them has not come back, where launches wait for their kernels: then first, grid, block and shared_bytes are its."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster, where the launch asked for clusters."""
    limits: KernelLimits | None = None
    """Of the submission's own kernels, where the runtime told them."""


class ErrorMap(Record):
    """Where an output is wrong: a matrix of its last dimension in at most 64 × 64 patches (evaluator.judge.error_map)."""

    rows: tuple[str, ...]
    """A character a patch: `.` right; `1` to `9` the largest error in half decades above what is allowed; `#` not finite."""
    rows_per_cell: int
    columns_per_cell: int


class WrongElement(Record):
    """One wrong element of an output."""

    index: tuple[int, ...]
    value: float
    expected: float


class ErrorFigures(Record):
    """How far one output is from the oracle in one round."""

    output: str
    """Path of the output in the returned structure, as in `[1]` or `['mean']`; empty for a lone tensor."""
    elements: int
    wrong: int
    """Elements beyond their bound."""
    max_error: float
    """Largest |value - oracle| / (|oracle| + scale), scale being the RMS of the oracle's tensor or row."""
    rms_error: float
    """RMS of value - oracle over the RMS of the oracle."""
    tolerance: float
    """The bound that max_error was held against."""
    reference_error: float
    """max_error of the reference itself, in the submission's dtype."""
    first_index: tuple[int, ...] | None = None
    """The first wrong element, in row-major order."""
    first_value: float | None = None
    first_expected: float | None = None
    pattern: str = ""
    """How the wrong elements lie: everything, a tail, one stretch, whole rows or columns, a tile, a stride, isolated, scattered."""
    nonfinite_mismatch: int = 0
    """Elements that are NaN or infinite where the oracle is not the same."""
    likeness: str = ""
    """What the wrong elements are like: zeros, a multiple of the right ones, numbers of a narrower type."""
    examples: tuple[WrongElement, ...] = ()
    """The first wrong elements, and the worst."""
    error_map: ErrorMap | None = None


class RoundEvidence(Record):
    """One correctness round."""

    index: int
    seed: int
    """Seed of the inputs, drawn from the operating system after the submission had been loaded."""
    distribution: str = "own"
    """Where its inputs came from (evaluator.judge.distributions)."""
    passed: bool
    category: Category | None = None
    message: str = ""
    outputs: tuple[ErrorFigures, ...] = ()


class TimingSide(Record):
    """Times of the candidate or the baseline; every sample is one call."""

    median_ms: float
    lower_quartile_ms: float
    upper_quartile_ms: float
    samples_ms: tuple[float, ...]
    wall_ms: tuple[float, ...] = ()
    """The judge's own clock over each call's request: the talk and the L2 flush are in it."""
    busy_ms: tuple[float, ...] = ()
    """Processor time of the worker's process over each call's request, as the kernel counts it; none on a GPU."""
    ahead_ms: tuple[float, ...] = ()
    """Processor time of the worker's processes while inputs were copied into memory that they see, each time, before the call was asked
    for; none on a GPU."""
    reveal_ms: tuple[float, ...] = ()
    """How long it took to copy an answer into the judge's memory, each time that this was asked for unannounced; on the CPU, the
    processor time of it."""
    single_ms: tuple[float, ...] = ()
    """Time of a call by the judge's clock, which starts when all is enqueued and its inputs come, with its flush and the copying of its
    answer; of the baseline alone, the same without the call. None on the CPU."""
    landed_ms: tuple[float, ...] = ()
    """Of the same requests: the time until the answer was in memory that the worker does not see."""
    burst_ms: tuple[float, ...] = ()
    """Time of a call among others, back to back, by that clock, with its flush and with the copying of its answer, for each burst; of the
    baseline alone, the same without the calls. None on the CPU, and where there was memory for one call only."""
    background_ms: tuple[float, ...] = ()
    """Processor time that the worker's processes took after an answer, each time that they were watched; none on a GPU."""
    at_s: tuple[float, ...] = ()
    """When each sample was asked for, in seconds since the timing began; those of one request at once. None in older records."""
    outliers: tuple[int, ...] = ()
    """Positions of samples far beyond the quartiles (evaluator.judge.precision.outliers). They count as all others do."""

    @property
    def work_ms(self) -> float:
        """What a call usually takes: processor time where that was counted, which other load on the machine does not lengthen."""
        return statistics.median(self.busy_ms) if self.busy_ms else self.median_ms


class WrongTimedAnswer(Record):
    """An answer that was right in the rounds and wrong when it was timed."""

    call: int
    """Which of the timed calls, from 1; 0 for a call before them."""
    message: str
    category: Category = Category.CACHED_OUTPUT
    back_to_back: bool = False
    """Whether it was found where the device is not waited for between a call and the copying of its answer."""


class TimingEvidence(Record):
    """Candidate and baseline, timed in alternation, and the baseline alone."""

    clock: str
    """cuda_event (device time, checked against the judge's clock) or judge_wall (the judge's monotonic clock)."""
    calls: int
    candidate: TimingSide
    baseline: TimingSide
    alone: TimingSide | None = None
    """The baseline after the candidate had been killed: what the candidate's figures are held against. None in older records."""
    deferred_ms: float = 0.0
    """How much longer the candidate's answers take to arrive than the baseline's, where that is more than the clock's spread: put off, or
    laid out so that copying is slow."""
    ahead_ms: float = 0.0
    """Processor time that the candidate takes before a call is asked for, while its inputs arrive, beyond the baseline's, where that is
    more than bookkeeping."""
    background_ms: float = 0.0
    """Processor time that the candidate takes after it has answered, beyond the baseline's, where that is more than bookkeeping."""
    unexplained_ms: float | None = None
    """How much longer a call of the candidate takes by the judge's clock than its events say: close to nothing for an honest one, or
    less. None on the CPU, where the judge's clock is the only one."""
    unclaimed_ms: float = 0.0
    """What the candidate's claims leave out of a call, by the judge's clock over single calls or over calls back to back, where it is more
    than the spread."""
    gated: bool = True
    """Whether the judge's clock ran behind its gate; otherwise, as for a forward() that waits for the device, the host's time is in it."""
    in_a_row: int = 0
    """Of how many calls a burst is; 0 on the CPU."""
    unflushed: int = 0
    """Calls in which the candidate's worker did not empty the L2 cache as it was told to."""
    unflushed_bursts: int = 0
    """The same of single calls and bursts for the judge's clock, which then are no samples."""
    protocol: str | None = None
    """What a time is of (evaluator.judge.protocols). None in older records: `cold` on a GPU, `cpu` elsewhere."""
    fallback: str = ""
    """Why it is not the protocol that was asked for, where it is not."""
    calls_in_block: int = 1
    """Calls that were asked for in one request."""
    blocks: int = 0
    """Requests to each side, in turns of an order drawn anew; 0 in older records."""
    warm_up_calls: int = 0
    """Calls of each side before those that count."""
    steady: bool | None = None
    """Whether times had stopped changing by then. None in older records."""
    stop: str = ""
    """Why there were no more calls (evaluator.judge.precision): `precise` or `budget`; empty in older records."""
    interval: tuple[float, float] | None = None
    """What holds the ratio of the baseline's to the candidate's time with 95 % confidence, by bootstrap over blocks: of the medians,
    without what is charged. None in older records."""
    others: dict[str, TimingSide] = Field(default_factory=dict)
    """Further baselines, timed in the same turns, by their kind."""
    failed_baselines: dict[str, str] = Field(default_factory=dict)
    """Why a further baseline that was asked for could not be timed."""

    @property
    def ratio(self) -> float:
        """The baseline's time over the candidate's median, without what is charged."""
        return self.baseline_ms / self.candidate.median_ms

    @property
    def runtime_ms(self) -> float:
        """The candidate's time: the median of its calls, and what it left out of them.

        An answer that is slow to copy shows in bursts too, and is charged once.
        """
        late_ms = max(self.deferred_ms, self.unclaimed_ms)
        return self.candidate.median_ms + self.ahead_ms + self.background_ms + late_ms

    @property
    def baseline_ms(self) -> float:
        """The baseline's time: the median of its calls, or of those without the candidate where these are clearly faster."""
        return self.alone.median_ms if self.alone and self.disturbed else self.baseline.median_ms

    @property
    def disturbed(self) -> bool:
        """Whether the baseline was slower while the candidate lived: by a tenth in the median, and beyond both spreads."""
        if self.alone is None:
            return False
        slower = self.baseline.median_ms > (1 + DISTURBED_SHARE) * self.alone.median_ms
        return slower and self.baseline.lower_quartile_ms > self.alone.upper_quartile_ms


class FloorEvidence(Record):
    """The least time that a call of the problem can take on the device (evaluator.judge.floor)."""

    read_bytes: int
    """Of inputs and parameters that are needed whole."""
    written_bytes: int
    """Of the answer."""
    l2_bytes: int
    """Size of the device's L2 cache: so much of either need not move."""
    moved_bytes: int
    """What is left of both."""
    operations: float
    bytes_per_s: float
    """The device's bandwidth, measured."""
    operations_per_s: float
    """The device's rate of arithmetic, measured."""
    margin: float
    """How much faster than measured the device is taken to be."""
    floor_ms: float
    declared: bool
    """Whether the problem's file says what is needed; otherwise the answer's bytes alone are counted."""


class LightEvidence(Record):
    """The speed of light: the time of a call that does what the problem asks for, and all of it as fast as the device has been measured to
    (evaluator.judge.light). A scale, which no verdict rests on."""

    read_bytes: int
    """Of inputs and parameters."""
    written_bytes: int
    """Of the answer."""
    moved_bytes: int
    """Of both, what no cache has anyway."""
    operations: float
    arithmetic: str = ""
    """The format of the products that `operations_per_s` stands for, and how many of them make one; empty without operations."""
    bytes_per_s: float | None = None
    operations_per_s: float | None = None
    """The device's ceilings; None where nothing is held against it."""
    light_ms: float
    bound: Literal["memory", "arithmetic"]
    """Which of both takes longer."""
    uncertainty: float | None = None
    """Of that ceiling, as a share, by its calibration; None where it was measured for this process once."""
    calibrated_at: datetime | None = None
    declared: bool
    """Whether the problem's file says what is needed; otherwise all inputs and parameters are, and PyTorch's count of operations."""

    def share(self, took_ms: float) -> float:
        """What share of the speed of light a call has that takes so long."""
        return self.light_ms / took_ms


class AblationEvidence(Record):
    """One more answer, of another worker in which the submission's own kernels were left out."""

    still_right: bool
    category: Category | None = None
    """What the wrong answer, or the worker's end, comes to; None where it was still right."""
    message: str = ""


class StarvingEvidence(Record):
    """Device memory that the submission's processes held when there was too little left for the judge."""

    held_bytes: int
    total_bytes: int
    """Of the device."""


class FaultEvidence(Record):
    """The kernel that broke the device or did not end, by a second run in which launches wait for their kernels."""

    kernel: str
    own: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    position: int
    """Of its launch among all of the second run."""


class SanitizerPlace(Record):
    """Another place that a finding is about."""

    role: str
    """What it has to do with the finding, as in `Read access` or `called here`."""
    kernel: str = ""
    file: str = ""
    line: int | None = None
    source_line: int | None = None
    """Line of what was handed in."""
    excerpt: str = ""


class SanitizerFinding(Record):
    """Reports of compute-sanitizer that say the same of the same place. It works inside the worker's process: a claim, and no verdict."""

    tool: str
    """memcheck, racecheck, initcheck or synccheck."""
    severity: str
    """error or warning."""
    message: str
    """Its first line, as in `Invalid __global__ write of size 4 bytes`."""
    count: int
    kernel: str = ""
    """Demangled; empty where none is named."""
    own: bool = False
    """Whether that is in sources of the submission's own."""
    file: str = ""
    """Without its folder."""
    line: int | None = None
    """Of that file, which a build of the submission's may have written."""
    source_line: int | None = None
    """Line of what was handed in."""
    excerpt: str = ""
    """That line."""
    detail: str = ""
    """Thread, block and address of the first of these reports."""
    others: tuple[SanitizerPlace, ...] = ()


class SanitizerRun(Record):
    """One tool of compute-sanitizer over the submission."""

    tool: str
    outcome: str
    """ended, deadline (what it had found until then counts) or failed."""
    reports: int | None = None
    """By its own summary; None where it did not come to one."""
    duration_s: float = 0.0
    """Builds aside."""
    remark: str = ""
    """What kept it from the end, or the submission from its answer."""


class SanitizerEvidence(Record):
    """What compute-sanitizer said of the submission, on request (evaluator.judge.sanitizing)."""

    version: str
    case: str
    """The set of shapes that it ran on, which need not be the evaluation's."""
    runs: tuple[SanitizerRun, ...] = ()
    findings: tuple[SanitizerFinding, ...] = ()


class ExceptionEvidence(Record):
    """An exception as the worker reported it: a claim, good for blame and never for praise."""

    stage: str
    type: str
    message: str
    traceback: str = ""
    """Frames of the submission only."""
    line: int | None = None
    """Line of what was handed in."""
    cuda_error: int | None = None
    """Sticky error of the worker's CUDA context (cudaError_t), where it has one."""


class ExitEvidence(Record):
    """How the worker's process ended, as its supervisor saw it."""

    stage: str
    code: int | None = None
    signal: str | None = None
    deadline_s: float | None = None
    """Set where the judge killed it for passing this deadline."""
    memory_limit_bytes: int | None = None
    """Set where it was killed for passing this limit."""
    disk_limit_bytes: int | None = None
    """Set where it was killed because its private directory passed this limit."""


class DeviceState(Record):
    """What the device said of itself at one moment."""

    stage: str
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: str | None = None
    """Reasons for which the clock is not higher, as the driver names them, separated by commas; empty where there is none, None where that
    is not told."""
    other_processes: int | None = None
    """Processes on the device that belong to no judge of the machine; None where that can't be told."""
    at_s: float | None = None
    """Seconds since the timing began."""


class ConditionsEvidence(Record):
    """How the device was while the timing ran that counts, by `Evidence.device_states` and the driver's own counters."""

    shared: bool | None = None
    """Whether processes of others were on it; None where that can't be told."""
    throttled: str | None = None
    """Reasons of heat, of power supply or of a fault for which the clock was lowered, separated by commas; None where that is not told."""
    repeated: bool = False
    """Whether it was timed once more, because the first timing found it shared or throttled."""
    first_runtime_ms: float | None = None
    first_baseline_ms: float | None = None
    """What that first timing came to."""

    @property
    def disturbed(self) -> bool:
        """Whether the times are those of a device that was shared or throttled."""
        return bool(self.shared or self.throttled)

    @property
    def remark(self) -> str:
        """What to know of the times, in words; empty where they were taken undisturbed."""
        causes = [
            *(["others' processes were on the device"] if self.shared else []),
            *([f"its clock was lowered ({self.throttled})"] if self.throttled else []),
        ]
        again = ", in a second timing too" if self.repeated else ""
        return " and ".join(causes) + again if causes else ""


class Evidence(Record):
    """What was observed of one evaluation."""

    sandbox: str | None = None
    """The level of confinement that was reached."""
    stage: str = "read"
    """The last stage entered."""
    builds: tuple[BuildEvidence, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    device_states: tuple[DeviceState, ...] = ()
    """In the order in which they were read."""
    rounds: tuple[RoundEvidence, ...] = ()
    sizes: tuple[int, ...] = ()
    """Sizes of the dimensions of the case's inputs, each once."""
    timing: TimingEvidence | None = None
    conditions: ConditionsEvidence | None = None
    """None without a timing, and on the CPU."""
    floor: FloorEvidence | None = None
    """Measured after the timing; None on the CPU."""
    light: LightEvidence | None = None
    """None without a timing, and where the problem asks for nothing that takes time."""
    wrong_timed_answer: WrongTimedAnswer | None = None
    """The timing ended with it."""
    ablation: AblationEvidence | None = None
    """None where nothing hung on it."""
    starving: StarvingEvidence | None = None
    """The judge ran out of device memory, and this is why."""
    fault: FaultEvidence | None = None
    """None where nothing broke on a device, and where a second run did not show which kernel it was."""
    sanitizer: SanitizerEvidence | None = None
    """None where it was not asked for, or nothing called for it. No verdict rests on it."""
    exception: ExceptionEvidence | None = None
    exit: ExitEvidence | None = None
    protocol_error: str = ""
    """What was wrong with what came on the worker's channel, where something was."""
    stdout: str = ""
    """What the submission printed, capped."""
    stderr: str = ""
    stages_s: dict[str, float] = Field(default_factory=dict)
    """Seconds spent in each stage, in order."""
    first_line: int = 1
    """Line of what was handed in that the submission's code begins on: diagnostics and verdicts count lines from the file's first."""
    note: str = ""
    """How the submission was read, where that is not plain: its code came from the reasoning, say."""
    detail: str = ""
    """A traceback or other detail of the judge's own, for infrastructure errors."""


class Environment(Record):
    """The machine and software that an evaluation ran on."""

    device_kind: str
    """cuda or cpu."""
    device_name: str
    gpu_driver: str | None = None
    cuda: str | None = None
    compute_capability: str | None = None
    torch: str
    python: str
    nvcc: str | None = None
    cxx: str | None = None
    cpu: str
    cpu_count: int
    platform: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that a figure depends on: TF32, cuDNN benchmark, threads."""


class Result(Record):
    """The verdict on one submission."""

    submission: str
    block: int | None = None
    """Number, from 1, of the ModelNew block in its response; None for a plain Python file."""
    author: str | None = None
    sample_id: int | None = None
    problem: str | None = None
    case: str | None = None
    precision: str | None = None
    """The dtype that the problem was judged in, or `own` where that is as its file makes it; None where it came to nothing."""
    protocol: str | None = None
    """How it was timed, or would have been (evaluator.judge.protocols), where that is not the device's default."""
    device: str | None = None
    """cpu, cuda:0, …"""
    status: Status
    category: Category
    message: str
    hint: str = ""
    runtime_ms: float | None = None
    baseline_ms: float | None = None
    speedup: float | None = None
    """baseline_ms / runtime_ms."""
    source_sha256: str
    problem_sha256: str | None = None
    started_at: datetime
    duration_s: float
    evaluator_version: str = EVALUATOR_VERSION
    evidence: Evidence = Evidence()
    environment: Environment | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if CATEGORIES[self.category].status is not self.status:
            raise ValueError(f"category {self.category} belongs to status {CATEGORIES[self.category].status}, not {self.status}")
        timed = (self.runtime_ms, self.baseline_ms, self.speedup)
        if any(value is not None for value in timed) and self.status is not Status.CORRECT:
            raise ValueError(f"a {self.status} result has no times")
        if len({value is None for value in timed}) > 1:
            raise ValueError("runtime_ms, baseline_ms and speedup come together or not at all")
        if self.category is Category.OK and self.runtime_ms is None:
            raise ValueError("an ok result needs its times")
        return self

    @property
    def speedup_interval(self) -> tuple[float, float] | None:
        """What holds the speedup with 95 % confidence; None without a speedup, and in older records."""
        timing = self.evidence.timing
        if self.speedup is None or timing is None or timing.interval is None:
            return None
        scale = self.speedup / timing.ratio  # what is charged to the candidate lengthens its time, and not its spread
        low, high = timing.interval
        return min(low * scale, self.speedup), max(high * scale, self.speedup)

    @property
    def baselines(self) -> dict[str, tuple[float, float]]:
        """The time of each baseline in ms and the speedup over it, by its kind; `eager` is the one that `speedup` is over."""
        if self.runtime_ms is None or self.baseline_ms is None or self.speedup is None:
            return {}
        timing, runtime_ms = self.evidence.timing, self.runtime_ms
        others = timing.others if timing else {}
        return {"eager": (self.baseline_ms, self.speedup)} | {
            kind: (side.median_ms, side.median_ms / runtime_ms) for kind, side in others.items()
        }

    @property
    def best_baseline(self) -> str | None:
        """The kind of the fastest baseline; None without a time."""
        times_ms = {kind: time_ms for kind, (time_ms, _) in self.baselines.items()}
        return min(times_ms, key=lambda kind: times_ms[kind]) if times_ms else None

    @property
    def speed_of_light(self) -> float | None:
        """The share of the speed of light that the submission has; None where it is not known."""
        light = self.evidence.light
        return light.share(self.runtime_ms) if light and self.runtime_ms else None

    @property
    def baseline_speed_of_light(self) -> float | None:
        """The same of the baseline."""
        light = self.evidence.light
        return light.share(self.baseline_ms) if light and self.baseline_ms else None

    def summary(self) -> dict[str, Any]:
        """The fields of one line of `--json`: everything but evidence and environment, and what follows from the evidence."""
        fields: dict[str, Any] = self.model_dump(mode="json", exclude={"evidence", "environment"})
        conditions = self.evidence.conditions
        return fields | self.derived() | {"disturbed": conditions.remark if conditions else ""}

    def derived(self) -> dict[str, Any]:
        """What follows from the evidence, under the names that JSON has for it."""
        baselines = {kind: {"runtime_ms": time_ms, "speedup": speedup} for kind, (time_ms, speedup) in self.baselines.items()}
        return self.shares_of_light() | {
            "speedup_interval": self.speedup_interval,
            "baselines": baselines,
            "best_baseline": self.best_baseline,
        }

    def shares_of_light(self) -> dict[str, float | None]:
        """Both shares of the speed of light, under the names that JSON has for them."""
        return {"speed_of_light": self.speed_of_light, "baseline_speed_of_light": self.baseline_speed_of_light}


def now() -> datetime:
    """The current time, in UTC, to the millisecond."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
