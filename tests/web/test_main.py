"""`python -m web`, as a user runs it."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from db.store import Store
from tests.command_line import PROJECT
from tests.db.samples import result
from web.__main__ import main
from web.listener import listening

pytestmark = pytest.mark.slow(10)

EXTRA = ("fastapi", "uvicorn", "jinja2", "matplotlib")
WITHOUT = f"""\
import sys
from web.__main__ import main
for missing in {EXTRA!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("web", "starlette", *{EXTRA!r})]:
        del sys.modules[name]
    sys.modules[missing] = None
    print(main(["--db", sys.argv[1]]))
    del sys.modules[missing]
"""


def test_it_serves_until_it_is_interrupted_and_only_here(store: Store, url: str) -> None:
    store.save(result(submission="quick.py"), "")
    words = [sys.executable, "-m", "web", "--db", url, "--port", "0"]
    with subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address is not None and "assay.db" in line, line
        with urllib.request.urlopen(address[0] + "leaderboard") as answer:
            assert b"quick.py" in answer.read()
            assert "server" not in {name.lower() for name in answer.headers}
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 0 and errors == ""


def test_no_part_of_an_answer_waits_for_another_to_be_acknowledged() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_can_t_be_done_is_one_line(url: str, tmp_path: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for arguments, words in (
            (("--db", f"sqlite:///{tmp_path}/none.db"), "There is no database"),
            (("--db", url, "--port", str(taken.getsockname()[1])), "can't be listened on"),
            (("--db", url, "--host", "203.0.113.7"), "can't be listened on"),
        ):
            assert main(arguments) == 2
            told = capsys.readouterr().err
            assert words in told and told.count("\n") == 1, told
    with pytest.raises(SystemExit, match="2"):
        main(["--port", "70000"])


def test_without_the_extra_it_says_what_to_install(url: str, store: Store) -> None:
    refused = subprocess.run([sys.executable, "-c", WITHOUT, url], cwd=PROJECT, capture_output=True, text=True)
    assert refused.stdout.split() == ["2"] * len(EXTRA), refused.stderr
    told = refused.stderr.splitlines()
    assert [line.split()[3].partition(".")[0] for line in told] == [f"{name}:" for name in EXTRA]
    assert all("pip install -c constraints.txt -e '.[web]'" in line for line in told)


def test_nothing_but_the_page_imports_it() -> None:
    listed = "import sys, pipeline, db.__main__, db.store, db.keeping, db.output.report, evaluator.engine.local; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", listed], cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    assert not {"web", "fastapi", "starlette", "uvicorn", "matplotlib"} & set(names)
