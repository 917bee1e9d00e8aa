"""The recorder's switch: launches of the submission's own are left out, and nobody else's. A library stands for CUDA's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.options import RECORDER

RUNTIME = """
typedef struct { unsigned x, y, z; } extent_t;
static int launched;
int launches(void) { return launched; }
int cudaLaunchKernel(const void *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { ++launched; return 7; }
int __cudaLaunchKernel(const void *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { ++launched; return 7; }
int cudaLaunchCooperativeKernel(const void *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { ++launched; return 7; }
int cudaLaunchKernelExC(const void *c, const void *k, void **a) { ++launched; return 7; }
int cuLaunchKernel(void *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *t, void **a,
                   void **e) { ++launched; return 7; }
int cuLaunchKernelEx(const void *c, void *k, void **a, void **e) { ++launched; return 7; }
"""
CALLER = """
#include <dlfcn.h>
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int __cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaLaunchCooperativeKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaLaunchKernelExC(const void *, const void *, void **);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernelEx(const void *, void *, void **, void **);
static const extent_t one = {1, 1, 1};
static int config[32];
int launch_all(void) {
    volatile int codes = 0;  /* used after each call, so that none becomes a jump */
    codes += cudaLaunchKernel("k", one, one, NULL, 0, NULL);
    codes += __cudaLaunchKernel("k", one, one, NULL, 0, NULL);
    codes += cudaLaunchCooperativeKernel("k", one, one, NULL, 0, NULL);
    codes += cudaLaunchKernelExC(config, "k", NULL);
    codes += cuLaunchKernel("k", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += cuLaunchKernelEx(config, "k", NULL, NULL);
    return codes;
}
int launch_found(const char *path) {  /* as Triton's launchers find the driver's */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    volatile int codes = 0;
    codes += ((int (*)(const char *, int, int, int, int, int, int, int, void *, void *, void *))dlsym(library, "cuLaunchKernel"))
        ("k", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += ((int (*)(const void *, const char *, void *, void *))dlsym(library, "cuLaunchKernelEx"))(config, "k", NULL, NULL);
    return codes + (dlsym(library, "cuLaunchNothing") != NULL) + (dlsym(RTLD_NEXT, "getpid") == NULL);
}
"""
SCRIPT = """
import ctypes, sys
runtime, caller = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[1:3])
counts = []
for _ in range(2):
    codes = [caller.launch_all() for _ in range(3)]
    counts.append((codes, runtime.launches()))
    ctypes.CDLL(None).assay_recorder_ablate()
print(counts)
"""
APIS = 6


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The recorder, a runtime that refuses every launch with code 7 and counts it, and a library that launches in every way."""
    folder = tmp_path_factory.mktemp("recorder")
    for name, source, more in (("runtime", RUNTIME, []), ("caller", CALLER, [str(folder / "runtime.so")])):
        (folder / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-w", f"{name}.c", *more, "-o", f"{name}.so", "-ldl"], cwd=folder, check=True)
    return compile_native(RECORDER, folder), folder / "runtime.so", folder / "caller.so"


def launch(recorder: Path, runtime: Path, caller: str) -> str:
    command = [sys.executable, "-c", SCRIPT, str(runtime), caller]
    done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(recorder)}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_launches_of_the_submissions_own_are_left_out(parts: tuple[Path, Path, Path]) -> None:
    recorder, runtime, caller = parts
    assert launch(recorder, runtime, str(caller)) == f"[([42, 42, 42], {3 * APIS}), ([0, 0, 0], {3 * APIS})]"


def test_the_drivers_launches_are_seen_by_whatever_way_they_are_found(parts: tuple[Path, Path, Path]) -> None:
    recorder, runtime, caller = parts
    hidden = runtime.with_name("hidden.so")  # which nothing has linked
    hidden.write_bytes(runtime.read_bytes())
    script = f"""
import ctypes, os, sys
recorder, caller = ctypes.CDLL(None), ctypes.CDLL({str(caller)!r})
table = os.memfd_create("table")
os.ftruncate(table, 1 << 20)
recorder.assay_recorder_attach(table, ctypes.c_size_t(1 << 20))
codes = [caller.launch_found({str(hidden)!r}.encode())]
recorder.assay_recorder_ablate()
codes.append(caller.launch_found({str(hidden)!r}.encode()))
print(*codes, ctypes.CDLL({str(hidden)!r}).launches(), int.from_bytes(os.pread(table, 8, 0), "little"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "LD_PRELOAD": str(recorder)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["14", "0", "2", "2"]


def test_launches_of_others_take_place(parts: tuple[Path, Path, Path]) -> None:
    recorder, runtime, caller = parts
    elsewhere = Path(os.path.relpath(caller, "/")).as_posix()  # no path of the kind that a submission's objects have
    command = f"cd / && exec {sys.executable} -c '{SCRIPT}' {runtime} ./{elsewhere}"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "LD_PRELOAD": str(recorder)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"[([42, 42, 42], {3 * APIS}), ([42, 42, 42], {6 * APIS})]"


def test_every_launch_that_is_recorded_can_be_left_out() -> None:
    text = RECORDER.read_text(encoding="utf-8")
    assert len(re.findall(r"= \(launch_t\)next\(", text)) == len(re.findall(r"if \(left_out\(__builtin_return_address\(0\)\)\)", text)) == 4
