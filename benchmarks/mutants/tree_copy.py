"""A copy of the tree, in which files are changed and tests run.

Without arguments, the program that runs pytest in a copy: see `serve`.
"""

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutants.hooks import LOG

SLOW_IMPORTS = ("torch", "pydantic", "sqlalchemy.orm")


@dataclass(frozen=True)
class Try:
    """One run of tests."""

    code: int | None
    """Pytest's exit code; None if it was stopped after the limit."""
    log: list[list[Any]]
    """Lines of the hooks."""

    def failed(self) -> list[str]:
        """Tests, or files that could not be collected."""
        return list(dict.fromkeys(line[0] for line in self.log if line[3] == "failed"))


class Copy:
    """A copy of the tree, and a process there that has imported what is slow to import, and forks into each run of pytest."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self._writes = folder / "tree", 0
        self._log, self._output, self._temporary = folder / "log", folder / "output", folder / "tests"
        folder.chmod(0o755)  # workers of sandboxes are other users
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (root / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.folder / name)
        search = os.pathsep.join(map(str, (self.folder, self.folder / "client")))
        environment = os.environ | {"PYTHONPATH": search, LOG: str(self._log)}
        found = [sys.executable, "-c", "import evaluator; print(evaluator.__file__)"]
        shown = subprocess.run(found, cwd="/", env=environment, capture_output=True, text=True, check=True).stdout
        assert Path(shown).is_relative_to(self.folder), f"{shown} is judged, not the copy"
        command = [sys.executable, "-m", "benchmarks.mutants.tree_copy"]
        self._server = subprocess.Popen(command, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, arguments: Sequence[str], limit_s: float) -> Try:
        """Run pytest in the copy."""
        self._log.write_text("", encoding="utf-8")
        assert self._server.stdin and self._server.stdout
        options = f"-q -p no:cacheprovider -p benchmarks.mutants.hooks --hypothesis-seed=0 --basetemp={self._temporary}"
        whole = [*options.split(), *arguments]
        self._server.stdin.write(json.dumps([whole, limit_s, str(self._output)]) + "\n")
        self._server.stdin.flush()
        code: int | None = json.loads(self._server.stdout.readline())
        return Try(code, [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()])

    @contextlib.contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """The copy, with another text of a file."""
        path = self.folder / file
        original = path.read_text(encoding="utf-8")
        try:
            self._write(path, text)
            yield
        finally:
            self._write(path, original)

    def _write(self, path: Path, text: str) -> None:
        """Write a file with a time of its own, by which Python tells that a compiled one is old."""
        self._writes += 1
        path.write_text(text, encoding="utf-8")
        os.utime(path, (self._writes, self._writes))

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait()


def serve() -> None:
    """Fork into pytest for each line of standard input (arguments, limit in seconds, file of the output). Answer with its exit code, or
    None if it was stopped."""
    for name in {*SLOW_IMPORTS, *(plugin.module for plugin in entry_points(group="pytest11"))}:
        importlib.import_module(name)
    for line in sys.stdin:
        arguments, limit_s, output = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number, opened in enumerate((os.open(os.devnull, os.O_RDONLY), file, file)):
                os.dup2(opened, number)
            sys.exit(pytest.main(arguments))
        ended, _, _ = select.select([ended_by := os.pidfd_open(child)], [], [], limit_s)
        os.close(ended_by)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps(code if ended else None), flush=True)


if __name__ == "__main__":
    serve()
