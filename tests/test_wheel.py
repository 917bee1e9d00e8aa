"""The wheel holds all that runs and nothing of the tests. Installed outside of the project, it judges, shows and serves."""

import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.clones import copy_project, make_environment
from tests.command_line import PROBLEM, RUN_S, open_to_compilers

pytestmark = pytest.mark.slow(30)

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
PACKAGES = ("assay", "command", "configuration", "db", "evaluator", "reference", "web")
SOURCE = '''\
CPP = """
#include <cstdint>
#include <pybind11/pybind11.h>

void twice(intptr_t in, intptr_t out, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((float*)out)[i] = 2 * ((const float*)in)[i];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("twice", twice); }
"""
'''
"""A package of kernels, which is installed beside Assay."""
SUBMISSION = """\
import torch
from kernels_beside import CPP
from torch import nn
from torch.utils.cpp_extension import load_inline

extension = load_inline(name="beside", cpp_sources=CPP, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        extension.twice(x.data_ptr(), out.data_ptr(), x.numel())
        return out
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [str(word) for word in (*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, project)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    (made,) = folder.glob("assay_judge-*.whl")
    return made


@dataclass(frozen=True)
class User:
    """Someone who has installed the wheel, in an own folder with a problem and a submission."""

    environment: Path
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def words(self, *arguments: str) -> dict[str, object]:
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(self.environment / "bin" / "assay"), *arguments]
        return {"args": command, "cwd": self.folder, "env": inherited | self.variables, "text": True}

    def assay(self, *arguments: str) -> str:
        """The output of a command that ends well."""
        done = subprocess.run(**self.words(*arguments), capture_output=True, timeout=RUN_S)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    @contextmanager
    def server(self, *arguments: str) -> Iterator[str]:
        """The address of a server, which runs meanwhile."""
        with subprocess.Popen(**self.words(*arguments, "--port", "0"), stdout=subprocess.PIPE) as process:  # type: ignore[call-overload]
            try:
                line = process.stdout.readline()
                address = re.search(r"http://127\.0\.0\.1:\d+", line)
                assert address is not None, line
                yield address[0]
            finally:
                process.terminate()


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> User:
    environment, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("user")
    packages = make_environment(environment)
    python = environment / "bin" / "python"
    subprocess.run([*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True, capture_output=True, text=True)
    (packages / "kernels_beside.py").write_text(SOURCE, encoding="utf-8")
    (folder / "problems").mkdir()
    (folder / "problems" / "double.py").write_text(PROBLEM.format(operation="* 2"), encoding="utf-8")
    (folder / "mine.py").write_text(f"# problem: double\n{SUBMISSION}", encoding="utf-8")
    for each in (environment, folder):
        open_to_compilers(each)
    return User(environment, folder)


def test_the_wheel_has_each_file_of_the_packages_and_no_other(wheel: Path, project: Path) -> None:
    roots = [project / name for name in PACKAGES]
    client = [path for path in (project / "client").glob("assay_*/**/*") if path.is_file()]
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    wanted = {path.relative_to(project).as_posix() for path in files} | {path.relative_to(project / "client").as_posix() for path in client}
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert names == wanted | {"pipeline.py"}
    assert {"evaluator/worker/launch_recorder.c", "reference/paged_attention.safetensors", "db/output/record.schema.json"} <= names


def test_it_judges_lists_and_shows(user: User) -> None:
    assert "softmax" in user.assay("problems", "list", "softmax"), "the shipped problems are installed too"
    told = user.assay("judge", "--device", "cpu", "--reference", "problems", "mine.py")
    assert "#1 correct/ok mine.py" in told, "a submission may import what is installed beside Assay"
    assert "mine.py" in user.assay("list", "--category", "ok")
    with user.server("serve") as address:
        for page, content in (("/leaderboard", b"mine.py"), ("/static/style.css", b"{")):
            with urllib.request.urlopen(address + page) as answer:
                assert content in answer.read(), page


def test_its_service_judges_for_its_client(user: User) -> None:
    token = user.assay("service", "token", "new", "--author", "ada").strip()
    with user.server("service", "--device", "cpu", "--reference", "problems") as address:
        user.variables.update(ASSAY_URL=address, ASSAY_TOKEN=token)
        assert "correct/ok" in user.assay("submit", "mine.py", "--problem", "double")
        assert "mine.py" in user.assay("submitted")
