"""Calibrations in the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from db.calibrations import newest, save
from db.store import Store
from db.upkeep import check, collect
from evaluator.results.calibration import Calibration, Ceiling

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
GPU = "GPU-00000000-0000-0000-0000-000000000001"


def calibration(minutes: int = 0, rate: float = 4.25e12, **changes: Any) -> Calibration:
    fields: dict[str, Any] = {"device_id": GPU, "device_name": "NVIDIA H200", "driver": "580.1", "torch": "2.11.0"}
    ceilings = (Ceiling(name="copy", per_s=rate, uncertainty=0.0125), Ceiling(name="bfloat16", per_s=7.5e14, uncertainty=0.0))
    return Calibration(**fields | changes, measured_at=NOON + timedelta(minutes=minutes), repetitions=5, ceilings=ceilings)


def by_name(found: Calibration) -> dict[str, Ceiling]:
    return {ceiling.name: ceiling for ceiling in found.ceilings}


def test_what_was_stored_comes_back(store: Store) -> None:
    stored = calibration()
    save(store, stored)
    (found,) = newest(store, [GPU])
    assert by_name(found) == by_name(stored)
    assert found.model_copy(update={"ceilings": ()}) == stored.model_copy(update={"ceilings": ()})
    assert newest(store, ["cpu"]) == () and newest(store, []) == ()


def test_the_newest_under_each_software_counts_whatever_the_order_of_storing(store: Store) -> None:
    for each in (calibration(2, 2e12), calibration(1, 1e12), calibration(0, 3e12, driver="590.0"), calibration(3, 5e12, device_id="cpu")):
        save(store, each)
    found = newest(store, [GPU])
    assert [(each.driver, by_name(each)["copy"].per_s) for each in found] == [("580.1", 2e12), ("590.0", 3e12)]
    assert len(newest(store, [GPU, "cpu"])) == 3


def test_it_outlives_what_nothing_refers_to(store: Store) -> None:
    save(store, calibration(driver=None))
    collect(store)
    assert len(newest(store, [GPU])) == 1 and check(store, deep=True) == []
