"""Reading corpora: headers, and complete submissions of bases and what files add to them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cells import cells, split
from tests.corpus import PROJECT, corpus, expectations, problems, read, write

pytestmark = pytest.mark.slow(4)

HERE = Path(__file__).parent
FOLDERS = [path for path in sorted(HERE.glob("*/corpus")) if path.is_dir()]
HEADER = "# form: squares\n# problem: softmax\n# expect: correct/ok\n"


def composed(tmp_path: Path, text: str) -> str:
    """The complete submission of a file, without its header."""
    (tmp_path / "one.py").write_text(text, encoding="utf-8")
    (entry,) = read(tmp_path / "one.py")
    return split(entry.data.decode())[1]


def test_a_file_without_a_model_is_completed(tmp_path: Path) -> None:
    added = "import math\n\nHALF = math.pi / 2\n\n\ndef forward(self, x):\n    # all of it\n    return x * HALF\n"
    assert composed(tmp_path, HEADER + added).split("\n\n", 1)[1] == (
        "HALF = math.pi / 2\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        # all of it\n        return x * HALF\n"
    )


def test_its_definitions_and_methods_take_the_place_of_the_bases(tmp_path: Path) -> None:
    added = '# base: run_in_cpp\nCPP = "int run();"\n\n\ndef forward(self, x):\n    return ops.run()\n'
    code = composed(tmp_path, HEADER + added)
    assert code.index('CPP = "int run();"') < code.index("ops = load_inline(") < code.index("class ModelNew")
    assert 'CPP = ""' not in code and code.count("def forward") == 1 and "return ops.run()\n" in code


def test_a_complete_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(HEADER + "class ModelNew: ...\n", encoding="utf-8")
    (entry,) = read(tmp_path / "one.py")
    assert entry.data.decode() == HEADER + "class ModelNew: ...\n"


FAMILY = '''# form: squares
# problem: softmax
# expect: correct/ok
import math
import time

HALF = math.pi / 2
PAUSE_S = 1.0


def wait():
    time.sleep(PAUSE_S)


def __init__(self):
    super().__init__()


# %% at_once
def forward(self, x):
    return x * HALF


# %% later
# expect: cpu incorrect/wrong_values
PAUSE_S = 2.0


def forward(self, x):
    wait()
    return x


# %% halves
"""Halves."""


class Model(nn.Module):
    def forward(self, x):
        return x * HALF


def get_inputs():
    return [torch.rand(3)]
'''


def test_cells_have_what_they_use_of_their_family_and_keys_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(FAMILY, encoding="utf-8")
    at_once, later = read(tmp_path / "family.py")
    assert (at_once.name, later.name) == ("at_once.py", "later.py")
    assert split(at_once.data.decode())[1].endswith(
        "HALF = math.pi / 2\n\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n"
        "    def forward(self, x):\n        return x * HALF\n"
    )
    assert b"time" not in at_once.data and b"math" not in later.data
    assert later.data.index(b"PAUSE_S = 2.0") < later.data.index(b"def wait") and b"PAUSE_S = 1.0" not in later.data
    assert at_once.verdicts["cuda"] == {"correct/ok"} and later.verdicts == {"cpu": {"incorrect/wrong_values"}}


def test_a_cell_with_a_model_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(FAMILY, encoding="utf-8")
    *_, cell = cells(tmp_path / "family.py")
    assert list(filter(None, cell.problem.splitlines())) == [
        '"""Halves."""',
        "import torch",
        "from torch import nn",
        "def get_init_inputs():",
        "    return []",
        "import math",
        "HALF = math.pi / 2",
        "class Model(nn.Module):",
        "    def forward(self, x):",
        "        return x * HALF",
        "def get_inputs():",
        "    return [torch.rand(3)]",
    ]


def test_names_are_of_one_submission(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(FAMILY, encoding="utf-8")
    with pytest.raises(ValueError, match="the same name"):
        corpus(tmp_path)


def test_every_problem_that_a_cell_defines_has_an_answer() -> None:
    assert problems().keys() <= {entry.value("problem") for folder in FOLDERS for entry in corpus(folder).values()}


@pytest.mark.parametrize("header", ["# form: squares\n", "# problem: softmax\n", "# form: a\n# wants: b\n# problem: softmax\n"])
def test_a_header_that_lacks_something_is_refused(tmp_path: Path, header: str) -> None:
    (tmp_path / "one.py").write_text(header + "x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="the header needs"):
        read(tmp_path / "one.py")


def test_verdicts_are_of_both_kinds_of_device_or_of_one() -> None:
    assert expectations({"expect": ("a/b | c/d",)}) == {"cpu": {"a/b", "c/d"}, "cuda": {"a/b", "c/d"}}
    assert expectations({"expect": ("cuda a/b",)}) == {"cuda": {"a/b"}}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_every_file_of_a_corpus_is_complete(folder: Path, tmp_path: Path) -> None:
    """No name is undefined: what only a GPU can judge is read here too."""
    write(corpus(folder).values(), tmp_path)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,F811", "--output-format", "concise", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(b"class ModelNew" in entry.data for entry in corpus(folder).values())


@pytest.mark.parametrize(("name", "least"), [("attacks", 218), ("honest", 65), ("contract", 54), ("diagnosis", 102), ("sanitizer", 4)])
def test_a_corpus_loses_nothing(name: str, least: int) -> None:
    assert len(corpus(HERE / name / "corpus")) >= least


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("# form: squares\n# problem: softmax\n# speedups: 1.1\nx = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no speedups"):
        read(tmp_path / "one.py")


def test_what_attacks_name_of_the_project_exists() -> None:
    """An attack on something that no longer exists proves nothing."""
    for path in sorted((HERE / "attacks" / "corpus").glob("*.py")):
        for name in re.findall(r"\b(?:evaluator|judge|db|reference)/[a-z_/]+\.(?:py|c)\b", path.read_text(encoding="utf-8")):
            assert (PROJECT / name).exists() or (PROJECT / "evaluator" / name).exists(), f"{path.name}: {name}"
