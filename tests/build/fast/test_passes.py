import shutil
import subprocess
import time
from pathlib import Path

import pytest

from evaluator.build.fast.passes import Passes, edges, read_dryrun
from evaluator.build.processes.graph import GraphRun, Job
from evaluator.build.processes.runner import CommandResult, PlainRunner
from evaluator.build.toolchain import Toolchain
from tests.build.conftest import DATA

ARGV = ("nvcc", "-c", "cuda.cu")


def listed(name: str) -> str:
    return (DATA / "dryrun" / f"{name}.txt").read_text()


def read(name: str) -> Passes:
    passes = read_dryrun(listed(name), ARGV)
    assert passes is not None
    return passes


def tools(steps: tuple[str, ...]) -> list[str]:
    return [step.split()[0].strip('"').rsplit("/", 1)[-1] for step in steps]


def test_host_and_device_are_told_apart() -> None:
    passes = read("one")
    assert tools(passes.host) == ["gcc", "cudafe++"]
    assert tools(passes.device) == ["gcc", "cicc", "ptxas"]
    assert tools(passes.join) == ["fatbinary", "gcc"]
    assert dict(passes.variables)["CICC_PATH"].endswith("nvvm/bin")


def test_a_host_compiler_of_ones_own_is_quoted() -> None:
    quoted = listed("one").replace("#$ gcc ", '#$ "/opt/gcc/bin"/gcc ')
    passes = read_dryrun(quoted, ARGV)
    assert passes is not None and quoted != listed("one")
    assert passes.host[0].startswith('"/opt/gcc/bin"/gcc ') and passes.join[-1].startswith('"/opt/gcc/bin"/gcc ')
    assert read_dryrun(quoted.replace("/opt/gcc/bin", "/opt/my gcc/bin"), ARGV) is None
    assert read_dryrun(quoted.replace("/opt/gcc/bin", "/opt/$(gcc)/bin"), ARGV) is None


def test_architectures_follow_each_other() -> None:
    assert tools(read("two").device) == ["gcc", "cicc", "ptxas", "gcc", "cicc", "ptxas"]


def test_the_name_of_the_file_is_written_beforehand_and_read_by_both() -> None:
    passes = read("one")
    assert not any("--gen_module_id_file" in step for step in passes.host)
    assert all(passes.module_id_file in step for step in (passes.host[1], passes.device[1]))
    first, *others = edges(passes, "key", "cuda.cu", "job", Path("/scratch"))
    assert first.command.endswith(f"> {passes.module_id_file}")
    assert first.after == () and all(edge.after for edge in others)


def test_internal_names_differ_between_files_and_not_between_builds() -> None:
    passes = read("one")

    def module_id(key: str, name: str) -> str:
        return edges(passes, key, name, "job", Path("/scratch"))[0].command

    assert module_id("key", "a.cu") == module_id("key", "a.cu")
    assert module_id("key", "a.cu") != module_id("key", "b.cu") != module_id("other", "b.cu")


def test_the_halves_depend_on_nothing_of_each_other() -> None:
    after = {edge.name: edge.after for edge in edges(read("two"), "key", "cuda.cu", "job", Path("/scratch"))}
    assert after == {
        "job.id": (),
        "job.host-0": ("job.id",),
        "job.host-1": ("job.host-0",),
        "job.device-0": ("job.id",),
        **{f"job.device-{number}": (f"job.device-{number - 1}",) for number in range(1, 6)},
        "job.join-0": ("job.host-1", "job.device-5"),
        "job.join-1": ("job.join-0",),
    }


@pytest.mark.parametrize(
    "output",
    [
        listed("ptx"),
        listed("one").replace("#$ ptxas", "#$ newtool"),
        listed("one").replace("#$ ptxas", "ptxas"),
        listed("one").replace("--gen_module_id_file ", ""),
        listed("one") + "#$ gcc -c -x c++ again.cpp\n",
        "nvcc fatal   : Unknown option '-x'\n",
        "",
    ],
)
def test_what_is_not_known_is_left_to_nvcc(output: str) -> None:
    assert read_dryrun(output, ARGV) is None


@pytest.mark.parametrize("flag", ["-rdc=true", "-dc", "--relocatable-device-code=true", "-dlto"])
def test_separate_compilation_is_left_to_nvcc(flag: str) -> None:
    assert read_dryrun(listed("one"), (*ARGV, flag)) is None


def run(passes: Passes, folder: Path) -> CommandResult:
    job = Job("cuda.o", edges(passes, "key", "cuda.cu", "cuda.o", folder))
    graph = GraphRun(PlainRunner(), folder, {"PATH": "/usr/local/bin:/usr/bin:/bin"}, [job], 1)
    try:
        deadline = time.monotonic() + 300
        while not (ended := graph.wait(0.02)):
            assert time.monotonic() < deadline
        return ended[0].result
    finally:
        graph.close()


def stand_in(host: tuple[str, ...], device: tuple[str, ...], join: tuple[str, ...] = ("true",)) -> Passes:
    return Passes((("WORD", "a b"),), '"id"', host, device, join)


def test_both_halves_run_at_the_same_time(tmp_path: Path) -> None:
    host = "sh -c 'touch host; for i in $(seq 2000); do [ -e device ] && exit 0; sleep 0.05; done; exit 1'"
    device = "sh -c 'touch device; for i in $(seq 2000); do [ -e host ] && exit 0; sleep 0.05; done; exit 1'"
    done = run(stand_in((host,), (device,), ("sh -c 'echo \"$WORD\" > joined'",)), tmp_path)
    assert done.code == 0, done.output
    assert (tmp_path / "joined").read_text() == "a b\n"
    assert (tmp_path / "id").read_text().endswith(tuple("0123456789abcdef"))


def test_a_failing_host_pass_ends_the_device_and_alone_is_heard(tmp_path: Path) -> None:
    device = ("sh -c 'echo heard; touch begun; exec sleep 600'", "sh -c 'echo never > late'")
    host = "sh -c 'while [ ! -e begun ]; do sleep 0.05; done; echo wrong; exit 3'"
    done = run(stand_in((host,), device), tmp_path)  # which waits for less than the device's pass takes
    assert (done.code, done.output) == (3, "wrong\n")
    assert not (tmp_path / "late").exists()


def test_a_failing_device_pass_is_heard_after_the_host(tmp_path: Path) -> None:
    passes = stand_in(("sh -c 'sleep 0.3; echo first'",), ("sh -c 'echo second >&2; exit 2'", "echo third"), ("touch joined",))
    done = run(passes, tmp_path)
    assert (done.code, done.output) == (2, "first\nsecond\n")
    assert not (tmp_path / "joined").exists()


def test_a_quote_that_is_left_open_is_the_pass_s_own(tmp_path: Path) -> None:
    done = run(stand_in(("true",), ('true "', "touch late")), tmp_path)
    assert done.code not in (0, None)
    assert not (tmp_path / "late").exists()


PLAIN_CU = "namespace { __global__ void twice(float* x) { x[threadIdx.x] *= 2; } }\nvoid go(float* x) { twice<<<1, 32>>>(x); }\n"


OF_TWO = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-O1")


@pytest.mark.build
@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (PLAIN_CU, ("-arch=sm_90a", "-ccbin", shutil.which("g++") or "g++")),
        (PLAIN_CU, OF_TWO),
        (PLAIN_CU.replace("2;", "wrong;"), ("-arch=sm_90a",)),
        (PLAIN_CU.replace(">>>(x)", ">>>(y)"), OF_TWO),
    ],
)
def test_real_passes_end_as_nvcc_does(text: str, flags: tuple[str, ...], cuda_machine: Toolchain, tmp_path: Path) -> None:
    assert cuda_machine.nvcc is not None
    (tmp_path / "cuda.cu").write_text(text)
    argv = (*cuda_machine.nvcc.command, *flags, "-c", "cuda.cu", "-o", "cuda.o")
    nvcc = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    made = (tmp_path / "cuda.o").read_bytes() if nvcc.returncode == 0 else b""
    dryrun = subprocess.run((argv[0], "--dryrun", *argv[1:]), cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    passes = read_dryrun(dryrun.stderr, argv)
    assert passes is not None
    own = run(passes, tmp_path)
    assert (own.code == 0) == (nvcc.returncode == 0)
    if made:
        assert abs(len((tmp_path / "cuda.o").read_bytes()) - len(made)) < 256
    else:
        assert own.output == nvcc.stderr + nvcc.stdout
