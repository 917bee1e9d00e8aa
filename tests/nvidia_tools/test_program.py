"""The program that a tool and its child are, and the archive that the child imports."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evaluator.nvidia_tools.program import CHANNEL, CODE, LOG, REMAINS, Given, archive, program
from evaluator.sandbox import Level, Limits


def test_the_archive_holds_the_sandbox_the_worker_and_nothing_of_the_judge() -> None:
    with zipfile.ZipFile(io.BytesIO(archive())) as file:
        folders = {"/".join(Path(name).parent.parts[:2]) for name in file.namelist()}
        names = {name for name in file.namelist() if name.startswith("evaluator/nvidia_tools/")}
    assert folders == {"evaluator", "evaluator/dsl", "evaluator/sandbox", "evaluator/worker", "evaluator/nvidia_tools"}
    assert names == {f"evaluator/nvidia_tools/{name}.py" for name in ("__init__", "copying", "inside")}


@pytest.mark.slow
def test_everything_that_the_child_imports_is_in_the_archive(tmp_path: Path) -> None:
    packed = tmp_path / "code.zip"
    packed.write_bytes(archive())
    script = (
        f"import sys; sys.path.insert(0, {str(packed)!r}); from evaluator.nvidia_tools import inside; "
        f"from evaluator.nvidia_tools import copying; assert {str(packed)!r} in copying.__file__"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_child_is_a_python_with_the_environment_that_it_is_given() -> None:
    made, _ = program(
        ("sanitizer",), {"CUDA_VISIBLE_DEVICES": "GPU-1"}, ("/usr",), gpu=True, gpu_minor=3, limits=Limits(), level=Level.NAMESPACES
    )
    assert made.env["CUDA_VISIBLE_DEVICES"] == "GPU-1" and made.env["OMP_NUM_THREADS"] == "1"
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
