"""The services of the service's own tests, and verdicts as a service tells them."""

from typing import Any

import pytest
from assay_client import Evaluation

from tests.db.conftest import ready_file, sqlite_url, url  # noqa: F401 - fixtures
from tests.web.conftest import store  # noqa: F401 - fixtures
from tests.web.service.conftest import bounds, desk, problems, service, tokens  # noqa: F401 - fixtures
from tests.web.service.in_process import InProcess


@pytest.fixture
def environment(service: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811 - the fixture
    """The client finds the service."""
    monkeypatch.setenv("ASSAY_URL", service.address)
    monkeypatch.setenv("ASSAY_TOKEN", service.token)


def record(status: str = "correct", category: str = "ok", **fields: Any) -> dict[str, Any]:
    """A verdict's record."""
    plain: dict[str, Any] = dict.fromkeys(("line", "runtime_ms", "baseline_ms", "speedup", "speedup_interval", "speed_of_light"))
    return plain | {"id": 1, "status": status, "category": category, "message": "", "hint": "", "feedback": ""} | fields


def evaluation(status: str = "correct", category: str = "ok", **fields: Any) -> Evaluation:
    """One that is done."""
    return Evaluation.of(told(record(status, category, **fields)))


def told(result: dict[str, Any] | None, state: str = "done", public_id: str = "0" * 32) -> dict[str, Any]:
    """An evaluation in the service's words."""
    plain: dict[str, Any] = {"problem": "softmax", "sample_id": None, "attempts": 1, "stage": None}
    return plain | {"id": public_id, "state": state, "result": result}
