"""The tables of evidence: the observations of an evaluation, in rows for SQL queries.

Every row belongs to an evaluation and is deleted with it. Columns have the names of the fields in `evaluator.results.evidence`, with two
exceptions: `number` is a round's index, and a launch's `grid` and `block` have three columns each. Fields without a column are in `more`,
as a JSON object. NaN is stored there too, since SQLite has none.
"""

from sqlalchemy import BigInteger, CheckConstraint, Double, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, String
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from db.schema.column_types import AnyText, Samples
from db.schema.models import MAX_FIGURE, Base, words_of


class _Part:
    """The `position`th record of its kind in an evaluation, from 0."""

    @declared_attr
    @classmethod
    def evaluation_id(cls) -> Mapped[int]:
        return mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)

    more: Mapped[str | None] = mapped_column(AnyText)


class RoundRow(_Part, Base):
    """One correctness round."""

    __tablename__ = "rounds"
    __table_args__ = (CheckConstraint("passed IN (0, 1)", name="passed"), CheckConstraint("position >= 0", name="position"))

    position: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int | None]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    distribution: Mapped[str | None] = mapped_column(AnyText)
    passed: Mapped[int]
    category: Mapped[str | None] = mapped_column(String(64))
    message: Mapped[str | None] = mapped_column(AnyText)


class ErrorRow(_Part, Base):
    """Error of one output in one round."""

    __tablename__ = "errors"
    __table_args__ = (
        ForeignKeyConstraint(["evaluation_id", "round"], ["rounds.evaluation_id", "rounds.position"], ondelete="CASCADE"),
        CheckConstraint("wrong >= 0 AND wrong <= elements", name="wrong"),
    )

    round: Mapped[int] = mapped_column(primary_key=True)
    """The round's position."""
    position: Mapped[int] = mapped_column(primary_key=True)
    output: Mapped[str | None] = mapped_column(AnyText)
    elements: Mapped[int | None] = mapped_column(BigInteger)
    wrong: Mapped[int | None] = mapped_column(BigInteger)
    max_error: Mapped[float | None] = mapped_column(Double)
    rms_error: Mapped[float | None] = mapped_column(Double)
    tolerance: Mapped[float | None] = mapped_column(Double)
    reference_error: Mapped[float | None] = mapped_column(Double)
    pattern: Mapped[str | None] = mapped_column(AnyText)
    nonfinite_mismatch: Mapped[int | None] = mapped_column(BigInteger)


class TimingRow(_Part, Base):
    """The times of one side: `candidate`, `baseline`, `alone`, the baseline without the candidate, or `baseline KIND`, a further one."""

    __tablename__ = "timings"

    side: Mapped[str] = mapped_column(String(32), primary_key=True)
    median_ms: Mapped[float | None] = mapped_column(Double)
    lower_quartile_ms: Mapped[float | None] = mapped_column(Double)
    upper_quartile_ms: Mapped[float | None] = mapped_column(Double)


class SampleRow(Base):
    """All samples of one clock of one side. The side `run` is for samples of neither side alone."""

    __tablename__ = "samples"

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    side: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Name of the field, as in `samples_ms`."""
    data: Mapped[tuple[float, ...]] = mapped_column(Samples)


class BaselineRow(Base):
    """A time of the reference that the evaluation was held against."""

    __tablename__ = "baselines"
    __table_args__ = (CheckConstraint(f"runtime_ms > 0 AND runtime_ms < {MAX_FIGURE}", name="runtime"),)

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    """`eager`: the reference as it stands, which the evaluation's speedup is over; `compile`: by torch.compile."""
    runtime_ms: Mapped[float] = mapped_column(Double)
    speedup: Mapped[float] = mapped_column(Double)


class WorkloadRow(Base):
    """The times in one of several workloads in which the submission was right."""

    __tablename__ = "workloads"
    __table_args__ = (CheckConstraint("runtime_ms > 0 AND baseline_ms > 0 AND speedup > 0", name="positive"),)

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    case: Mapped[str] = mapped_column(String(64), primary_key=True)
    input_bytes: Mapped[int | None] = mapped_column(BigInteger)
    runtime_ms: Mapped[float] = mapped_column(Double)
    baseline_ms: Mapped[float] = mapped_column(Double)
    speedup: Mapped[float] = mapped_column(Double)
    speedup_low: Mapped[float] = mapped_column(Double)
    speedup_high: Mapped[float] = mapped_column(Double)


class LightRow(Base):
    """Shares of the speed of light, of the submission and its baseline; the evidence has the details."""

    __tablename__ = "speeds_of_light"
    __table_args__ = (
        CheckConstraint("light_ms > 0 AND share > 0 AND baseline_share > 0", name="positive"),
        CheckConstraint(f"light_ms < {MAX_FIGURE} AND share < {MAX_FIGURE} AND baseline_share < {MAX_FIGURE}", name="finite"),
    )

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    light_ms: Mapped[float] = mapped_column(Double)
    """Time of a call at the speed of light."""
    bound: Mapped[str] = mapped_column(String(32))
    """Its limit: memory or arithmetic."""
    share: Mapped[float] = mapped_column(Double)
    baseline_share: Mapped[float] = mapped_column(Double)


class TextRow(Base):
    """What a search reads beside the source: the message, and the names of the submission's kernels."""

    __tablename__ = "search_texts"
    __table_args__ = (Index("ix_search_texts_words", sql(words_of("text")), postgresql_using="gin").ddl_if(dialect="postgresql"),)

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    text: Mapped[str] = mapped_column(AnyText)


class BuildRow(_Part, Base):
    """One build that a worker requested; the compilers' output is the log `build N`."""

    __tablename__ = "builds"
    __table_args__ = (CheckConstraint("ok IN (0, 1)", name="ok"), CheckConstraint("ok = 0 OR category IS NULL", name="failed"))

    position: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(AnyText)
    key: Mapped[str | None] = mapped_column(AnyText)
    ok: Mapped[int]
    category: Mapped[str | None] = mapped_column(String(64))
    cached: Mapped[int | None]
    uses_cuda: Mapped[int | None]
    duration_s: Mapped[float | None] = mapped_column(Double)


class BuildAttemptRow(_Part, Base):
    """One command of a build."""

    __tablename__ = "build_attempts"
    __table_args__ = (
        ForeignKeyConstraint(["evaluation_id", "build"], ["builds.evaluation_id", "builds.position"], ondelete="CASCADE"),
        CheckConstraint("ok IN (0, 1)", name="ok"),
    )

    build: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    output: Mapped[str | None] = mapped_column(AnyText)
    way: Mapped[str | None] = mapped_column(AnyText)
    ok: Mapped[int]
    duration_s: Mapped[float | None] = mapped_column(Double)


class DiagnosticRow(_Part, Base):
    """One message of a compiler or linker."""

    __tablename__ = "diagnostics"
    __table_args__ = (ForeignKeyConstraint(["evaluation_id", "build"], ["builds.evaluation_id", "builds.position"], ondelete="CASCADE"),)

    build: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    file: Mapped[str | None] = mapped_column(AnyText)
    line: Mapped[int | None] = mapped_column(BigInteger)
    column: Mapped[int | None] = mapped_column(BigInteger)
    severity: Mapped[str | None] = mapped_column(AnyText)
    message: Mapped[str | None] = mapped_column(AnyText)


class LaunchRow(_Part, Base):
    """All launches of one kernel from one shared object."""

    __tablename__ = "launches"
    __table_args__ = (CheckConstraint("own IN (0, 1)", name="own"),)

    position: Mapped[int] = mapped_column(primary_key=True)
    api: Mapped[str | None] = mapped_column(AnyText)
    kernel: Mapped[str | None] = mapped_column(AnyText)
    object: Mapped[str | None] = mapped_column(AnyText)
    own: Mapped[int]
    count: Mapped[int | None] = mapped_column(BigInteger)
    grid_x: Mapped[int | None] = mapped_column(BigInteger)
    grid_y: Mapped[int | None] = mapped_column(BigInteger)
    grid_z: Mapped[int | None] = mapped_column(BigInteger)
    block_x: Mapped[int | None] = mapped_column(BigInteger)
    block_y: Mapped[int | None] = mapped_column(BigInteger)
    block_z: Mapped[int | None] = mapped_column(BigInteger)
    shared_bytes: Mapped[int | None] = mapped_column(BigInteger)
    code: Mapped[int | None] = mapped_column(BigInteger)
    first: Mapped[int | None] = mapped_column(BigInteger)
    side_stream: Mapped[int | None]


class FindingRow(_Part, Base):
    """Equal reports of compute-sanitizer about one place."""

    __tablename__ = "findings"
    __table_args__ = (CheckConstraint("own IN (0, 1)", name="own"),)

    position: Mapped[int] = mapped_column(primary_key=True)
    tool: Mapped[str | None] = mapped_column(AnyText)
    severity: Mapped[str | None] = mapped_column(AnyText)
    message: Mapped[str | None] = mapped_column(AnyText)
    count: Mapped[int | None] = mapped_column(BigInteger)
    kernel: Mapped[str | None] = mapped_column(AnyText)
    own: Mapped[int]
    file: Mapped[str | None] = mapped_column(AnyText)
    line: Mapped[int | None] = mapped_column(BigInteger)
    """Line of the compiled file."""
    source_line: Mapped[int | None] = mapped_column(BigInteger)
    """Line of the submitted file."""


class ProfileRow(_Part, Base):
    """One launch of a kernel, as Nsight Compute measured it. Shares are from 0 to 1."""

    __tablename__ = "profiles"
    __table_args__ = (CheckConstraint("own IN (0, 1)", name="own"),)

    position: Mapped[int] = mapped_column(primary_key=True)
    side: Mapped[str] = mapped_column(String(32))
    """`submission` or `reference`."""
    kernel: Mapped[str | None] = mapped_column(AnyText)
    own: Mapped[int]
    duration_ms: Mapped[float | None] = mapped_column(Double)
    memory_share: Mapped[float | None] = mapped_column(Double)
    arithmetic_share: Mapped[float | None] = mapped_column(Double)
    occupancy: Mapped[float | None] = mapped_column(Double)
    limited_by: Mapped[str | None] = mapped_column(AnyText)
    """Separated by commas if there are several."""
    registers: Mapped[int | None] = mapped_column(BigInteger)
    shared_bytes: Mapped[int | None] = mapped_column(BigInteger)
    l2_hit_share: Mapped[float | None] = mapped_column(Double)
    read_bytes: Mapped[int | None] = mapped_column(BigInteger)
    written_bytes: Mapped[int | None] = mapped_column(BigInteger)
    instructions: Mapped[int | None] = mapped_column(BigInteger)


class LogRow(Base):
    """A printed text: `stdout` and `stderr` of the submission, `detail` of the judge, `build N` of the compilers."""

    __tablename__ = "logs"
    __table_args__ = (CheckConstraint("characters > 0", name="characters"),)

    evaluation_id: Mapped[int] = mapped_column(ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    characters: Mapped[int]
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """UTF-8, compressed with zlib."""


class DeviceStateRow(_Part, Base):
    """One reading of the device's state during an evaluation."""

    __tablename__ = "device_states"

    position: Mapped[int] = mapped_column(primary_key=True)
    stage: Mapped[str | None] = mapped_column(AnyText)
    sm_clock_mhz: Mapped[float | None] = mapped_column(Double)
    memory_clock_mhz: Mapped[float | None] = mapped_column(Double)
    temperature_c: Mapped[float | None] = mapped_column(Double)
    power_w: Mapped[float | None] = mapped_column(Double)
    throttled: Mapped[str | None] = mapped_column(AnyText)
    """The driver's reasons that limited the clock, separated by commas; empty if none, null if not known."""
    other_processes: Mapped[int | None]
    """Number of other processes on the device."""
    at_s: Mapped[float | None] = mapped_column(Double)
    """Seconds since the timing began."""
