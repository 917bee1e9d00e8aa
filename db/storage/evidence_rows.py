"""Converts the evidence of a result to the rows of `db.schema.evidence_models` and back, without loss."""

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from db.schema.evidence_models import (
    BaselineRow,
    BuildAttemptRow,
    BuildRow,
    DeviceStateRow,
    DiagnosticRow,
    ErrorRow,
    FindingRow,
    LaunchRow,
    LightRow,
    LogRow,
    ProfileRow,
    RoundRow,
    SampleRow,
    TextRow,
    TimingRow,
    WorkloadRow,
)
from db.schema.models import Base
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result
from evaluator.results.score import interval_in, speedup_in

Rows = dict[type[Base], list[dict[str, Any]]]

_LARGEST = 2**63
_AXES = "xyz"
_COMMA = ", "
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_LOGS = ("stdout", "stderr", "detail")
_SIDES = ("candidate", "baseline", "alone")
_OTHER = "baseline "
"""Prefix of a further baseline's side name; its kind follows."""
_NO_FIELD = ("evaluation_id", "position", "more", "round", "build", "side")
_BOOLEANS = {
    RoundRow: ("passed",),
    BuildRow: ("ok", "cached", "uses_cuda"),
    BuildAttemptRow: ("ok",),
    LaunchRow: ("own", "side_stream"),
    FindingRow: ("own",),
    ProfileRow: ("own",),
}
_DERIVED = (BaselineRow, LightRow, WorkloadRow, TextRow)
"""Tables derived from the evidence, the times and the message: written for SQL queries, and not read back."""
# In the order of writing.
_MODELS: tuple[type[Base], ...] = (
    *(
        RoundRow,
        ErrorRow,
        TimingRow,
        SampleRow,
        BaselineRow,
        LightRow,
        WorkloadRow,
        TextRow,
        BuildRow,
        BuildAttemptRow,
        DiagnosticRow,
        LaunchRow,
        FindingRow,
        ProfileRow,
        LogRow,
        DeviceStateRow,
    ),
)


class Parts:
    """Rows of evidence of several evaluations, written together."""

    def __init__(self) -> None:
        self._rows: Rows = {model: [] for model in _MODELS}

    def add(self, rows: Mapping[type[Base], Iterable[dict[str, Any]]], evaluation_id: int) -> None:
        """Add the rows that `split` made."""
        for model, found in rows.items():
            self._rows[model] += [{"evaluation_id": evaluation_id, **row} for row in found]

    def write(self, connection: Connection) -> None:
        for model in _MODELS:
            if self._rows[model]:
                connection.execute(insert(model.__table__), self._rows[model])  # type: ignore[arg-type]


def split(result: Result) -> tuple[Rows, dict[str, Any]]:
    """Rows of the evidence, without the evaluation's id, and the rest of it as JSON values."""
    evidence = result.evidence.model_dump()
    rows: Rows = {model: [] for model in _MODELS}
    for position, item in enumerate(evidence.pop("rounds")):
        for number, figures in enumerate(item.pop("outputs")):
            _drop_empty(figures, "gross_error")
            rows[ErrorRow].append({"round": position, "position": number, **_row(ErrorRow, figures)})
        item["number"] = item.pop("index")
        _drop_empty(item, "cause")
        rows[RoundRow].append({"position": position, **_row(RoundRow, item)})
    for position, item in enumerate(evidence.pop("builds")):
        _split_build(rows, position, item)
    for position, item in enumerate(evidence.pop("launches")):
        for name in ("grid", "block"):
            item |= {f"{name}_{axis}": size for axis, size in zip(_AXES, item.pop(name), strict=True)}
        rows[LaunchRow].append({"position": position, **_row(LaunchRow, item)})
    if evidence["sanitizer"] is not None:
        found = evidence["sanitizer"].pop("findings")
        rows[FindingRow] += [{"position": position, **_row(FindingRow, item)} for position, item in enumerate(found)]
    if evidence["profile"] is not None:
        _split_profile(rows, evidence["profile"])
    for position, item in enumerate(evidence.pop("device_states")):
        rows[DeviceStateRow].append({"position": position, **_row(DeviceStateRow, item)})
    if evidence["timing"] is not None:
        _split_timing(rows, evidence["timing"])
    for name in _LOGS:
        _add_log(rows, name, evidence.pop(name))
    rows[BaselineRow] += [
        {"kind": kind, "runtime_ms": time_ms, "speedup": speedup} for kind, (time_ms, speedup) in result.baselines.items()
    ]
    rows[LightRow] += _light(result)
    rows[WorkloadRow] += _workloads(result)
    rows[TextRow].append({"text": "\n".join((result.message, *dict.fromkeys(_kernels(result.evidence))))})
    return rows, _json_values(evidence)


def _kernels(evidence: Evidence) -> Iterator[str]:
    yield from (launch.kernel for launch in evidence.launches)
    if evidence.sanitizer:
        yield from (finding.kernel for finding in evidence.sanitizer.findings)
    if evidence.profile and evidence.profile.submission:
        yield from (kernel.kernel for kernel in evidence.profile.submission.kernels)


def _workloads(result: Result) -> Iterator[dict[str, Any]]:
    timing = result.evidence.timing
    for each in timing.workloads if timing and result.speedup else ():
        if each.timing is not None:
            speedup = speedup_in(each)
            low, high = interval_in(each) or (speedup, speedup)
            told = {"case": each.case, "input_bytes": each.input_bytes, "runtime_ms": each.timing.runtime_ms}
            yield told | {"baseline_ms": each.timing.baseline_ms, "speedup": speedup, "speedup_low": low, "speedup_high": high}


def join(connection: Connection, evaluation_id: int, rest: dict[str, Any]) -> dict[str, Any]:
    """The evidence of one evaluation as JSON values, from the tables and from `rest` of `split`."""
    found = {model: _read(connection, model, evaluation_id) for model in _MODELS if model not in _DERIVED}
    logs = {row["name"]: zlib.decompress(row["data"]).decode() for row in found[LogRow]}
    evidence = dict(rest)
    if found[RoundRow]:
        evidence["rounds"] = [_record(RoundRow, row) for row in found[RoundRow]]
        for item in evidence["rounds"]:
            item["index"] = item.pop("number")
            item["outputs"] = []
        for row in found[ErrorRow]:
            evidence["rounds"][row["round"]]["outputs"].append(_record(ErrorRow, row))
    if found[BuildRow]:
        evidence["builds"] = [_record(BuildRow, row) | {"attempts": [], "diagnostics": []} for row in found[BuildRow]]
        for model, name in ((BuildAttemptRow, "attempts"), (DiagnosticRow, "diagnostics")):
            for row in found[model]:
                evidence["builds"][row["build"]][name].append(_record(model, row))
        for position, item in enumerate(evidence["builds"]):
            item["output"] = logs.get(f"build {position}", "")
    if found[LaunchRow]:
        evidence["launches"] = [_launch(row) for row in found[LaunchRow]]
    if found[DeviceStateRow]:
        evidence["device_states"] = [_record(DeviceStateRow, row) for row in found[DeviceStateRow]]
    if found[FindingRow]:
        evidence["sanitizer"] = {**rest["sanitizer"], "findings": [_record(FindingRow, row) for row in found[FindingRow]]}
    for row in found[ProfileRow]:
        evidence["profile"][row["side"]].setdefault("kernels", []).append(_kernel(row))
    if found[TimingRow]:
        evidence["timing"] = _timing(rest["timing"], found[TimingRow], found[SampleRow])
    return evidence | {name: logs[name] for name in _LOGS if name in logs}


def _light(result: Result) -> list[dict[str, Any]]:
    light, share, baseline_share = result.evidence.light, result.speed_of_light, result.baseline_speed_of_light
    if light is None or share is None or baseline_share is None or not all(map(math.isfinite, (light.light_ms, share, baseline_share))):
        return []
    return [{"light_ms": light.light_ms, "bound": light.bound, "share": share, "baseline_share": baseline_share}]


def _split_build(rows: Rows, position: int, item: dict[str, Any]) -> None:
    for model, name in ((BuildAttemptRow, "attempts"), (DiagnosticRow, "diagnostics")):
        rows[model] += [{"build": position, "position": number, **_row(model, part)} for number, part in enumerate(item.pop(name))]
    _add_log(rows, f"build {position}", item.pop("output"))
    rows[BuildRow].append({"position": position, **_row(BuildRow, item)})


def _split_profile(rows: Rows, profile: dict[str, Any]) -> None:
    for side in ("submission", "reference"):
        for item in profile[side].pop("kernels") if profile[side] is not None else ():
            item["limited_by"] = _COMMA.join(item["limited_by"])
            rows[ProfileRow].append({"position": len(rows[ProfileRow]), "side": side, **_row(ProfileRow, item)})


def _split_timing(rows: Rows, timing: dict[str, Any]) -> None:
    others = {f"{_OTHER}{kind}": record for kind, record in timing.pop("others").items()}
    for side, record in [(side, timing.pop(side)) for side in _SIDES if timing[side] is not None] + list(others.items()):
        _take_samples(rows, side, record)
        rows[TimingRow].append({"side": side, **_row(TimingRow, record)})
    _take_samples(rows, "run", timing)


def _take_samples(rows: Rows, side: str, record: dict[str, Any]) -> None:
    for kind, values in list(record.items()):
        if isinstance(values, tuple | list) and set(map(type, values)) == {float}:
            rows[SampleRow].append({"side": side, "kind": kind, "data": record.pop(kind)})


def _timing(rest: dict[str, Any], sides: list[dict[str, Any]], samples: list[dict[str, Any]]) -> dict[str, Any]:
    timing = dict(rest) | {row["side"]: _record(TimingRow, row) for row in sides}
    for row in samples:
        target = timing if row["side"] == "run" else timing[row["side"]]
        target[row["kind"]] = row["data"]
    others = {name: timing.pop(name) for name in list(timing) if name.startswith(_OTHER)}
    return timing | {"others": {name.removeprefix(_OTHER): side for name, side in others.items()}}


def _add_log(rows: Rows, name: str, text: str) -> None:
    if text:
        rows[LogRow].append({"name": name, "characters": len(text), "data": zlib.compress(text.encode())})


def _launch(row: dict[str, Any]) -> dict[str, Any]:
    record = _record(LaunchRow, row)
    for name in ("grid", "block"):
        record[name] = [record.pop(f"{name}_{axis}") for axis in _AXES]
    return record


def _kernel(row: dict[str, Any]) -> dict[str, Any]:
    record = _record(ProfileRow, row)
    return record | {"limited_by": record["limited_by"].split(_COMMA) if record["limited_by"] else []}


def _row(model: type[Base], record: dict[str, Any]) -> dict[str, Any]:
    """Columns of a record; fields without a column, or with a value that it can't hold, go to `more`."""
    booleans = _BOOLEANS.get(model, ())
    values: dict[str, Any] = {}
    for name in _fields(model):
        value = record.get(name)
        kind = type(value)
        if value is None or (kind is float and math.isnan(value)) or (kind is int and not -_LARGEST <= value < _LARGEST):
            values[name] = None
            continue
        del record[name]
        values[name] = int(value) if name in booleans else str(value) if isinstance(value, str) else value
    left = {name: value for name, value in record.items() if value is not None or name not in values}
    values["more"] = _json(left) if left else None
    return values


def _drop_empty(record: dict[str, Any], name: str) -> None:
    """Leave out an empty field without a column. Empty is its default; `more` would hold it in every row."""
    if record[name] in (None, ""):
        del record[name]


def _json(value: dict[str, Any]) -> str:
    try:
        return _encode(value)
    except (TypeError, ValueError):  # a time, or a number that is not finite
        return _encode(_json_values(value))


def _record(model: type[Base], row: dict[str, Any]) -> dict[str, Any]:
    booleans = _BOOLEANS.get(model, ())
    values = {name: bool(row[name]) if name in booleans and row[name] is not None else row[name] for name in _fields(model)}
    return values | (json.loads(row["more"]) if row["more"] else {})


_FIELDS: dict[type[Base], tuple[str, ...]] = {
    model: tuple(column.name for column in model.__table__.columns if column.name not in _NO_FIELD) for model in _MODELS
}


def _fields(model: type[Base]) -> tuple[str, ...]:
    return _FIELDS[model]


def _reading(model: type[Base]) -> Any:
    table = model.__table__
    return select(*table.columns).where(table.c.evaluation_id == bindparam("number")).order_by(*table.primary_key)


# Made once, because building a statement costs more than executing it.
_READING = {model: (_reading(model), tuple(column.name for column in model.__table__.columns)) for model in _MODELS}


def _read(connection: Connection, model: type[Base], evaluation_id: int) -> list[dict[str, Any]]:
    query, names = _READING[model]
    return [dict(zip(names, row, strict=True)) for row in connection.execute(query, {"number": evaluation_id})]


def _json_values(value: Any) -> Any:
    """The value, with times, NaN and infinities as text, which pydantic reads; JSON has none of them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_values(item) for item in value]
    return str(value) if isinstance(value, str) else value
