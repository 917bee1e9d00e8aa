"""Stores calibrations, and reads the newest ones of given devices."""

from collections.abc import Collection

from sqlalchemy import insert, select

from db.schema.models import CalibrationRow, CeilingRow
from db.store import Store
from evaluator.results.calibration import Calibration, Ceiling

_FIELDS = ("device_id", "device_name", "driver", "torch", "measured_at", "repetitions")


def save(store: Store, calibration: Calibration) -> int:
    """Store a calibration and return its id. Earlier ones are kept. Raises StoreError."""
    with store.change() as connection:
        values = {name: getattr(calibration, name) for name in _FIELDS}
        number = connection.execute(insert(CalibrationRow).values(values).returning(CalibrationRow.id)).scalar_one()
        connection.execute(insert(CeilingRow), [{"calibration_id": number, **ceiling.model_dump()} for ceiling in calibration.ceilings])
    return number


def newest(store: Store, device_ids: Collection[str]) -> tuple[Calibration, ...]:
    """The newest calibration of each of these devices with each software, newest first. Raises StoreError."""
    row = CalibrationRow
    query = select(row.id, *(getattr(row, name) for name in _FIELDS)).where(row.device_id.in_(device_ids))
    found: dict[tuple[object, ...], Calibration] = {}
    with store.read() as connection:
        for number, *values in connection.execute(query.order_by(row.measured_at.desc(), row.id.desc())).all():
            fields = dict(zip(_FIELDS, values, strict=True))
            software = tuple(fields[name] for name in ("device_id", "device_name", "driver", "torch"))
            if software in found:
                continue
            ceilings = connection.execute(
                select(CeilingRow.name, CeilingRow.per_s, CeilingRow.uncertainty).where(CeilingRow.calibration_id == number)
            )
            held = tuple(Ceiling(name=name, per_s=per_s, uncertainty=uncertainty) for name, per_s, uncertainty in ceilings)
            found[software] = Calibration(**fields, ceilings=held)
    return tuple(found.values())
