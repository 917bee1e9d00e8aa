"""Ends of the worker's process, and a judge that is short of memory."""

import pytest

from evaluator.diagnosis import diagnose
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExitEvidence, StarvingEvidence
from tests.diagnosis.evidence import GPU, Rule, check

RULES: dict[str, Rule] = {
    "an exit": ({"exit": ExitEvidence(stage="load", code=0)}, Category.EARLY_EXIT, "loading the file ended the process with exit code 0"),
    "an exit while timed": ({**GPU, "exit": ExitEvidence(stage="timing", code=1)}, Category.EARLY_EXIT, "forward() while timed"),
    "a forbidden system call": (
        {"exit": ExitEvidence(stage="construct", signal="SIGSYS")},
        Category.SANDBOX_VIOLATION,
        "constructing ModelNew made a system call that only serves to escape the sandbox",
    ),
    "a deadline": (
        {"exit": ExitEvidence(stage="construct", deadline_s=60)},
        Category.TIMEOUT,
        "constructing ModelNew did not end within 60 s",
    ),
    "a memory limit": (
        {"exit": ExitEvidence(stage="rounds", signal="SIGKILL", memory_limit_bytes=16 << 30)},
        Category.OUT_OF_MEMORY,
        "exceeded the memory limit of 16 GiB",
    ),
    "a directory's limit": (
        {"exit": ExitEvidence(stage="construct", signal="SIGKILL", disk_limit_bytes=2 << 30)},
        Category.PROCESS_CRASH,
        "constructing ModelNew filled its private directory beyond the limit of 2 GiB",
    ),
    "a wild pointer on the host": (
        {"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")},
        Category.PROCESS_CRASH,
        "forward() ended by SIGSEGV: it accessed an invalid address",
    ),
    "a C++ exception that nothing caught": (
        {
            "exit": ExitEvidence(stage="rounds", signal="SIGABRT"),
            "stderr": "noise\nterminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::at\n",
        },
        Category.PROCESS_CRASH,
        "(terminate called after throwing an instance of 'std::out_of_range'; what():  vector::at)",
    ),
    "the limit on processor time": ({"exit": ExitEvidence(stage="load", signal="SIGXCPU")}, Category.TIMEOUT, "limit of CPU time"),
    "a kill that was no limit's": ({"exit": ExitEvidence(stage="load", signal="SIGKILL")}, Category.PROCESS_CRASH, "neither a timeout"),
    "a judge without memory": (
        {"starving": StarvingEvidence(held_bytes=120 << 30, total_bytes=140 << 30)},
        Category.OUT_OF_MEMORY,
        "it used 120 GiB of the device's 140 GiB",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


def test_the_last_words_may_be_long() -> None:
    exit_ = ExitEvidence(stage="rounds", signal="SIGABRT")
    said = "  what():  " + "x" * 5000 + " the end\n"
    message = diagnose(Evidence(exit=exit_, stderr=said)).message
    assert "what():" in message and "the end" in message and len(message) < 600
