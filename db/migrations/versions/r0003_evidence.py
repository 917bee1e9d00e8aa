"""Tables of evidence: rounds, errors, timings, samples, baselines, builds, diagnostics, launches, logs, states of the device."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for create in (
        _baselines,
        _builds,
        _device_states,
        _launches,
        _logs,
        _rounds,
        _samples,
        _timings,
        _build_attempts,
        _diagnostics,
        _errors,
    ):
        create()


def _baselines() -> None:
    op.create_table(
        "baselines",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("runtime_ms", sa.Double, nullable=False),
        sa.Column("speedup", sa.Double, nullable=False),
        sa.CheckConstraint("runtime_ms > 0 AND runtime_ms < 1e300", name=op.f("ck_baselines_runtime")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_baselines_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", "kind", name=op.f("pk_baselines")),
    )


def _builds() -> None:
    op.create_table(
        "builds",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("key", sa.Text),
        sa.Column("ok", sa.Integer, nullable=False),
        sa.Column("category", sa.String(64)),
        sa.Column("cached", sa.Integer),
        sa.Column("uses_cuda", sa.Integer),
        sa.Column("duration_s", sa.Double),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("ok = 0 OR category IS NULL", name=op.f("ck_builds_failed")),
        sa.CheckConstraint("ok IN (0, 1)", name=op.f("ck_builds_ok")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_builds_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_builds")),
    )


def _device_states() -> None:
    op.create_table(
        "device_states",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("stage", sa.Text),
        sa.Column("sm_clock_mhz", sa.Double),
        sa.Column("memory_clock_mhz", sa.Double),
        sa.Column("temperature_c", sa.Double),
        sa.Column("power_w", sa.Double),
        sa.Column("throttled", sa.Text),
        sa.Column("other_processes", sa.Integer),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_device_states_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_device_states")),
    )


def _launches() -> None:
    op.create_table(
        "launches",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("api", sa.Text),
        sa.Column("kernel", sa.Text),
        sa.Column("object", sa.Text),
        sa.Column("own", sa.Integer, nullable=False),
        sa.Column("count", sa.BigInteger),
        sa.Column("grid_x", sa.BigInteger),
        sa.Column("grid_y", sa.BigInteger),
        sa.Column("grid_z", sa.BigInteger),
        sa.Column("block_x", sa.BigInteger),
        sa.Column("block_y", sa.BigInteger),
        sa.Column("block_z", sa.BigInteger),
        sa.Column("shared_bytes", sa.BigInteger),
        sa.Column("code", sa.BigInteger),
        sa.Column("first", sa.BigInteger),
        sa.Column("side_stream", sa.Integer),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("own IN (0, 1)", name=op.f("ck_launches_own")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_launches_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_launches")),
    )


def _logs() -> None:
    op.create_table(
        "logs",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("characters", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.CheckConstraint("characters > 0", name=op.f("ck_logs_characters")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_logs_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", "name", name=op.f("pk_logs")),
    )


def _rounds() -> None:
    op.create_table(
        "rounds",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer),
        sa.Column("seed", sa.BigInteger),
        sa.Column("distribution", sa.Text),
        sa.Column("passed", sa.Integer, nullable=False),
        sa.Column("category", sa.String(64)),
        sa.Column("message", sa.Text),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("passed IN (0, 1)", name=op.f("ck_rounds_passed")),
        sa.CheckConstraint("position >= 0", name=op.f("ck_rounds_position")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_rounds_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_rounds")),
    )


def _samples() -> None:
    op.create_table(
        "samples",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("side", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_samples_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", "side", "kind", name=op.f("pk_samples")),
    )


def _timings() -> None:
    op.create_table(
        "timings",
        sa.Column("side", sa.String(32), nullable=False),
        sa.Column("median_ms", sa.Double),
        sa.Column("lower_quartile_ms", sa.Double),
        sa.Column("upper_quartile_ms", sa.Double),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_timings_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("side", "evaluation_id", name=op.f("pk_timings")),
    )


def _build_attempts() -> None:
    op.create_table(
        "build_attempts",
        sa.Column("build", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("output", sa.Text),
        sa.Column("way", sa.Text),
        sa.Column("ok", sa.Integer, nullable=False),
        sa.Column("duration_s", sa.Double),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("ok IN (0, 1)", name=op.f("ck_build_attempts_ok")),
        sa.ForeignKeyConstraint(
            ["evaluation_id", "build"],
            ["builds.evaluation_id", "builds.position"],
            name=op.f("fk_build_attempts_evaluation_id_build"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_build_attempts_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("build", "position", "evaluation_id", name=op.f("pk_build_attempts")),
    )


def _diagnostics() -> None:
    op.create_table(
        "diagnostics",
        sa.Column("build", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("file", sa.Text),
        sa.Column("line", sa.BigInteger),
        sa.Column("column", sa.BigInteger),
        sa.Column("severity", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id", "build"],
            ["builds.evaluation_id", "builds.position"],
            name=op.f("fk_diagnostics_evaluation_id_build"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_diagnostics_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("build", "position", "evaluation_id", name=op.f("pk_diagnostics")),
    )


def _errors() -> None:
    op.create_table(
        "errors",
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("output", sa.Text),
        sa.Column("elements", sa.BigInteger),
        sa.Column("wrong", sa.BigInteger),
        sa.Column("max_error", sa.Double),
        sa.Column("rms_error", sa.Double),
        sa.Column("tolerance", sa.Double),
        sa.Column("reference_error", sa.Double),
        sa.Column("pattern", sa.Text),
        sa.Column("nonfinite_mismatch", sa.BigInteger),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("wrong >= 0 AND wrong <= elements", name=op.f("ck_errors_wrong")),
        sa.ForeignKeyConstraint(
            ["evaluation_id", "round"],
            ["rounds.evaluation_id", "rounds.position"],
            name=op.f("fk_errors_evaluation_id_round"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_errors_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("round", "position", "evaluation_id", name=op.f("pk_errors")),
    )
