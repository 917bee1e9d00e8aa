"""What a run stores and writes: a full disk loses no result, and no output file is read as a submission."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from db.store import Store
from tests.command_line import PROJECT, RUN_S, Bench, submission

pytestmark = pytest.mark.slow(20)

FILLING = """
    import json, os, sqlite3, sys, time
    from contextlib import closing
    from pathlib import Path
    from tests.command_line import RUN_S, Bench
    disk, bench = Path(sys.argv[1]), Bench(Path(sys.argv[2]))
    database = disk / "assay.db"
    words = ("double", "--jobs", "1", "--db", f"sqlite:///{database}")

    def has_begun():
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
                return connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    with bench.start(*words) as pipeline:
        while not has_begun():
            assert pipeline.poll() is None, pipeline.communicate()
            time.sleep(0.05)
        # Others fill the disk while the run goes on.
        with open(disk / "others", "wb", buffering=0) as others:
            try:
                while True:
                    others.write(bytes(4096))
            except OSError:
                pass
        _, errors = pipeline.communicate(timeout=RUN_S)
    kept = [path.name for path in disk.glob("*.spool-*")]
    os.unlink(disk / "others")
    again = bench.run_apart(*words)
    left = [path.name for path in disk.glob("*.spool-*")]
    print(json.dumps({"code": pipeline.returncode, "errors": errors, "kept": kept, "again": again.stdout, "left": left, "end": again.code}))
"""


def test_a_disk_that_fills_up_during_a_run_costs_no_result(tmp_path: Path) -> None:
    bench, disk = Bench(tmp_path), tmp_path / "disk"
    disk.mkdir()
    # More than fits into what the database has allocated already.
    for name in ("first", "second"):
        bench.write(f"double/{name}.py", submission("x + 1") + f"# {os.urandom(400_000).hex()}\n")
    script = f'mount -t tmpfs -o size=8m assay {disk} && {sys.executable} -c "$0" {disk} {tmp_path} && cp {disk}/assay.db {bench.database}'
    command = [
        "unshare",
        "--mount",
        *(["--user", "--map-root-user"] if os.geteuid() else []),
        "sh",
        "-ec",
        script,
        textwrap.dedent(FILLING),
    ]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    finished = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=3 * RUN_S, env=environment)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    assert told["code"] == 2 and told["errors"].count("\n") == 1, told["errors"]
    for words in ("pipeline.py: ", "full", "result(s) are kept in", "which the next run imports", "Free some space"):
        assert words in told["errors"], told["errors"]
    assert len(told["kept"]) == 1 and told["left"] == [] and told["end"] == 0
    assert "results that an earlier run could not store" in told["again"]
    with Store.open(f"sqlite:///{bench.database}") as store:
        found = sorted((Path(stored.result.submission).name, stored.result.category.value) for stored in store.each())
    assert found == [("first.py", "wrong_values"), ("second.py", "wrong_values")]
