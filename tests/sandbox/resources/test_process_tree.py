"""The processes below a process, and their memory."""

import os
import subprocess
import time

from evaluator.sandbox import linux
from evaluator.sandbox.resources import process_tree


def test_memory_of_what_is_below_a_process_is_counted() -> None:
    ready, ready_end = os.pipe()
    child = os.fork()
    if not child:
        if not os.fork():
            kept = bytearray(64 << 20)
            kept[::4096] = b"x" * len(kept[::4096])
            os.write(ready_end, b".")
        time.sleep(600)
    try:
        os.read(ready, 1)
        (grandchild,) = process_tree.descendants(child)
        assert 64 << 20 <= process_tree.resident_bytes(child) < 2 << 30
        assert process_tree.resident_bytes(grandchild) == 0
    finally:
        for pid in (*process_tree.descendants(child), child):
            os.kill(pid, 9)
        os.waitpid(child, 0)
    assert process_tree.resident_bytes(child) == 0


def test_what_comes_below_a_process_is_found_whoever_its_parent_is_by_then() -> None:
    asked, ask = os.pipe()
    ready, ready_end = os.pipe()
    child = os.fork()
    if not child:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        os.read(asked, 1)
        if not os.fork():
            if not os.fork():
                os.write(ready_end, b".")
                time.sleep(600)
            os._exit(0)
        os.wait()
        os.write(ready_end, b".")
        time.sleep(600)
    lineage, above = process_tree.Lineage(child), process_tree.Lineage(os.getpid())
    beside = subprocess.Popen(["sleep", "600"])
    try:
        assert lineage.look() == set() and {child, beside.pid} <= above.look()
        os.write(ask, b".")
        assert os.read(ready, 1) + os.read(ready, 1) == b".."
        (orphan,) = lineage.look()
        assert process_tree.parent(orphan) == child and orphan in above.look()
        os.kill(orphan, 9)
        os.kill(child, 9)
        os.waitpid(child, 0)
        assert child not in above.look() and beside.pid in above.look()
    finally:
        beside.kill()
        beside.wait()
