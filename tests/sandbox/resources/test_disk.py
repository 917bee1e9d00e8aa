"""The size limit of a private directory on the machine's disk."""

import mmap
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from evaluator.sandbox import Exit, Level, Limits
from evaluator.sandbox.resources import disk
from tests.sandbox.conftest import Runner

MIB = 1 << 20
US = [os.getpid()]


def fill(path: Path, size_bytes: int) -> Path:
    path.write_bytes(bytes(size_bytes))
    return path


def test_files_at_any_depth_count_together(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    fill(tmp_path / "one", MIB)
    fill(tmp_path / "a" / "b" / "two", MIB)
    assert disk.exceeds(str(tmp_path), [], 2 * MIB - 1)
    assert not disk.exceeds(str(tmp_path), [], 3 * MIB)


def test_space_that_is_taken_counts_not_the_length(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert not disk.exceeds(str(tmp_path), [], MIB)
    with (tmp_path / "reserved").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 * MIB)
    assert disk.exceeds(str(tmp_path), [], MIB)


def test_a_file_with_many_names_counts_once(tmp_path: Path) -> None:
    one = fill(tmp_path / "one", MIB)
    for number in range(20):
        (tmp_path / f"also {number}").hardlink_to(one)
    assert not disk.exceeds(str(tmp_path), [], 2 * MIB)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    fill(tmp_path / "outside" / "large", 4 * MIB)
    home = tmp_path / "home"
    home.mkdir()
    (home / "file").symlink_to(tmp_path / "outside" / "large")
    (home / "folder").symlink_to(tmp_path / "outside")
    (home / "round").symlink_to(home)
    assert not disk.exceeds(str(home), [], MIB)


def test_deleted_files_count_while_they_are_open(tmp_path: Path) -> None:
    path = fill(tmp_path / "gone", 2 * MIB)
    with path.open("rb") as file:
        path.unlink()
        copy = os.dup(file.fileno())
        assert disk.exceeds(str(tmp_path), US, MIB)
        assert not disk.exceeds(str(tmp_path), US, 3 * MIB)
        assert not disk.exceeds(str(tmp_path), [], MIB)
    os.close(copy)
    assert not disk.exceeds(str(tmp_path), US, MIB)


def test_deleted_files_of_elsewhere_and_memory_files_do_not_count(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = fill(tmp_path / "home2", 2 * MIB)
    memory = os.memfd_create("inputs")
    os.write(memory, bytes(2 * MIB))
    with path.open("rb"), mmap.mmap(memory, 0):
        path.unlink()
        assert not disk.exceeds(str(home), US, MIB)
    os.close(memory)


def test_entries_and_depth_without_reason_count_as_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        (tmp_path / str(number)).touch()
    assert not disk.exceeds(str(tmp_path), [], 1 << 40)
    monkeypatch.setattr(disk, "MAX_ENTRIES", 10)
    assert disk.exceeds(str(tmp_path), [], 1 << 40)
    monkeypatch.undo()
    (tmp_path / "/".join("d" * (disk.MAX_DEPTH - 1))).mkdir(parents=True)
    assert not disk.exceeds(str(tmp_path), [], 1 << 40)
    (tmp_path / "/".join("d" * disk.MAX_DEPTH)).mkdir()
    assert disk.exceeds(str(tmp_path), [], 1 << 40)


def test_what_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert not disk.exceeds(str(tmp_path / "gone"), [1 << 30], 0)


def test_files_that_vanish_meanwhile_do_no_harm(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        while True:
            for number in range(50):
                (tmp_path / f"d{number}").mkdir()
                (tmp_path / f"d{number}" / "f").touch()
            for number in range(50):
                (tmp_path / f"d{number}" / "f").unlink()
                (tmp_path / f"d{number}").rmdir()
    try:
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            assert not disk.exceeds(str(tmp_path), [child], 16 * MIB)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads closed directories as they are")
def test_closed_directories_are_opened(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    fill(closed / "large", 2 * MIB)
    closed.chmod(0)
    assert disk.exceeds(str(tmp_path), [], MIB)


@pytest.mark.quiet  # a time
def test_a_normal_directory_is_looked_at_in_no_time(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / str(number)).touch()
    took_s = []
    for _ in range(10):
        start = time.process_time()
        disk.exceeds(str(tmp_path), US, 1 << 40)
        took_s.append(time.process_time() - start)
    assert min(took_s) < 0.05


def test_a_long_look_is_followed_by_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "large", MIB)
    watch = disk.Watch(str(tmp_path), 0)
    now_s = iter([10.0, 12.0, 12.1, 17.9, 18.1, 18.2])  # a look takes two seconds, and the rest six
    monkeypatch.setattr(disk, "time", SimpleNamespace(monotonic=lambda: next(now_s)))
    assert [watch.exceeded(os.getpid()) for _ in range(4)] == [True, False, False, True]


without_a_file_system = pytest.mark.parametrize("any_zygote", [Level.LANDLOCK, Level.NONE], indirect=True)


@without_a_file_system
@pytest.mark.parametrize("way", ["plainly", "deleted", "unnamed", "closed", "deleted by a daemon"])
def test_a_filled_directory_ends_the_program(run: Runner, way: str) -> None:
    assert run("fill_disk", way, limits=Limits(tmp_bytes=16 << 20))[0] == Exit(None, "SIGKILL", disk_exceeded=True)


@without_a_file_system
def test_what_fits_is_left_alone(run: Runner) -> None:
    assert run("fill_disk", "briefly", limits=Limits(tmp_bytes=64 << 20)) == (Exit(0), [32 << 20])
