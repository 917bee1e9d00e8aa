"""The recorder's switch: launches of the submission's own are left out, and nobody else's. A library stands for CUDA's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.warm_parents import RECORDER
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.results.evidence import KernelLimits, LaunchRecord

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
LAPS = 1024
"""Of launch_clock.h."""


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
    launches = re.findall(r"= \(launch_t\)next\(", text)
    assert len(launches) == len(re.findall(r"if \(left_out\(__builtin_return_address\(0\), kernel, [01]\)\)", text)) == 5


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


def recorded(
    folder: Path, recorder: Path, runtime: str, launcher: str = LAUNCHER, **environment: str
) -> tuple[int, str, list[LaunchRecord]]:
    """Exit code, output, and records by position of the first launch, of a process that launches with this runtime."""
    for name, source, more in (("limited", runtime, []), ("launcher", launcher, [str(folder / "limited.so")])):
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
        timeout=60,
        pass_fds=[table.descriptor],
    )
    records = list(table.read())
    table.close()
    return done.returncode, done.stdout.strip() or done.stderr, records


def test_limits_clusters_and_the_last_launch_are_recorded(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, said, (known, unknown, clustered) = recorded(tmp_path, parts[0], RUNTIME + LIMITED)
    assert (code, said) == (0, "28"), said  # four refusals with 7, and no error of the recorder's own
    assert known.limits == KernelLimits(
        registers=90, static_shared_bytes=1024, local_bytes=48, max_threads=640, max_dynamic_shared_bytes=49152
    )
    assert (known.count, known.first, known.last, known.cluster) == (2, 0, 1, None)
    assert unknown.limits is None
    assert (clustered.cluster, clustered.grid, clustered.shared_bytes) == ((8, 1, 1), (16, 1, 1), 2048)


def test_a_launch_that_does_not_come_back_is_pending_where_launches_wait(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, _, records = recorded(tmp_path, parts[0], HANGING + LIMITED, CUDA_LAUNCH_BLOCKING="1")
    assert code == 3
    assert [(item.kernel, item.count, item.block) for item in records if item.pending] == [("?", 0, (128, 1, 1))]
    code, _, records = recorded(tmp_path, parts[0], HANGING + LIMITED)
    assert (code, {item.pending for item in records}) == (3, {False})


HANGING_LATER = """
#include <unistd.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { if (g.x == 3) _exit(3); return 0; }
"""
LAUNCHING_OFTEN = """
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int launch_limited(void) {
    volatile int codes = 0;
    codes += cudaLaunchKernel("other", (extent_t){9, 9, 9}, (extent_t){8, 1, 1}, NULL, 0, NULL);
    for (volatile unsigned i = 1; i < 5; ++i)
        codes += cudaLaunchKernel("k", (extent_t){i, 1, 1}, (extent_t){32 * i, 1, 1}, NULL, 64 * i, NULL);
    return codes;
}
"""


def test_a_kernel_that_hangs_after_it_ran_is_told_of_by_its_last_launch(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, _, (other, hanging) = recorded(tmp_path, parts[0], HANGING_LATER, LAUNCHING_OFTEN, CUDA_LAUNCH_BLOCKING="1")
    assert code == 3
    assert (other.pending, other.first, other.grid) == (False, 0, (9, 9, 9))
    assert (hanging.pending, hanging.count, hanging.first, hanging.last) == (True, 2, 3, 2)
    assert (hanging.grid, hanging.block, hanging.shared_bytes) == ((3, 1, 1), (96, 1, 1), 192)


def test_launches_that_came_back_are_told_of_by_the_first(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    runtime = HANGING_LATER.replace("g.x == 3", "g.x == 99")
    code, _, (_, returned) = recorded(tmp_path, parts[0], runtime, LAUNCHING_OFTEN, CUDA_LAUNCH_BLOCKING="1")
    assert (code, returned.pending, returned.count, returned.first, returned.last) == (0, False, 4, 1, 4)
    assert (returned.grid, returned.block, returned.shared_bytes) == ((1, 1, 1), (32, 1, 1), 64)


LOADING = """
#include <dlfcn.h>
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { return 0; }
int cudaFuncGetName(const char **name, const char *kernel) {  /* loads the kernel's module, and launches what initialises it */
    static int loaded;
    int (*launch)(const char *, extent_t, extent_t, void **, size_t, void *) = dlsym(RTLD_DEFAULT, "cudaLaunchKernel");
    *name = kernel;
    return loaded++ ? 0 : launch("initialises", (extent_t){1, 1, 1}, (extent_t){1, 1, 1}, NULL, 0, NULL);
}
"""


@pytest.mark.parametrize("environment", [{}, {"CUDA_LAUNCH_BLOCKING": "1"}], ids=["launches return", "launches wait"])
def test_cuda_may_launch_while_it_is_asked_for_a_name(environment: dict[str, str], parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, said, records = recorded(tmp_path, parts[0], LOADING, LAUNCHING_OFTEN, **environment)
    assert code == 0, said
    assert {item.kernel: item.count for item in records} == {"other": 1, "k": 4, "initialises": 1}


DRIVER = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* A kernel of a library begins with L; whoever takes it for a function goes down, and the other way round. */
static char kernel[16] = "Lone", function[16] = "Fone";
int cuLaunchKernel(const char *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *t,
                   void **a, void **e) { return 0; }
int cuLibraryGetKernel(char **found, void *library, const char *name) { *found = kernel; return *name == 'o' ? 0 : 500; }
int cuLibraryGetKernelCount(unsigned *count, void *library) { *count = 1; return 0; }
int cuLibraryEnumerateKernels(char **found, unsigned count, void *library) { *found = kernel; return 0; }
int cuLibraryUnload(void *library) { memcpy(kernel, "Ftwo", 4); return 0; }
int cuKernelGetFunction(char **found, const char *k) { if (*k != 'L') abort(); *found = function; return 0; }
int cuKernelGetName(const char **name, const char *k) { if (*k != 'L') abort(); *name = "of_a_library"; return 0; }
int cuFuncGetName(const char **name, const char *f) { if (*f != 'F') abort(); *name = f; return 0; }
int cuFuncGetAttribute(int *value, int attribute, const char *f) { if (*f != 'F') abort(); *value = 10 * attribute + 1; return 0; }
"""
LIBRARY_LAUNCHER = """
#include <dlfcn.h>
#include <stddef.h>
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLibraryGetKernel(void **, void *, const char *);
int cuLibraryEnumerateKernels(void **, unsigned, void *);
int cuLibraryUnload(void *);
int launch_limited(void) {
    void *found[4] = {NULL, "not a kernel", NULL, NULL};
    volatile int codes = GET;
    codes += cuLaunchKernel(found[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += cuLibraryUnload("library");
    codes += cuLaunchKernel(found[0], 2, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return codes;
}
"""


@pytest.mark.parametrize(
    "get",
    [
        'cuLibraryGetKernel(found, "library", "one")',
        'cuLibraryEnumerateKernels(found, 4, "library")',
        '((int (*)(void **, void *, const char *))dlsym(RTLD_DEFAULT, "cuLibraryGetKernel"))(found, "library", "one")',
    ],
    ids=["linked", "enumerated", "by name"],
)
def test_a_kernel_of_a_library_is_not_taken_for_a_function(get: str, parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, said, (kernel, function) = recorded(tmp_path, parts[0], DRIVER, LIBRARY_LAUNCHER.replace("GET", get))
    assert (code, said) == (0, "0"), said
    assert (kernel.kernel, function.kernel) == ("of_a_library", "Ftwo")
    limits = KernelLimits(registers=41, static_shared_bytes=11, local_bytes=31, max_threads=1, max_dynamic_shared_bytes=81)
    assert kernel.limits == function.limits == limits


CLOCKED = """
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
static float now_ms;
static int made, error, captured;
int events(void) { return made; }
int cudaEventCreate(float **event) { static float room[4096]; *event = &room[made++]; return 0; }
int cudaEventRecord(float *event, void *stream) { if (stream == (void *)9) return error = 400; *event = now_ms; return 0; }
int cudaEventElapsedTime(float *ms, float *start, float *end) { *ms = *end - *start; return 0; }
int cudaStreamIsCapturing(void *stream, int *status) { *status = stream == (void *)8; return 0; }
int cudaPeekAtLastError(void) { return error; }
int cudaGetLastError(void) { int was = error; error = 0; return was; }
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { now_ms += g.x; return g.y > 1 ? 9 : 0; }
"""
CLOCKING = """
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaPeekAtLastError(void);
int events(void);
void assay_recorder_clock(int);
void assay_recorder_laps(void);
int launch_limited(void) {
    static const extent_t one = {1, 1, 1};
    for (volatile int round = 0; round < 3; ++round) {  /* before the clock runs, while it does, and after it */
        if (round == 1) assay_recorder_clock(1);
        for (volatile unsigned i = 0; i < MANY; ++i) cudaLaunchKernel("three", (extent_t){3, 1, 1}, one, NULL, 0, NULL);
        cudaLaunchKernel("refused", (extent_t){5, 2, 1}, one, NULL, 0, NULL);
        cudaLaunchKernel("captured", (extent_t){5, 1, 1}, one, NULL, 0, (void *)8);
        cudaLaunchKernel("unknown stream", (extent_t){5, 1, 1}, one, NULL, 0, (void *)9);
        if (round == 1) assay_recorder_clock(0), assay_recorder_laps(), assay_recorder_laps();
    }
    return 10000 * cudaPeekAtLastError() + events();
}
"""


def test_the_clock_times_launches_while_it_runs(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, said, records = recorded(tmp_path, parts[0], CLOCKED, CLOCKING.replace("MANY", "7"))
    assert (code, said) == (0, str(2 * LAPS)), said  # no error is left behind, and no event is made twice
    assert [(item.count, item.timed, item.device_ms) for item in records] == [(21, 7, 21.0), (3, 0, 0.0), (3, 0, 0.0), (3, 0, 0.0)]


def test_launches_beyond_the_clocks_laps_go_untimed(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    code, _, records = recorded(tmp_path, parts[0], CLOCKED, CLOCKING.replace("MANY", str(LAPS + 1)))
    assert (code, records[0].count, records[0].timed, records[0].device_ms) == (0, 3 * (LAPS + 1), LAPS, 3.0 * LAPS)


def test_a_process_without_events_is_not_timed(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    launcher = CLOCKING.replace("MANY", "7").replace("events()", "0").replace("int events(void);", "")
    code, said, records = recorded(tmp_path, parts[0], CLOCKED.replace("cudaEventElapsedTime", "nothing"), launcher)
    assert (code, said, records[0].count, records[0].timed) == (0, "0", 21, 0)
