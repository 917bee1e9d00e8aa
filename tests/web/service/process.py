"""A service in its own process, on small problems, started as an operator does."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from tests.command_line import PROBLEM, PROJECT

START_S = 600
"""A busy machine takes a minute to start PyTorch in three processes."""
END_S = 300
VERDICT_S = 600


class Process:
    """Runs in its own folder with the problems double (2x) and increment (x + 1). A context manager."""

    judging: tuple[str, ...] = ("--device", "cpu", "--jobs", "2")
    """The options that say where and how much side by side it judges."""

    def __init__(self, root: Path, db: str | None = None, *options: str) -> None:
        self.root, self.db, self.options = root, db or f"sqlite:///{root / 'service.db'}", options
        self._running: subprocess.Popen[str] | None = None
        # In a short place: sockets are made in it, whose names may not be long.
        self._temporary = tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True)
        (root / "problems").mkdir(exist_ok=True)
        for name, operation in (("double", "* 2"), ("increment", "+ 1")):
            (root / "problems" / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")

    def __enter__(self) -> Self:
        self.token = self.make_token("--author", "ada", "--scope", "read,submit,metrics,reference")
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._running is not None:
            self.kill()
        self._temporary.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        folders = {name: self.root / name.lower() for name in ("ASSAY_CACHE", "XDG_STATE_HOME")}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        # The lock of the processor is in the temporary folder: other tests' judges must not be waited for here.
        return {**os.environ, **{name: str(folder) for name, folder in folders.items()}, "TMPDIR": self._temporary.name}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "web.service", "--db", self.db, *words]

    def make_token(self, *words: str) -> str:
        made = subprocess.run(
            self.command("token", "new", *words), cwd=PROJECT, env=self.environment, capture_output=True, text=True, check=True
        )
        return made.stdout.strip()

    def start(self) -> None:
        """Start it, and wait until it accepts submissions."""
        words = (*self.judging, "--port", "0", "--reference", str(self.root / "problems"), "--lease", "5", *self.options)
        self._running = subprocess.Popen(
            self.command(*words),
            cwd=PROJECT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self.root / "log").open("a"),
            text=True,
            start_new_session=True,
        )
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        assert " at http://" in line, (self.root / "log").read_text()
        self.address = line.split(" at ")[1].split("/ until")[0]
        self.client = httpx2.Client(base_url=self.address, headers={"Authorization": f"Bearer {self.token}"}, timeout=600)
        deadline = time.monotonic() + START_S
        while self.client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline and self._running.poll() is None, (self.root / "log").read_text()
            time.sleep(0.1)

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    def terminate(self) -> int:
        """Stop it gracefully; returns the exit code."""
        assert self._running is not None
        self._running.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Kill it, like a crash."""
        assert self._running is not None
        self._running.kill()
        self._running.wait(END_S)
        self._forget()

    def _forget(self) -> None:
        assert self._running is not None and self._running.stdout is not None
        self._running.stdout.close()
        self.client.close()
        self._running = None

    def wait(self) -> int:
        """Wait for its end; returns the exit code."""
        assert self._running is not None
        code = self._running.wait(END_S)
        self._forget()
        return code

    def submit(self, source: str) -> str:
        """Submit an answer to double; returns the id."""
        return self.hand_in(source=source)

    def hand_in(self, **fields: Any) -> str:
        """Submit anything; returns the id."""
        body = {name: value for name, value in ({"problem": "double"} | fields).items() if value is not None}
        answer = self.client.post("/v1/evaluations", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def verdict(self, public_id: str) -> dict[str, Any]:
        """Wait for the result."""
        deadline = time.monotonic() + VERDICT_S
        while time.monotonic() < deadline:
            answer = self.client.get(f"/v1/evaluations/{public_id}", params={"wait": 30})
            assert answer.status_code == 200, answer.text
            if answer.json()["state"] == "done":
                found: dict[str, Any] = answer.json()["result"]
                return found
        raise AssertionError(f"{public_id} has no verdict after {VERDICT_S} s: {answer.text}")
