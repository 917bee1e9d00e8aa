"""Runs every command of the documents, from the top of its document to the end.

Commands that need a GPU run only with one. Long measurements get less to do. Slurm's commands are only parsed."""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from assay.commands import COMMANDS
from tests.command_line import PROBLEM, PROJECT, submission
from tests.documents.commands import DOCUMENTS, Shown, shown
from tests.documents.scene import Scene
from tests.test_docs import code_blocks, document

pytestmark = pytest.mark.slow(200)

ELSEWHERE = {"quickstart.md": "tests/test_quickstart.py", "ray.md": "tests/documents/test_ray_commands.py"}
"""Documents whose commands another file runs."""
LONG = {"docs/benchmarks.md", "CONTRIBUTING.md"}
"""Documents with commands of the benchmarks."""
SERVERS = re.compile(r"(assay (serve|service)|python -m web)( --\S+ \S+)*")
SERVICE = ("assay service", "assay service token new --author ada")
BEFORE = {
    "client/README.md": SERVICE,
    "docs/command-line.md": SERVICE,
}
"""What another document has told to do before."""
RUN_BY = {
    "python -m benchmarks.corpora": "tests/benchmarks/test_corpora.py",
    "python -m assay.dsl_contract": "tests/dsl/test_contract.py",
    "assay repair": "tests/client/test_repair.py",
    "assay-client repair": "tests/client/test_repair.py",
    "vf-eval": "tests/client/test_trainers.py",
    "inspect eval": "tests/client/test_trainers.py",
    "python -m assay_client.harbor": "tests/client/test_trainers.py",
    "harbor run": "tests/client/test_trainers.py",
    "python pipeline.py ANSWERS": "tests/benchmarks/test_plain_answers.py",
    "python pipeline.py RUNS": "tests/problem/test_kernelbench_hard.py",
    "python -m benchmarks.kernelbench_hard": "tests/benchmarks/test_kernelbench_hard.py",
    "python -m benchmarks.real_answers KB ANSWERS": "tests/benchmarks/test_real_answers.py",
    "python -m benchmarks.rewards": "tests/benchmarks/test_rewards.py",
    "python -m benchmarks.throughput --part cpu": "tests/benchmarks/test_throughput.py",
}
"""How commands begin that take minutes, a model or all of KernelBench's problems, with the test that does the same."""
NOT_COMMANDS = re.compile(r"assay > command|export --format")
"""A row of layers, and a part of a command."""
PLACEHOLDERS = {
    "[OPTION...]": "",
    "PATH...": "leaky_relu/mine.py",
    "PATH/TO/": "",
    "PATH": "leaky_relu/mine.py",
    "FILE": "leaky_relu/mine.py",
    "FILE.png": "plot.png",
    "--db FILE": "--db large.db",
    "--problem NAME": "--problem leaky_relu",
    "new NAME": "new made",
    "runs/NAME": "runs/run",
    "DIR": "mine",
    "FOLDER": "attacks",
    "SUBMISSION": "leaky_relu/mine.py",
    "CATEGORY": "wrong_values",
    "COMMAND": "judge",
    "ID": "1",
    "show 12": "show 1",
    "${fpath[1]}/": "",
    "KB ANSWERS": "KernelBench/KernelBench answers",
    "--responses DIR": "--responses submissions/responses",
    "/tmp/": "",
}
"""What the documents write for a reader's own words."""
LESS = {
    r"problems check --dtype": "problems check softmax --dtype",
    r"reference new made$": "reference new made --reference mine",
    r"(check geglu .*) --all-cases": r"\1",
    r"--case 4096": "--case small",
    r"--repetitions 20 --budget \d+": "--repetitions 1 --budget 1",
    r'--rungs ".*?"': '--rungs "reduction 16"',
    r"(benchmarks.leaderboard --db \S+)": r"\1 --evaluations 300 --problems 3 --authors 3 --with-evidence 20 --inserts 20 --repetitions 2",
    r"--repetitions 40": "--repetitions 2",
    r"benchmarks.service$": "benchmarks.service --submissions 8 --clients 2 --no-kills",
    r"benchmarks.service --soak 5000": "benchmarks.service --soak 4 --clients 2",
    r"--yardsticks \d+": "--variants 2 --yardsticks 1",
    r"--variants 24": "--variants 2",
    r"benchmarks.build --kind (\w+).*": r"benchmarks.build --kind \1 --limit 1",
    r"(benchmarks.real_work \S+) answers": r"\1 real --device cpu",
}
"""What is left out, or made smaller, of what takes long, by patterns."""
NEEDS_GPU = re.compile(r"\bcuda\b|--part (variants|devices|seeds)|assay calibrate|-m gpu")
SOME_NOT_EVALUATED = re.compile(r"pipeline\.py (submissions|attacks|honest)")
"""Without a third party's package, some are not."""
WORDS = {
    rf"(?<![\w-]){re.escape(placeholder)}" + (r"\b" if placeholder[-1].isalnum() else ""): words
    for placeholder, words in sorted(PLACEHOLDERS.items(), key=lambda item: -len(item[0]))
}
PROBLEM_OF_KERNELBENCH = PROBLEM.format(operation="* torch.sigmoid(x)") + "\nbatch_size = 16\ndim = 16\n"
MINE = """\
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        return torch.where(x > 0, x, self.negative_slope * x)
"""
GEGLU = submission("nn.functional.gelu(x[0]) * x[1]").replace("self, x", "self, *x")
SOFTMAX = submission("torch.softmax(x, dim=-1)")


def files() -> dict[str, str]:
    """What the commands name: submissions, problems, a run of KernelBench's."""
    return {
        "assay.toml": '[judge]\ndevice = "cpu"\n[service]\ndevice = "cpu"\n',
        "leaky_relu/mine.py": MINE,
        "softmax/fused.py": SOFTMAX,
        "answer.md": f"```python\n{SOFTMAX}```\n",
        "mine/l2_norm.py": example("normalize(x"),
        "l2_norm/my_kernel.py": submission("nn.functional.normalize(x, dim=1)"),
        "KernelBench/KernelBench/level1/25_Swish.py": PROBLEM_OF_KERNELBENCH,
        "runs/run/level_1_problem_25_sample_0_kernel.py": submission("x * torch.sigmoid(x)"),
        "problems-h100/25_swish/reference.py": PROBLEM_OF_KERNELBENCH,
        "problems-h100/25_swish/shapes.py": 'SHAPES = [{"batch_size": 16, "dim": 16}]\n',
        "runs/h100/me_25_swish_solution.py.txt": submission("x * torch.sigmoid(x)"),
        "real/level_1_problem_25_sample_0_kernel.py": submission("x * torch.sigmoid(x)"),
        "real/manifest.toml": '[[submission]]\nfile = "level_1_problem_25_sample_0_kernel.py"\nexpect = ["correct/no_custom_kernel"]\n',
        "my_kernel.py": GEGLU,
        "runs/run/eval_results.json": json.dumps({"25": [{"sample_id": 0, "compiled": True, "correctness": True, "runtime": 1.0}]}),
        "docs/.keep": "",
        "db/output/.keep": "",
        "home/.local/share/bash-completion/completions/.keep": "",
    }


def example(part: str) -> str:
    """The problem in docs/problems.md that has this part."""
    return next(block for block in code_blocks(document("problems.md"), "python") if part in block)


WRITTEN_AFTER = {"assay problems new geglu --reference mine": ("mine/geglu.py", example("gelu(a)"))}
"""What a document has its reader write after a command."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database of one evaluation."""
    root = tmp_path_factory.mktemp("judged")
    with Scene(root, files()) as scene:
        scene.run("assay judge --device cpu leaky_relu/mine.py")
    return root


@pytest.fixture
def scene(tmp_path: Path, judged: Path) -> Iterator[Scene]:
    shutil.copy(judged / "assay.db", tmp_path)
    with Scene(tmp_path, files()) as made:
        rows = {"code": [PROBLEM_OF_KERNELBENCH], "level": [1], "name": ["25_Swish"], "problem_id": [25]}
        pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "level_1.parquet")
        yield made


def to_run(command: str) -> str:
    """The command with a reader's words for its placeholders, and with less to do."""
    for pattern, words in (*WORDS.items(), *LESS.items()):
        command = re.sub(pattern, words, command)
    return command


def is_run(command: str) -> bool:
    return not NOT_COMMANDS.match(command) and not command.startswith(tuple(RUN_BY))


def of_documents(needs_gpu: bool) -> dict[str, list[Shown]]:
    """The commands to run, each once, by the document's name."""
    found = {
        document.relative_to(PROJECT).as_posix(): [
            each for each in dict.fromkeys(shown(document)) if is_run(each.text) and bool(NEEDS_GPU.search(each.text)) is needs_gpu
        ]
        for document in DOCUMENTS
        if document.name not in ELSEWHERE
    }
    return {document: commands for document, commands in found.items() if commands}


def follow(scene: Scene, commands: list[Shown]) -> None:
    source = commands[0].document
    before = BEFORE.get(source.relative_to(PROJECT).as_posix(), ())
    for command in (*(Shown(source, text, is_block=True) for text in before), *commands):
        if command.is_name or command.text.startswith("make "):
            exists(command)
        elif command.text.startswith("pip "):
            installs(command.text)
        elif SERVERS.fullmatch(command.text):
            scene.serve(to_run(command.text))
        else:
            scene.run(to_run(command.text), (0, 1) if SOME_NOT_EVALUATED.search(command.text) else (0,))
            if command.text in WRITTEN_AFTER:
                name, text = WRITTEN_AFTER[command.text]
                (scene.root / name).write_text(text, encoding="utf-8")


def exists(command: Shown) -> None:
    """That a command is there which is only named, or does much more than a test may."""
    program, *words = command.words
    if program == "make":
        subprocess.run(["make", "-n", *words], cwd=PROJECT, check=True, capture_output=True)
    elif program == "assay":
        assert words[0] in COMMANDS or words[0] in COMMANDS["list"].parser().format_help(), command
    elif words[:1] == ["-m"]:
        assert importlib.util.find_spec(words[1]), command
    else:
        assert (PROJECT / words[0]).exists() or program == "assay-client", command


def installs(command: str) -> None:
    """That the extras and files of an installation are there."""
    words = shlex.split(command)[2:]
    paths = [word.partition("[")[0] for word in words if word.startswith(".") or word.endswith(".txt")]
    assert all((PROJECT / path).exists() for path in paths), command
    for folder, names in re.findall(r"(\.\S*)\[([\w,]+)\]", " ".join(words)):
        project = tomllib.loads((PROJECT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(names.split(",")) <= set(project["optional-dependencies"]), command
    assert paths or command == "pip install triton", command


ON_CPU, ON_GPU = of_documents(needs_gpu=False), of_documents(needs_gpu=True)


@pytest.mark.parametrize("document", [pytest.param(name, marks=pytest.mark.nightly if name in LONG else ()) for name in ON_CPU])
def test_the_commands_of(document: str, scene: Scene) -> None:
    follow(scene, ON_CPU[document])


@pytest.mark.gpu
@pytest.mark.parametrize("document", ON_GPU)
def test_the_commands_for_a_gpu_of(document: str, scene: Scene) -> None:
    follow(scene, ON_GPU[document])


def test_what_is_said_of_commands_is_not_stale() -> None:
    stale = {*WORDS, *LESS}
    for command in (each.text for path in DOCUMENTS for each in shown(path)):
        for pattern, words in (*WORDS.items(), *LESS.items()):
            stale -= {pattern} if re.search(pattern, command) else set()
            command = re.sub(pattern, words, command)
    assert not stale
    assert all((PROJECT / path).exists() for path in (*ELSEWHERE.values(), *RUN_BY.values()))
    texts = [each.text for path in DOCUMENTS for each in shown(path)]
    assert all(any(text.startswith(beginning) for text in texts) for beginning in RUN_BY)
