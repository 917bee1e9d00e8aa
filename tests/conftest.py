"""Marks slow and time-measuring tests, orders the files, and has common fixtures."""

import signal
from collections.abc import Collection
from pathlib import Path

import pytest

HERE = Path(__file__).parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so. Programs that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = {
    "command/test_calibrate.py": 240,
    "diagnosis/test_corpus.py": 190,
    "attacks": 190,
    "command/test_pipeline_ending.py": 180,
    "engine/ray": 180,
    "submission/test_shipped.py": 180,
    "command/test_pipeline.py": 130,
    "fuzz/test_conversation.py": 160,
    "command/test_pipeline_calibration.py": 140,
    "honest": 110,
    "judge/timing/test_extra_baselines.py": 100,
    "build/test_execution.py": 100,
    "build/test_corpus.py": 90,
    "judge/test_sanitizer_runs.py": 70,
    "judge/test_profile_runs.py": 60,
    "judge/test_hostile.py": 60,
    "web/service/test_process.py": 60,
    "benchmarks": 60,
    "contract": 40,
    "command/test_assay.py": 40,
    "command/test_pipeline_mistakes.py": 60,
    "web/test_layout.py": 40,
    "db/storage/test_spool.py": 40,
    "judge/test_procedures.py": 40,
    "judge/roofline/test_peaks.py": 30,
    "command/test_pipeline_storing.py": 30,
    "judge/timing/test_exclusive.py": 20,
    "judge/test_half_precision.py": 20,
    "judge/test_uncertain_reference.py": 20,
    "command/test_from_python.py": 20,
    "command/test_from_python_process.py": 20,
    "documents": 200,
    "test_python_docs.py": 20,
    "test_places.py": 60,
    "test_quickstart.py": 60,
    "web/test_browser.py": 20,
    "results/display/test_progress.py": 20,
    "command/test_junit.py": 60,
    "command/test_terminal.py": 80,
    "web/test_choosing.py": 20,
    "db/test_benchmark.py": 10,
    "client/test_repair.py": 60,
    "client/test_inspect.py": 30,
    "client/test_verifiers.py": 20,
    "engine/test_local.py": 60,
    "sandbox/test_nothing_to_steal.py": 50,
    "judge/test_stages.py": 40,
    "judge/test_timing_retries.py": 40,
    "judge/test_declares_nothing.py": 40,
    "client/test_service.py": 20,
    "judge/timing/checks/test_gated_calls.py": 20,
    "judge/timing/test_slow.py": 20,
    "judge/timing/test_run.py": 10,
    "judge/test_workloads.py": 10,
    "judge/correctness/test_row_sampling.py": 10,
    "engine/test_fork_server.py": 20,
    "client/test_command.py": 10,
    "worker/patches/test_own_work.py": 10,
    "web/test_main.py": 10,
    "db/output/test_record_schema.py": 10,
}
"""Files and folders that `make test` leaves to `make check`, each with the seconds that its longest file takes on a quiet core."""

MEASURING = {
    "benchmarks",
    "build/fast",
    "build/processes/test_graph.py",
    "build/processes/test_runner.py",
    "build/processes/test_slots.py",
    "build/test_elsewhere.py",
    "client",
    "command",
    "documents",
    "engine",
    "judge/device",
    "judge/roofline",
    "judge/test_stage_times.py",
    "judge/test_stages.py",
    "judge/test_worker_set.py",
    "judge/timing",
    "sandbox/resources",
    "sandbox/test_ending.py",
    "web",
    "worker/test_protocol.py",
}
"""Files and folders whose tests wait for processes, or measure times. Other programs on the cores may spoil one try of them, so they have
three. The attack corpus is not among them: an attack that succeeds once in three tries has succeeded."""
TRIES = 3


def place_in(table: Collection[str], item: pytest.Item) -> str | None:
    """The entry of the table that holds the test: its file, or else a folder of that."""
    path = item.path.relative_to(HERE)
    return next((place for place in (path.as_posix(), *(parent.as_posix() for parent in path.parents)) if place in table), None)


def is_slow(item: pytest.Item) -> bool:
    """Whether a test compiles, needs a PostgreSQL server, or is in the table."""
    return item.get_closest_marker("build") is not None or "postgresql" in item.name or place_in(SLOW, item) is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests and those that measure, and let the longest files begin first, so that no worker is left with one at the end."""
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)
        if place_in(MEASURING, item):
            item.add_marker(pytest.mark.flaky(reruns=TRIES - 1))
    items.sort(key=lambda item: -SLOW.get(place_in(SLOW, item) or "", 0))
