"""Folders that compilers work in are gone afterwards, whatever was left there."""

import subprocess
import sys
from pathlib import Path

from evaluator.build.processes.work_folder import work_folder

DEEP = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(2 * sys.getrecursionlimit()):
    os.mkdir("d")
    os.chdir("d")
os.chmod(".", 0)
"""


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept" / "folder").mkdir(parents=True)
    (tmp_path / "kept").chmod(0o500)
    with work_folder() as folder:
        subprocess.run([sys.executable, "-c", DEEP, str(folder)], check=True)
        (folder / "link").symlink_to(tmp_path / "kept")
    assert not folder.parent.exists()
    assert (tmp_path / "kept" / "folder").exists()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o500
