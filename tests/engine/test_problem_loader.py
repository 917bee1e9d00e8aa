"""Problems by way of another process, for one that has no PyTorch."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from evaluator.engine.problem_loader import ProblemReader
from evaluator.problem.catalogue import discover
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load

SOUND = """\
import torch
from torch import nn
ASSAY = {"cases": {"full": {}, "small": {"rows": 4}}}
rows = 1024
class Model(nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.rand(rows, 4)]
def get_init_inputs():
    return []
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sound.py").write_text(SOUND)
    (tmp_path / "broken.py").write_text(SOUND + "\n1 / 0\n")
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    return tmp_path


@pytest.fixture
def reader(folder: Path) -> Iterator[ProblemReader]:
    with ProblemReader(discover([folder])) as reader:
        yield reader


def test_what_another_process_tells_is_what_loading_it_here_does(reader: ProblemReader, folder: Path) -> None:
    facts = reader.get("sound")
    assert facts == load(folder / "sound.py").facts
    assert (facts.default_case("cpu"), facts.default_case("cuda"), facts.source) == ("small", "full", SOUND)
    assert reader.get("sound") is facts
    assert reader.get("softmax").case_names[0] == "full"


def test_problems_are_told_of_in_the_precision_that_is_asked_for(folder: Path) -> None:
    (folder / "narrow.py").write_text(SOUND.replace('{"cases"', '{"dtype": "float32", "dtypes": ["float32"], "cases"'))
    with ProblemReader(discover([folder]), "bfloat16") as reader:
        assert reader.get("sound").precision == "bfloat16"
        with pytest.raises(ProblemError, match="allows float32, not bfloat16"):
            reader.get("narrow")
    with ProblemReader(discover([folder])) as reader:
        assert (reader.get("sound").precision, reader.get("narrow").precision) == ("own", "float32")


def test_what_is_wrong_is_told_with_its_line(reader: ProblemReader, folder: Path) -> None:
    with pytest.raises(ProblemError, match="ZeroDivisionError") as raised:
        reader.get("broken")
    assert (raised.value.path, raised.value.line) == (folder / "broken.py", SOUND.count("\n") + 2)
    assert reader.get("sound").name == "sound"


def test_a_case_that_is_not_declared_is_told_of(reader: ProblemReader) -> None:
    reader.check("sound", "small")
    with pytest.raises(ProblemError, match="no case 'smal'; nearest: small"):
        reader.check("sound", "smal")


def test_a_file_that_ends_the_process_is_a_problem_that_is_wrong(reader: ProblemReader) -> None:
    for _ in range(2):
        with pytest.raises(ProblemError, match=r"ends\.py: importing the file ended the process"):
            reader.get("ends")
        assert reader.get("sound").name == "sound"


def test_a_broken_file_is_imported_once(reader: ProblemReader, folder: Path) -> None:
    (folder / "counts.py").write_text(f"open({str(folder / 'imports')!r}, 'a').write('x')\n1 / 0\n")
    with ProblemReader(discover([folder])) as again:
        for _ in range(2):
            with pytest.raises(ProblemError, match="ZeroDivisionError"):
                again.get("counts")
    assert (folder / "imports").read_text() == "x"


@pytest.mark.parametrize("network", [False, True])
def test_a_file_reaches_a_server_only_where_it_may(folder: Path, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        (folder / "asks.py").write_text(f"import socket\nsocket.create_connection({address!r}, 60).close()\n{SOUND}")
        with ProblemReader(discover([folder]), network=network) as reader:
            if network:
                assert reader.get("asks").name == "asks"
            else:
                with pytest.raises(ProblemError, match=r"asks\.py:2: importing the file raised OSError.*or judge with --reference-network"):
                    reader.get("asks")


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("import no_such_package", "install this one in Assay's environment"),
        (
            "raise RuntimeError('No server.') from OSError",
            "No server; files are imported without the network: fetch what they need before, or judge with --reference-network",
        ),
        ("open('/no/such/file')", ""),
    ],
)
def test_the_way_out_of_a_missing_package_or_network_is_named(folder: Path, line: str, remedy: str) -> None:
    (folder / "lacks.py").write_text(f"{line}\n{SOUND}")
    with ProblemReader(discover([folder])) as reader, pytest.raises(ProblemError, match=r"lacks\.py:1: importing") as raised:
        reader.get("lacks")
    assert raised.value.rule.endswith(remedy) and (";" in raised.value.rule) is bool(remedy)


def test_nothing_is_started_for_nothing_and_nothing_stays(folder: Path) -> None:
    with ProblemReader(discover([folder])) as reader:
        assert reader._process is None
        reader.get("sound")
        assert reader._process is not None and reader._process.pid is not None
        pid = reader._process.pid
    deadline = time.monotonic() + 120
    while lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
