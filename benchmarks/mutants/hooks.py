"""Hooks of pytest, for `-p benchmarks.mutants.hooks`: a log of all reports, and the order of the files."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

LOG = "ASSAY_MUTANTS_LOG"
"""Variable with the path of a file, to which each report adds a line: test, phase, seconds, outcome."""


def pytest_sessionstart() -> None:
    """Pytest's hook: refuse to judge anything but the copy."""
    found = importlib.util.find_spec("evaluator")
    assert found and found.origin and Path(found.origin).is_relative_to(Path.cwd()), found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Pytest's hook: log what is collected, and order the files as the arguments do."""
    for item in items:
        log([item.nodeid, "collect", 0, "slow" if item.get_closest_marker("slow") else "quick"])
    rank = {file: number for number, file in reversed([*enumerate(map(file_of, config.invocation_params.args))])}
    items.sort(key=lambda item: rank.get(file_of(item.nodeid), 0))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Pytest's hook: log files that can't be imported."""
    if report.failed:
        log([report.nodeid, "collect", 0, "failed"])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Pytest's hook: log a report."""
    log([report.nodeid, report.when, report.duration, report.outcome])


def log(line: list[Any]) -> None:
    if (path := os.environ.get(LOG)) and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]
