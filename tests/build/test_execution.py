"""The fast way against the stock one, with compilers that are shell scripts: what succeeds where is then up to the test."""

import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.cache import Cache
from evaluator.build.commands import plan
from evaluator.build.execution import KEEP_GARBAGE, Execution
from evaluator.build.fast.compile import _DECLARES_ONLY
from evaluator.build.processes.runner import PlainRunner
from evaluator.build.processes.slots import Slots
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Compiler, Toolchain
from evaluator.results.category import Category
from tests.build.conftest import DATA

pytestmark = pytest.mark.slow(40)

NVCC = """#!/bin/sh
echo "$@" >> {root}/calls
case " $* " in
*" --dryrun "*) cat {root}/dryrun >&2; exit 0;;
esac
{stock}
"""
DRYRUN = """#$ PATH=/usr/bin:/bin
#$ gcc -E -x c++ cuda.cu
#$ cudafe++ --gen_module_id_file --module_id_file_name "id" cuda.ii
#$ gcc -D__CUDA_ARCH__=900 -E -x c++ cuda.cu
#$ "$CICC_PATH/cicc" --module_id_file_name "id"
#$ fatbinary x
#$ gcc -c -x c++ y
"""
ENV = {"PATH": "/usr/bin:/bin"}
OBJECT = 'for last; do :; done; echo object > "$last"'


def passes(root: Path, code: int = 0) -> str:
    """A dryrun whose passes are tools that leave a line each, and an object in the end."""
    tools = root / "tools"
    tools.mkdir()
    for name in ("gcc", "cudafe++", "cicc", "fatbinary"):
        ended = f"exit {code}" if name == "cudafe++" else ""
        (tools / name).write_text(f'#!/bin/sh\necho {name} >> {root}/passes\n{ended}\ncase "$*" in *-c*) echo object > cuda.cu.o;; esac\n')
        (tools / name).chmod(0o755)
    return DRYRUN.replace("PATH=", f"PATH={tools}:", 1).replace("#$ gcc", f"#$ CICC_PATH={tools}\n#$ gcc", 1)


def machine_with(root: Path, base: Toolchain, dryrun: str, stock: str) -> Toolchain:
    (root / "dryrun").write_text(dryrun)
    nvcc = root / "nvcc"
    nvcc.write_text(NVCC.format(root=root, stock=stock))
    nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
    cpu_only = replace(base.torch, cuda=None, root=root)
    # Two words for the C++ compiler: nothing is prepared with it.
    return replace(base, nvcc=Compiler((str(nvcc),), "V1"), cxx=Compiler(("/bin/sh", "nothing"), "1"), torch=cpu_only)


def build(toolchain: Toolchain, tmp_path: Path, **options: Any) -> BuildOutcome:
    request = BuildRequest.model_validate({"name": "x", "sources": [{"name": "cuda.cu", "text": ""}]})
    return Builder(Cache(tmp_path / "cache"), toolchain, **options).build(request)


def stock_calls(root: Path) -> int:
    return sum("--dryrun" not in line for line in (root / "calls").read_text().splitlines())


def test_passes_that_succeed_need_no_nvcc(toolchain: Toolchain, tmp_path: Path) -> None:
    outcome = build(machine_with(tmp_path, toolchain, passes(tmp_path), OBJECT), tmp_path)
    assert outcome.evidence.ok, outcome.evidence.output
    assert [(attempt.way, attempt.ok) for attempt in outcome.evidence.attempts] == [("passes", True)]
    assert stock_calls(tmp_path) == 0
    assert sorted((tmp_path / "passes").read_text().split()) == ["cicc", "cudafe++", "fatbinary", "gcc", "gcc", "gcc"]


def test_passes_that_fail_decide_nothing(toolchain: Toolchain, tmp_path: Path) -> None:
    outcome = build(machine_with(tmp_path, toolchain, passes(tmp_path, 1), OBJECT), tmp_path)
    assert outcome.evidence.ok, outcome.evidence.output
    assert [(attempt.way, attempt.ok) for attempt in outcome.evidence.attempts] == [("passes", False), ("stock", True)]
    assert all(attempt.duration_s >= 0 for attempt in outcome.evidence.attempts)


def test_a_failure_is_told_in_nvccs_words_alone(toolchain: Toolchain, tmp_path: Path) -> None:
    stock = 'echo "cuda.cu(3): error: identifier \\"x\\" is undefined"; exit 2'
    evidence = build(machine_with(tmp_path, toolchain, passes(tmp_path, 1), stock), tmp_path).evidence
    assert evidence.category is Category.UNDECLARED_IDENTIFIER
    assert evidence.output == 'cuda.cu(3): error: identifier "x" is undefined'
    assert [attempt.way for attempt in evidence.attempts] == ["passes", "stock"]


def test_passes_that_are_not_known_are_left_to_nvcc(toolchain: Toolchain, tmp_path: Path) -> None:
    listed = (DATA / "dryrun" / "ptx.txt").read_text()
    outcome = build(machine_with(tmp_path, toolchain, listed, OBJECT), tmp_path)
    assert outcome.evidence.ok, outcome.evidence.output
    assert [attempt.way for attempt in outcome.evidence.attempts] == ["stock"]


def test_time_that_the_fast_way_takes_is_not_the_stock_ones(toolchain: Toolchain, tmp_path: Path) -> None:
    listed = passes(tmp_path)
    (tmp_path / "tools" / "fatbinary").write_text("#!/bin/sh\nexec sleep 30\n")
    outcome = build(machine_with(tmp_path, toolchain, listed, OBJECT), tmp_path, timeout_s=10.0)
    assert outcome.evidence.ok, outcome.evidence.output
    assert [(attempt.way, attempt.ok) for attempt in outcome.evidence.attempts] == [("passes", False), ("stock", True)]


def test_stock_only_tries_nothing_else(toolchain: Toolchain, tmp_path: Path) -> None:
    outcome = build(machine_with(tmp_path, toolchain, passes(tmp_path), OBJECT), tmp_path, stock_only=True)
    assert [attempt.way for attempt in outcome.evidence.attempts] == ["stock"]
    assert not (tmp_path / "passes").exists()


@pytest.mark.parametrize("gnu", [True, False])
def test_only_gnus_compiler_is_told_to_keep_its_garbage(toolchain: Toolchain, tmp_path: Path, gnu: bool) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{OBJECT}\n')
    compiler.chmod(0o755)
    request = BuildRequest.model_validate({"name": "x", "sources": [{"name": "main.cpp", "text": ""}]})
    todo = plan(request, replace(toolchain, cxx=Compiler((str(compiler),), "1")))
    results = Execution(request, "key", tmp_path, ENV, PlainRunner(), None, 10.0, gnu=gnu).carry_out(todo)
    assert [result.code for _, result in results] == [0, 0], results
    plain = todo.compiles[0].argv[1:]
    compiled, linked = (tmp_path / "calls").read_text().splitlines()
    assert compiled.split() == [*(KEEP_GARBAGE if gnu else ()), *plain]
    assert todo.link is not None and linked.split() == list(todo.link.argv[1:])


def test_what_failed_the_fast_way_is_begun_again_while_the_rest_goes_on(toolchain: Toolchain, tmp_path: Path) -> None:
    """The pass of one source waits for what nvcc makes of the other, whose own passes fail."""
    listed = passes(tmp_path)
    waiting = f"while [ ! -e {tmp_path}/stock ]; do sleep 0.02; done"
    (tmp_path / "tools" / "cudafe++").write_text(f'#!/bin/sh\ncase "$TMPDIR" in *bad.cu*) exit 1;; esac\n{waiting}\n')
    (tmp_path / "tools" / "gcc").write_text('#!/bin/sh\ncase "$*" in *-c*) name=${TMPDIR##*/.fast-}; echo object > "$name";; esac\n')
    machine = machine_with(tmp_path, toolchain, listed, f"touch {tmp_path}/stock; {OBJECT}")
    sources = [{"name": "good.cu", "text": "// the longer one"}, {"name": "bad.cu", "text": ""}]
    request = BuildRequest.model_validate({"name": "x", "sources": sources})
    slots = Slots(tmp_path / "slots", 5, 1 << 30)
    evidence = Builder(Cache(tmp_path / "cache"), machine, timeout_s=20.0, slots=slots).build(request).evidence
    assert evidence.ok, evidence.output
    assert sorted((attempt.output, attempt.way, attempt.ok) for attempt in evidence.attempts) == [
        ("bad.cu.o", "passes", False),
        ("bad.cu.o", "stock", True),
        ("good.cu.o", "passes", True),
    ]


def test_no_slot_is_waited_for_to_look_at_a_failure(toolchain: Toolchain, tmp_path: Path) -> None:
    """There is one slot, which the next source has already while the first one's failure is looked at."""
    listed = passes(tmp_path)
    (tmp_path / "tools" / "cudafe++").write_text('#!/bin/sh\ncase "$TMPDIR" in *bad.cu*) exit 1;; esac\nsleep 0.3\n')
    (tmp_path / "tools" / "gcc").write_text('#!/bin/sh\ncase "$*" in *-c*) name=${TMPDIR##*/.fast-}; echo object > "$name";; esac\n')
    sources = [{"name": "bad.cu", "text": "// the longer one"}, {"name": "good.cu", "text": ""}]
    request = BuildRequest.model_validate({"name": "x", "sources": sources})
    machine = machine_with(tmp_path, toolchain, listed, OBJECT)
    builder = Builder(Cache(tmp_path / "cache"), machine, slots=Slots(tmp_path / "slots", 1, 1 << 30))
    found: list[BuildOutcome] = []
    building = threading.Thread(target=lambda: found.append(builder.build(request)), daemon=True)
    building.start()
    building.join(300)
    assert found and found[0].evidence.ok


def test_without_slots_to_spare_one_source_follows_the_other(toolchain: Toolchain, tmp_path: Path) -> None:
    machine = machine_with(tmp_path, toolchain, "", f"mkdir {tmp_path}/alone || exit 1; sleep 0.2; rmdir {tmp_path}/alone; {OBJECT}")
    sources = [{"name": f"{name}.cu", "text": ""} for name in "abc"]
    request = BuildRequest.model_validate({"name": "x", "sources": sources})
    slots = Slots(tmp_path / "slots", 5, 1 << 30)
    evidence = Builder(Cache(tmp_path / "cache"), machine, slots=slots).build(request).evidence
    assert evidence.ok, evidence.output
    with slots.claim(5 << 30, 1) as claim:
        assert claim.take() == 1


BINDING = """#include <torch/extension.h>
torch::Tensor twice(torch::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("twice", torch::wrap_pybind_function(BOUND), "twice");
}
"""


def binding_alone(name: str, machine: Toolchain, folder: Path) -> BuildOutcome:
    """A binding file for CUDA, with a PyTorch that has no CUDA to link it with."""
    sources = [{"name": "main.cpp", "text": BINDING.replace("BOUND", name)}]
    request = BuildRequest.model_validate({"name": "bound", "sources": sources, "with_cuda": True})
    return Builder(Cache(folder), replace(machine, torch=replace(machine.torch, cuda=None))).build(request)


@pytest.mark.build
def test_declarations_that_are_not_linked_are_only_read(machine: Toolchain, warm: Path) -> None:
    right, wrong = (binding_alone(name, machine, warm).evidence for name in ("twice", "thrice"))
    assert right.ok, right.output
    assert [attempt.way for attempt in right.attempts] == ["lean+read"]
    assert wrong.category is Category.UNDECLARED_IDENTIFIER
    assert [(attempt.way, attempt.ok) for attempt in wrong.attempts] == [("lean+read, proof: undeclared name", False)]


@pytest.mark.parametrize(
    ("text", "only"),
    [
        (BINDING, True),
        (BINDING.replace("(torch::Tensor x);", "(torch::Tensor x) { return x; }"), False),
        (BINDING.replace("torch::Tensor twice", 'asm(".error"); torch::Tensor twice', 1), False),
        (BINDING.replace("BOUND)", "BOUND); [] {}()"), False),
        (f"{BINDING}int more;", False),
    ],
)
def test_a_file_of_declarations_is_told_from_one_with_code(text: str, only: bool) -> None:
    assert bool(_DECLARES_ONLY.match(text)) is only
