"""The recorder's switch: launches of the submission's own are left out, and nobody else's. A library stands for CUDA's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.options import RECORDER
from evaluator.judge.launches import LaunchTable
from evaluator.result import KernelLimits, LaunchRecord

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


LIMITED = """
typedef struct { unsigned long shared, constant, local; int threads, registers, ptx, binary, cache, dynamic, rest[64]; } attributes_t;
static int error;
int cudaPeekAtLastError(void) { return error; }
int cudaGetLastError(void) { int was = error; error = 0; return was; }
int cudaFuncGetAttributes(attributes_t *found, const char *kernel) {
    if (*kernel != 'k') return error = 98;
    *found = (attributes_t){1024, 0, 48, 640, 90, 0, 0, 0, 49152, {0}};
    return 0;
}
"""
LAUNCHER = """
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
typedef struct { int id, padding; extent_t cluster; char rest[52]; } attribute_t;
typedef struct { extent_t grid, block; size_t shared; void *stream; attribute_t *attributes; unsigned count; } config_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaLaunchKernelExC(const config_t *, const void *, void **);
int cudaPeekAtLastError(void);
int launch_limited(void) {
    attribute_t attribute = {4, 0, {8, 1, 1}, {0}};
    config_t config = {{16, 1, 1}, {128, 1, 1}, 2048, NULL, &attribute, 1};
    volatile int codes = 0;
    volatile int times = 2;  /* so that there is one place that launches */
    for (int i = 0; i < times; ++i) codes += cudaLaunchKernel("k", config.grid, config.block, NULL, 0, NULL);
    codes += cudaLaunchKernel("unknown", config.grid, config.block, NULL, 0, NULL);
    codes += cudaLaunchKernelExC(&config, "kx", NULL);
    return codes + 100 * cudaPeekAtLastError();
}
"""
HANGING = """
#include <unistd.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { if (*k == 'u') _exit(3); return 0; }
int cudaLaunchKernelExC(const void *c, const void *k, void **a) { return 0; }
"""


def recorded(folder: Path, recorder: Path, runtime: str, **environment: str) -> tuple[int, str, list[LaunchRecord]]:
    """Exit code, output, and records by position of the first launch, of a process that launches with this runtime."""
    for name, source, more in (("limited", runtime + LIMITED, []), ("launcher", LAUNCHER, [str(folder / "limited.so")])):
        (folder / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-w", f"{name}.c", *more, "-o", f"{name}.so", "-ldl"], cwd=folder, check=True)
    table = LaunchTable()
    script = f"""
import ctypes, os
recorder = ctypes.CDLL(None)
recorder.assay_recorder_attach({table.descriptor}, ctypes.c_size_t(os.fstat({table.descriptor}).st_size))
ctypes.CDLL("{folder}/limited.so", ctypes.RTLD_GLOBAL)
print(ctypes.CDLL("{folder}/launcher.so").launch_limited())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "LD_PRELOAD": str(recorder), **environment},
        capture_output=True,
        text=True,
        check=False,
        pass_fds=[table.descriptor],
    )
    records = list(table.read())
    table.close()
    return done.returncode, done.stdout.strip() or done.stderr, records


def test_limits_clusters_and_the_last_launch_are_recorded(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, said, (known, unknown, clustered) = recorded(tmp_path, parts[0], RUNTIME)
    assert (code, said) == (0, "28"), said  # four refusals with 7, and no error of the recorder's own
    assert known.limits == KernelLimits(
        registers=90, static_shared_bytes=1024, local_bytes=48, max_threads=640, max_dynamic_shared_bytes=49152
    )
    assert (known.count, known.first, known.last, known.cluster) == (2, 0, 1, None)
    assert unknown.limits is None
    assert (clustered.cluster, clustered.grid, clustered.shared_bytes) == ((8, 1, 1), (16, 1, 1), 2048)


def test_a_launch_that_does_not_come_back_is_pending_where_launches_wait(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, _, records = recorded(tmp_path, parts[0], HANGING, CUDA_LAUNCH_BLOCKING="1")
    assert code == 3
    assert [(item.kernel, item.count, item.block) for item in records if item.pending] == [("?", 0, (128, 1, 1))]
    code, _, records = recorded(tmp_path, parts[0], HANGING)
    assert (code, {item.pending for item in records}) == (3, {False})
