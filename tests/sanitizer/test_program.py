"""The command line, and the archive that its child imports."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from evaluator.sandbox import Level, Limits
from evaluator.sanitizer.program import CHANNEL, CODE, LOG, REMAINS, Given, archive, command, program
from evaluator.sanitizer.tools import Sanitizer, Tool, Wish

SANITIZER = Sanitizer("/opt/cuda/bin/compute-sanitizer", "2025.3", Wish(tuple(Tool)))


def test_the_archive_holds_the_sandbox_the_worker_and_nothing_of_the_judge() -> None:
    with zipfile.ZipFile(io.BytesIO(archive())) as file:
        folders = {"/".join(Path(name).parent.parts[:2]) for name in file.namelist()}
        names = {name for name in file.namelist() if name.startswith("evaluator/sanitizer/")}
    assert folders == {"evaluator", "evaluator/sandbox", "evaluator/worker", "evaluator/sanitizer"}
    assert names == {"evaluator/sanitizer/__init__.py", "evaluator/sanitizer/inside.py"}


def test_everything_that_the_child_imports_is_in_the_archive(tmp_path: Path) -> None:
    packed = tmp_path / "code.zip"
    packed.write_bytes(archive())
    script = (
        f"import sys; sys.path.insert(0, {str(packed)!r}); from evaluator.sanitizer import inside; from evaluator.worker import copying; "
        f"assert {str(packed)!r} in copying.__file__"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_tool_writes_to_its_own_descriptor_and_waits_for_a_slow_start() -> None:
    for tool in Tool:
        words = command(SANITIZER, tool)
        assert words[:3] == (SANITIZER.program, "--tool", tool.value)
        options = dict(zip(words[1::2], words[2::2], strict=True))
        assert options["--log-file"] == f"/proc/self/fd/{LOG}"
        assert options["--launch-timeout"] == "0"
        assert ("--padding" in options) is (tool is Tool.MEMCHECK)


def test_the_caching_allocator_is_off() -> None:
    made, _ = program(
        ("sanitizer",), {"CUDA_VISIBLE_DEVICES": "GPU-1"}, ("/usr",), gpu=True, gpu_minor=3, limits=Limits(), level=Level.NAMESPACES
    )
    assert made.env["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1" and made.env["CUDA_VISIBLE_DEVICES"] == "GPU-1"
    assert made.argv[0] == "sanitizer" and made.argv[1] == sys.executable and made.gpu and made.gpu_minor == 3 and made.lax


def test_only_at_landlock_there_is_something_to_give_up() -> None:
    for level in Level:
        _, remains = program((), {}, (), gpu=False, limits=Limits(), level=level)
        assert bool(remains) is (level is Level.LANDLOCK)
        assert not any(path.startswith("/proc") for path, _ in remains)


def test_descriptors_are_given_in_the_order_of_their_numbers() -> None:
    given = Given.make([("/usr", 1)])
    try:
        assert list(given.by_name) == ["log", "code", "remains"] and (CHANNEL, LOG, CODE, REMAINS) == (3, 4, 5, 6)
        assert os.pread(given.remains, 100, 0) == b'[["/usr", 1]]'
        os.write(given.log, b"\xff===\n")
        assert given.written() == "\ufffd===\n"
    finally:
        given.close()
