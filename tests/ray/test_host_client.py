"""The driver's end of a host, without one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.machine.devices import cpu
from evaluator.ray.host import HostFacts
from evaluator.ray.host_client import LiveHost
from evaluator.results.category import Category
from tests.engine.contract import unheard
from tests.judge.conftest import make_job

pytestmark = pytest.mark.slow(3)


def test_a_job_whose_problem_can_not_be_read_ends_alone(tmp_path: Path) -> None:
    unasked: Any = None
    host = LiveHost(unasked, HostFacts("0" * 56, "here", cpu(), 1, "namespaces", 1))
    gone = replace(make_job(""), problem_path=tmp_path / "gone.py")
    result = host.judge(gone, unheard)
    assert result.category is Category.INFRASTRUCTURE_ERROR and "No such file" in result.message
    assert str(tmp_path) not in result.message and not host.lost
