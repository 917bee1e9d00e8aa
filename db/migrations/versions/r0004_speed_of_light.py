"""Calibrations of devices, shares of the speed of light, and when the state of a device was read."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_states", sa.Column("at_s", sa.Double))
    _calibrations()
    _ceilings()
    _speeds_of_light()


def _calibrations() -> None:
    op.create_table(
        "calibrations",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("device_id", sa.String(64), nullable=False),
        sa.Column("device_name", sa.Text, nullable=False),
        sa.Column("driver", sa.Text),
        sa.Column("torch", sa.Text, nullable=False),
        sa.Column("measured_at", sa.String(32), nullable=False),
        sa.Column("repetitions", sa.Integer, nullable=False),
        sa.CheckConstraint("repetitions >= 1", name=op.f("ck_calibrations_repetitions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrations")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_calibrations_device", "calibrations", ["device_id"])


def _ceilings() -> None:
    op.create_table(
        "ceilings",
        sa.Column("calibration_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("per_s", sa.Double, nullable=False),
        sa.Column("uncertainty", sa.Double, nullable=False),
        sa.CheckConstraint("per_s > 0 AND per_s < 1e300", name=op.f("ck_ceilings_rate")),
        sa.CheckConstraint("uncertainty >= 0 AND uncertainty < 1", name=op.f("ck_ceilings_uncertainty")),
        sa.ForeignKeyConstraint(["calibration_id"], ["calibrations.id"], name=op.f("fk_ceilings_calibration_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("calibration_id", "name", name=op.f("pk_ceilings")),
    )


def _speeds_of_light() -> None:
    op.create_table(
        "speeds_of_light",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("light_ms", sa.Double, nullable=False),
        sa.Column("bound", sa.String(32), nullable=False),
        sa.Column("share", sa.Double, nullable=False),
        sa.Column("baseline_share", sa.Double, nullable=False),
        sa.CheckConstraint("light_ms > 0 AND share > 0 AND baseline_share > 0", name=op.f("ck_speeds_of_light_positive")),
        sa.CheckConstraint("light_ms < 1e300 AND share < 1e300 AND baseline_share < 1e300", name=op.f("ck_speeds_of_light_finite")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_speeds_of_light_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_speeds_of_light")),
    )
