"""Runs `pipeline.py` as a user does, on its own small problems."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from db.store import Store

PROJECT = Path(__file__).resolve().parents[1]
RUN_S = 420
"""Timeout of one run: a busy machine takes a minute to start PyTorch in three processes."""

PROBLEM = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x {operation}


def get_inputs():
    return [torch.rand(16, 16)]


def get_init_inputs():
    return []
"""

SUBMISSION = """\
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        {before}
        return {answer}
"""


def submission(answer: str = "x + x", before: str = "pass", header: str = "") -> str:
    """Source of a submission whose forward() runs the line `before` and returns `answer`."""
    return header + SUBMISSION.format(answer=answer, before=before)


HEADERS = {
    "tiles/tiles.hpp": '#pragma once\n#include "ops/map.hpp"\n',
    "tiles/ops/map.hpp": """\
#pragma once
namespace tiles {
template <typename T, int Width> struct row { const T* in; T* out; };
template <typename T, int Width, typename F> void map(const row<T, Width>& each, F f) {
    for (int i = 0; i < Width; i++) each.out[i] = f(each.in[i]);
}
}
""",
}
"""A small library of headers: templates in a namespace, in nested folders."""
TILED = """\
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include "tiles/tiles.hpp"
#include <cstdint>
#include <pybind11/pybind11.h>

void twice(intptr_t in, intptr_t out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        tiles::row<float, 16> row{(const float*)in + 16 * r, (float*)out + 16 * r};
        tiles::map(row, [](float x) { return 2 * x; });
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("twice", twice); }
'''
extension = load_inline(name="tiled", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        extension.twice(x.data_ptr(), out.data_ptr(), x.shape[0])
        return out
"""
"""A right answer to double that includes HEADERS."""


def header_folder(root: Path) -> Path:
    """HEADERS in a folder below `root`."""
    for name, text in HEADERS.items():
        path = root / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    open_to_compilers(root)
    return root / "include"


def open_to_compilers(folder: Path) -> None:
    """Let other users, as which compilers may run, enter this folder of a test."""
    for each in (folder, *folder.parents):
        if os.access(each, os.W_OK) and each.stat().st_uid == os.getuid() and each != Path("/tmp"):
            each.chmod(each.stat().st_mode | 0o011)


@dataclass(frozen=True)
class Finished:
    """The outcome of a run of the command line."""

    code: int
    stdout: str
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON objects on standard output, which must hold nothing else."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def by_name(self) -> dict[str, dict[str, Any]]:
        """The JSON objects by the last part of the submission's name."""
        return {record["submission"].rsplit("/", 1)[-1]: record for record in self.records}


@dataclass(frozen=True)
class Bench:
    """A folder with problems, submissions and a database; the problems double (`double`: 2x) and add (`increment`: x + 1)."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, operation in (("double", "* 2"), ("increment", "+ 1")):
            self.write(f"problems/{name}.py", PROBLEM.format(operation=operation))

    @property
    def database(self) -> Path:
        return self.root / "results.db"

    def write(self, name: str, text: str) -> Path:
        """A file below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def command(self, *arguments: str | Path) -> list[str]:
        """The command line, on the CPU, by default with the bench's problems and database."""
        given = [str(argument) for argument in arguments]
        defaults = {"--reference": str(self.root / "problems"), "--device": "cpu", "--db": f"sqlite:///{self.database}"}
        added = [word for option, value in defaults.items() if option not in given for word in (option, value)]
        return [sys.executable, str(PROJECT / "pipeline.py"), *added, *given]

    def start(self, *arguments: str | Path, **variables: str) -> "subprocess.Popen[str]":
        """Start a run in its own process group, with the root as working directory."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env={**os.environ, **self.variables(variables)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, *arguments: str | Path, **variables: str) -> Finished:
        """Run to the end, in this process (see `tests.warm`)."""
        from tests import warm  # the other functions of this module import nothing heavy

        return warm.run(self.command(*arguments)[2:], self.root, self.variables(variables))

    def variables(self, more: dict[str, str]) -> dict[str, str]:
        """Environment variables of a run, beside the tests' own."""
        return {"COLUMNS": "200", **self.environment, **more}

    def run_apart(self, *arguments: str | Path, **variables: str) -> Finished:
        """Run to the end, in a process of its own, as a user does."""
        with self.start(*arguments, **variables) as process:
            try:
                stdout, stderr = process.communicate(timeout=RUN_S)
            finally:
                process.kill()
        return Finished(process.returncode, stdout, stderr)

    def rows(self) -> list[tuple[str, int | None, str]]:
        """Every row of the database: submission, block and category."""
        with Store.open(f"sqlite:///{self.database}", read_only=True) as store, store.read() as connection:
            found = connection.exec_driver_sql(
                "SELECT s.name, s.block, e.category FROM evaluations e JOIN submissions s ON s.id = e.submission_id ORDER BY e.id"
            )
            return [(row[0], row[1], row[2]) for row in found]


def refused(finished: Finished) -> str:
    """The one line that a run which was refused says. It may have said which problems it read; nothing else may be said or done."""
    assert finished.code == 2
    assert all(line.startswith("--reference ") for line in finished.stdout.splitlines())
    assert finished.stderr.startswith("pipeline.py: ")
    assert finished.stderr.count("\n") == 1 and finished.stderr.endswith("\n")
    return finished.stderr
