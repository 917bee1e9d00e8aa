"""Which machine code is a submission's own."""

import sys

import pytest

from evaluator.worker.origin import installed_folders, is_own


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/proc/self/fd/7", True),
        ("/memfd:softmax (deleted)", True),
        ("/tmp/assay-1/softmax.so", True),
        ("/dev/shm/softmax.so", True),
        ("/tmp/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so", False),
        ("/usr/lib/libc.so.6", False),
        ("", False),
    ],
)
def test_what_is_installed_below_a_private_folder_is_nobodys_own(path: str, own: bool) -> None:
    assert is_own(path, ("/tmp/venv/",)) is own


def test_folders_of_the_search_path_count_and_the_private_ones_themselves_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/tmp/a-venv")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "path", ["", "/tmp", "/tmp/site", "/dev/shm", "/opt/site"])
    assert installed_folders() == ("/tmp/a-venv/", "/tmp/site/")
