import subprocess
from pathlib import Path

import pytest

from evaluator.build.fast.passes import Passes, read_dryrun, script
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


def test_architectures_follow_each_other() -> None:
    assert tools(read("two").device) == ["gcc", "cicc", "ptxas", "gcc", "cicc", "ptxas"]


def test_the_name_of_the_file_is_written_beforehand_and_read_by_both() -> None:
    passes = read("one")
    assert not any("--gen_module_id_file" in step for step in passes.host)
    assert all(passes.module_id_file in step for step in (passes.host[1], passes.device[1]))
    assert f"> {passes.module_id_file}" in script(passes, "key", "cuda.cu")


def test_internal_names_differ_between_files_and_not_between_builds() -> None:
    passes = read("one")
    assert script(passes, "key", "a.cu") == script(passes, "key", "a.cu")
    assert script(passes, "key", "a.cu") != script(passes, "key", "b.cu") != script(passes, "other", "b.cu")


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


def run(folder: Path, host: tuple[str, ...], device: tuple[str, ...], join: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    made = script(Passes((("WORD", "a b"),), '"id"', host, device, join), "key", "cuda.cu")
    return subprocess.run(["/bin/sh", "-c", made], cwd=folder, capture_output=True, text=True, timeout=20, check=False)


def test_both_halves_run_at_the_same_time(tmp_path: Path) -> None:
    host = "sh -c 'touch host; for i in $(seq 100); do [ -e device ] && exit 0; sleep 0.05; done; exit 1'"
    device = "sh -c 'touch device; for i in $(seq 100); do [ -e host ] && exit 0; sleep 0.05; done; exit 1'"
    done = run(tmp_path, (host,), (device,), ("sh -c 'echo \"$WORD\" > joined'",))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "joined").read_text() == "a b\n"
    assert (tmp_path / "id").read_text().endswith(tuple("0123456789abcdef"))


def test_a_failing_host_pass_ends_the_device_and_alone_is_heard(tmp_path: Path) -> None:
    done = run(tmp_path, ("sh -c 'sleep 0.3; echo wrong; exit 3'",), ("sleep 15", "sh -c 'echo never > late'"))
    assert (done.returncode, done.stdout) == (3, "wrong\n")
    assert not (tmp_path / "late").exists()


def test_a_failing_device_pass_is_heard_after_the_host(tmp_path: Path) -> None:
    done = run(tmp_path, ("echo first",), ("sh -c 'echo second >&2; exit 2'", "echo third"), ("sh -c 'echo joined > joined'",))
    assert (done.returncode, done.stdout) == (2, "first\nsecond\n")
    assert not (tmp_path / "joined").exists()


PLAIN_CU = "namespace { __global__ void twice(float* x) { x[threadIdx.x] *= 2; } }\nvoid go(float* x) { twice<<<1, 32>>>(x); }\n"


@pytest.mark.build
@pytest.mark.parametrize(
    "flags", [("-arch=sm_90a",), ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-O1")]
)
@pytest.mark.parametrize("text", [PLAIN_CU, PLAIN_CU.replace("2;", "wrong;"), PLAIN_CU.replace(">>>(x)", ">>>(y)")])
def test_real_passes_end_as_nvcc_does(text: str, flags: tuple[str, ...], cuda_machine: Toolchain, tmp_path: Path) -> None:
    assert cuda_machine.nvcc is not None
    (tmp_path / "cuda.cu").write_text(text)
    argv = (*cuda_machine.nvcc.command, *flags, "-c", "cuda.cu", "-o", "cuda.o")
    nvcc = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    made = (tmp_path / "cuda.o").read_bytes() if nvcc.returncode == 0 else b""
    dryrun = subprocess.run((argv[0], "--dryrun", *argv[1:]), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    passes = read_dryrun(dryrun.stderr, argv)
    assert passes is not None
    own = subprocess.run(["/bin/sh", "-c", script(passes, "k", "cuda.cu")], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (own.returncode == 0) == (nvcc.returncode == 0)
    if made:
        assert abs(len((tmp_path / "cuda.o").read_bytes()) - len(made)) < 256
    else:
        assert own.stdout == nvcc.stderr + nvcc.stdout
