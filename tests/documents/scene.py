"""A folder for running the documents' commands, with the files that they name, and the servers that they start."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from evaluator.machine.cache_folder import default_root
from tests.command_line import PROJECT, RUN_S

LINKED = ("pipeline.py", "submissions", "tests", "benchmarks")
"""Parts of the project that commands name, and only read."""
READY_S = 420
"""Seconds until a server answers; a busy machine takes a while to import PyTorch."""
_PORTS = {"8300": ("serve", "web"), "8400": ("service", "web.service")}
"""The ports that the documents give, and the commands whose servers listen there."""
_CLIENT = "import sys; from assay_client.command import main; sys.exit(main())"
_TOKEN = re.compile(r"\bassay_[\w-]{10,}")
_ID = re.compile(r'"id":\s*"([0-9a-f]{12,})"')


class CommandFailedError(Exception):
    """A command did not end as it should, or a server does not answer."""


class Scene:
    """One folder, and one shell's variables in it. A context manager, which ends the servers."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        """By the port that the documents give."""
        self._listening: dict[str, int] = {}
        self._make(files)
        self.environment = {
            **os.environ,
            "ASSAY_CACHE": str(default_root()),
            "COLUMNS": "200",
            "HOME": str(root / "home"),
            "PATH": f"{root / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT),
        }

    def _make(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name in LINKED:
            (self.root / name).symlink_to(PROJECT / name)
        for name, call in (("assay", "-m assay"), ("assay-client", f"-c '{_CLIENT}'"), ("python", "")):
            program = self.root / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {call} "$@"\n', encoding="utf-8")
            program.chmod(0o755)

    def __enter__(self) -> "Scene":
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers.values():
            server.send_signal(signal.SIGTERM)
        for server in self.servers.values():
            try:
                server.wait(READY_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def run(self, command: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run a command to its end, and give what it printed. A token and an evaluation's id in that are kept for later commands.

        Raises CommandFailedError where the exit code is none of `codes`."""
        for port, listening in self._listening.items():
            command = command.replace(f"127.0.0.1:{port}", f"127.0.0.1:{listening}")
        if command.startswith("export "):
            self._export(command)
            return ""
        ended = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_S, check=False,
        )  # fmt: skip
        if ended.returncode not in codes:
            raise CommandFailedError(f"{command}\nexit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
        for pattern, names in ((_TOKEN, ("TOKEN", "ASSAY_TOKEN", "OPERATOR")), (_ID, ("ID",))):
            if found := pattern.search(ended.stdout):
                group = found[found.lastindex or 0]
                if "ops" not in command:
                    self.environment |= dict.fromkeys(names, group)
                else:
                    self.environment["OPERATOR"] = group
        return ended.stdout

    def _export(self, command: str) -> None:
        for name, value in (word.split("=", 1) for word in command.split()[1:]):
            if "…" not in value:
                self.environment[name] = value

    def serve(self, command: str) -> None:
        """Start a server on a port of its own, and wait until it answers. Raises CommandFailedError."""
        port = next(port for port, names in _PORTS.items() if command.split()[1 if command.startswith("assay") else 2] in names)
        with socket.create_server(("127.0.0.1", 0)) as free:
            listening = free.getsockname()[1]
        if port in self.servers:
            self.servers.pop(port).terminate()
        log = (self.root / f"server-{port}.log").open("wb")
        server = subprocess.Popen(
            [*("bash", "-c"), f"exec {command} --port {listening}"], cwd=self.root, env=self.environment, stdout=log, stderr=log
        )
        self.servers[port], self._listening[port] = server, listening
        if "service" in command:
            self.environment["ASSAY_URL"] = f"http://127.0.0.1:{listening}"
        until = time.monotonic() + READY_S
        while not _answers(listening):
            if server.poll() is not None or time.monotonic() > until:
                raise CommandFailedError(f"{command}\n{(self.root / log.name).read_text(errors='replace')}")
            time.sleep(0.2)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
