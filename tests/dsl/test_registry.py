"""DSLs that come with Assay, and plug-ins: distributions with an entry point, in a folder of the search path."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.dsl import dsls
from evaluator.results.evidence import ExceptionEvidence

PLUGIN = """
from evaluator.dsl import Dsl, Refused

def compile_error(raised):
    return Refused(raised.message, line=3) if raised.type == "WeaveError" else None

DSL = Dsl(name="weave", title="Weave", packages={"weave": "weave-lang"}, caches={"WEAVE_CACHE": "weave"}, kernel_names=("weave_{name}",),
          library_kernels=("weave_sum",), in_worker="weave_assay:install", compile_error=compile_error)

def install(process):
    process.told = True
"""
LIST = "from evaluator.dsl import dsls; print(*(dsl.name for dsl in dsls()))"


def install(folder: Path, name: str = "weave", module: str = "weave_assay", text: str = PLUGIN) -> Path:
    """A distribution in this folder, as pip leaves it there."""
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[assay.dsl]\n{name} = {module}:DSL\n")
    (folder / f"{module}.py").write_text(text)
    return folder


def run(script: str, *folders: Path, cwd: Path | None = None, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    search = ":".join(map(str, [Path(__file__).parents[2], *folders]))
    command = [sys.executable, *options, "-c", script]
    return subprocess.run(command, cwd=cwd or "/", env={"PYTHONPATH": search}, capture_output=True, text=True, timeout=60, check=False)


def test_assays_own_are_there_without_an_installation() -> None:
    assert [dsl.name for dsl in dsls()][:4] == ["load_inline", "triton", "cupy", "numba"]


@pytest.mark.slow
def test_a_plug_in_is_found_by_its_entry_point_and_used_by_the_worker_and_the_judge(tmp_path: Path) -> None:
    script = """
from pathlib import Path
from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.source_map import SourceMap
from evaluator.results.evidence import ExceptionEvidence
from evaluator.worker.origin import is_own_kernel
from evaluator.worker.patches.caches import cache_environment
from evaluator.worker.patches.process import hooks
print(cache_environment(Path("/private"))["WEAVE_CACHE"])
print([function.__module__ for function in hooks()])
owned = lambda name: is_own_kernel(name, "/opt/weave.so", "import weave\\ndef bend(x): ...", (), by_driver=True)
print(owned("weave_bend"), owned("weave_other"), owned("weave_sum"))
raised = ExceptionEvidence(stage="rounds", type="WeaveError", message="no thread", line=9)
print(failed_build(raised, SourceMap("a\\nb\\nc", 11)).diagnostics[0].source_line)
"""
    done = run(script, install(tmp_path))
    told = done.stdout.splitlines()
    assert told == [
        "/private/weave",
        "['evaluator.worker.patches.extension', 'evaluator.dsl.triton', 'evaluator.dsl.tilelang', 'evaluator.dsl.cute', 'weave_assay']",
        "True False False",
        "13",
    ], done.stderr


def test_what_lies_in_the_working_folder_registers_nothing(tmp_path: Path) -> None:
    install(tmp_path)
    assert "weave" not in run(LIST, cwd=tmp_path).stdout
    assert "weave" not in run(LIST, tmp_path, cwd=tmp_path).stdout
    assert "weave" in run(LIST, tmp_path).stdout


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("weave", "import no_such_module_here", "can't be loaded: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("weave", "DSL = 1", "is not a Dsl of that name"),
        ("other", PLUGIN, "is not a Dsl of that name"),
        ("weave", PLUGIN.replace('name="weave"', 'name="We ave"'), "lower-case letters"),
        ("triton", PLUGIN.replace('name="weave"', 'name="triton"'), "two DSLs have the name triton"),
    ],
    ids=["import", "no Dsl", "another name", "refused", "taken"],
)
def test_a_plug_in_that_can_t_be_used_is_named_with_a_way_out(name: str, text: str, says: str, tmp_path: Path) -> None:
    done = run(LIST, install(tmp_path, name, text=text))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("evaluator.dsl.registry.PluginError: ") and says in last and "pip uninstall weave_assay" in last


def test_the_command_line_says_so_in_one_line(tmp_path: Path) -> None:
    folder = install(tmp_path / "site", text="import no_such_module_here")
    (tmp_path / "answer.py").write_text("# problem: leaky_relu\nclass ModelNew: pass\n")
    script = (
        f"import sys, pipeline; sys.exit(pipeline.main([{str(tmp_path / 'answer.py')!r}, '--device', 'cpu', '--db', 'sqlite:///x.db']))"
    )
    done = run(script, folder, cwd=tmp_path)
    assert done.returncode == 2
    assert "the DSL weave of weave_assay can't be loaded" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["TileLangError", "CuteError"])
def test_the_longest_message_of_a_hostile_worker_is_read_at_once(kind: str) -> None:
    raised = [ExceptionEvidence(stage="rounds", type=kind, message=text * 25_000) for text in ("\n\n\n\n", "\t   ", "--> ")]
    start = time.process_time()
    for dsl in dsls():
        for each in raised:
            dsl.compile_error(each)
    assert time.process_time() - start < 2.0
