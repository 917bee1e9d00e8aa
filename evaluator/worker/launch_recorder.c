/* Records kernel launches: the launching shared object, the kernel, the launch's shape, and the runtime's result.
 *
 * Preloaded into the worker's process. It forwards every launch. `assay_recorder_attach` gives it a table in shared memory (a memfd that
 * the judge reads, also after a crash). It counts launches there: one record per kernel and calling address.
 * After `assay_recorder_ablate(1)`, launches from the submission's own objects return success without running, except those of a
 * vendor's kernels, until `assay_recorder_ablate(0)`.
 * `kernel<<<>>>` compiles to __cudaLaunchKernel in CUDA 13 and to cudaLaunchKernel before; the caller's address gives the object.
 * Code that looks up the driver's launch function gets this one instead: through the linker (`dlsym`), as in Triton's launchers, and
 * through the driver (`cuGetProcAddress`), as in NVIDIA's Python bindings and in CuTe DSL's runtime. whose_kernel.h decides whose a
 * driver-launched kernel is.
 * evaluator/judge/workers/launch_table.py reads the table's layout. launch_clock.h measures launches on request. launch_graphs.h records
 * kernel nodes of graphs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct { unsigned x, y, z; } extent_t;

typedef struct {
    uint64_t count, first, last, shared_bytes;
    uint32_t grid[3], block[3], cluster[3];
    int32_t code;
    uint32_t side_stream; /* whether any launch used another stream than the default one */
    int32_t registers, static_shared_bytes, local_bytes, max_threads, max_shared_bytes; /* of own kernels; registers 0: not known */
    /* Launches that have not returned, if launches wait for their kernels (CUDA_LAUNCH_BLOCKING), and the arguments of the latest. */
    uint32_t pending, pending_grid[3], pending_block[3], unused;
    uint64_t pending_position, pending_shared_bytes;
    uint64_t timed, device_ns; /* number of measured launches, and their total time on the device */
    char api[32], kernel[256], object[256];
} record_t;

typedef struct { uint64_t total, used; record_t records[]; } table_t;

typedef struct { const void *kernel, *caller; record_t *record; } slot_t;

/* The kernel of a record, and its function in the driver, NULL if it was not needed yet. */
typedef struct { const void *kernel, *function; } recorded_t;

enum { SLOTS = 4096, RECORDS = 1024 };

static table_t *table;
static int blocking; /* whether launches wait for their kernels */
static uint64_t capacity;
static slot_t slots[SLOTS];
static recorded_t recorded[RECORDS]; /* in the order of the table's records */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void assay_recorder_attach(int descriptor, size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return;
    capacity = (bytes - sizeof(table_t)) / sizeof(record_t);
    if (capacity > RECORDS) capacity = RECORDS;
    const char *wait = getenv("CUDA_LAUNCH_BLOCKING");
    blocking = wait && strcmp(wait, "1") == 0;
    table = memory;
}

/* Possible paths of the submission's shared objects: OWN_PREFIXES of evaluator/worker/origin.py, and installed folders below them. */
static const char *const own_prefixes[] = {"/proc/self/fd/", "/tmp/", "/dev/shm/", "/memfd:"};
enum { INSTALLED = 64 };
static char *installed[INSTALLED];
static int installed_count;

void assay_recorder_installed(const char *folder) {
    if (installed_count < INSTALLED) installed[installed_count++] = strdup(folder);
}

static int starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int is_own_path(const char *path) {
    for (int i = 0; i < installed_count; ++i)
        if (starts_with(path, installed[i])) return 0;
    for (size_t i = 0; i < sizeof own_prefixes / sizeof *own_prefixes; ++i)
        if (starts_with(path, own_prefixes[i])) return 1;
    return 0;
}

enum { CALLERS = 1024 };

static atomic_int ablating;
static _Atomic uintptr_t callers[CALLERS]; /* an address that has launched, shifted left by one; lowest bit: it is the submission's own */

void assay_recorder_ablate(int leaves_out) {
    atomic_store(&ablating, leaves_out);
}

static int is_own(const void *caller) {
    uintptr_t address = (uintptr_t)caller;
    _Atomic uintptr_t *known = &callers[(address >> 2) % CALLERS];
    uintptr_t entry = atomic_load_explicit(known, memory_order_relaxed);
    if (entry >> 1 == address) return entry & 1;
    Dl_info who = {0};
    uintptr_t own = dladdr(caller, &who) && who.dli_fname && is_own_path(who.dli_fname);
    atomic_store_explicit(known, address << 1 | own, memory_order_relaxed);
    return own;
}

typedef void *(*lookup_t)(void *, const char *);

/* The dlsym that this file's one hides. */
static lookup_t real_dlsym(void) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static lookup_t real;
    for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; ++i) real = (lookup_t)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return real;
}

static const char UNNAMED[] = "?";

static void copy(char *to, size_t size, const char *from) {
    strncpy(to, from ? from : UNNAMED, size - 1);
}

/* A function of the driver, which the runtime loads with local symbols. */
static void *driver_symbol(const char *name) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return real_dlsym()(library ? library : RTLD_DEFAULT, name);
}

/* Library kernels (CUkernel) that were handed out here: only launches accept them instead of functions. */
enum { KERNELS = 4096 };
typedef struct { const void *kernel, *library; } known_kernel_t;
static known_kernel_t kernels[KERNELS];
static unsigned kernel_count;
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember_kernel(const void *kernel, const void *library) {
    pthread_mutex_lock(&kernels_lock);
    unsigned at = 0;
    while (at < kernel_count && kernels[at].kernel != kernel) ++at;
    if (kernel && at < KERNELS) kernels[at] = (known_kernel_t){kernel, library};
    if (kernel && at == kernel_count && at < KERNELS) ++kernel_count;
    pthread_mutex_unlock(&kernels_lock);
}

/* Functions may get its addresses later. */
static void forget_kernels(const void *library) {
    pthread_mutex_lock(&kernels_lock);
    unsigned kept = 0;
    for (unsigned at = 0; at < kernel_count; ++at)
        if (kernels[at].library != library) kernels[kept++] = kernels[at];
    kernel_count = kept;
    pthread_mutex_unlock(&kernels_lock);
}

static int is_library_kernel(const void *function) {
    pthread_mutex_lock(&kernels_lock);
    unsigned at = 0;
    while (at < kernel_count && kernels[at].kernel != function) ++at;
    int known = at < kernel_count;
    pthread_mutex_unlock(&kernels_lock);
    return known;
}

static const char *mangled_name(const void *kernel, int driver_api) {
    typedef int (*get_name_t)(const char **, const void *);
    get_name_t get_name = driver_api ? (get_name_t)driver_symbol(is_library_kernel(kernel) ? "cuKernelGetName" : "cuFuncGetName")
                                     : (get_name_t)real_dlsym()(RTLD_DEFAULT, "cudaFuncGetName");
    const char *name = NULL;
    return get_name && get_name(&name, kernel) == 0 ? name : NULL;
}

typedef char *(*demangle_t)(const char *, char *, size_t *, int *);

/* PyTorch loads the C++ library with local symbols, so the default lookup misses it; NULL before it is loaded. */
static demangle_t demangler(void) {
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return library ? (demangle_t)real_dlsym()(library, "__cxa_demangle") : NULL;
}

static void name_kernel(char *to, size_t size, const void *kernel, int driver_api) {
    demangle_t demangle = demangler();
    const char *name = mangled_name(kernel, driver_api);
    if (!name) return;
    int status = -1;
    char *readable = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    copy(to, size, status == 0 ? readable : name);
    free(readable);
}

#include "whose_kernel.h"

/* Whether a kernel of this name, launched from this address, is the submission's own. */
static int is_own_kernel(const char *name, const void *caller, int driver_api) {
    return driver_api ? !is_others(name) && (is_own(caller) || (is_named(name) && !is_library(caller))) : is_own(caller);
}

/* Whether a launch from this address must not run. */
static int left_out(const void *caller, const void *kernel, int driver_api) {
    char name[4096] = {0}; /* long enough for any namespace around a library's */
    if (!atomic_load_explicit(&ablating, memory_order_relaxed)) return 0;
    if (driver_api || is_own(caller)) name_kernel(name, sizeof name, kernel, driver_api);
    return is_own_kernel(name, caller, driver_api) && !is_vendors(name);
}

/* The record of this kernel and caller, made without a name if there is none; NULL if the table is full. */
static record_t *find(const char *api, const void *kernel, const void *caller) {
    uintptr_t at = ((uintptr_t)kernel >> 4) * 31 + ((uintptr_t)caller >> 2);
    for (int probe = 0; probe < SLOTS; ++probe) {
        slot_t *slot = &slots[(at + probe) % SLOTS];
        if (slot->kernel == kernel && slot->caller == caller) return slot->record;
        if (slot->kernel) continue;
        if (table->used >= capacity) return NULL;
        recorded[table->used].kernel = kernel;
        record_t *record = &table->records[table->used++];
        Dl_info who = {0};
        dladdr(caller, &who);
        copy(record->api, sizeof record->api, api);
        copy(record->object, sizeof record->object, who.dli_fname);
        copy(record->kernel, sizeof record->kernel, NULL);
        *slot = (slot_t){kernel, caller, record};
        return record;
    }
    return NULL;
}

/* cudaStreamLegacy and cudaStreamPerThread, the largest value of a default stream. */
#define PER_THREAD_STREAM ((void *)2)

/* The arguments of a launch. */
typedef struct {
    const char *api;
    const void *kernel, *caller;
    void *stream;
    int driver_api;
    extent_t grid, block, cluster;
    size_t shared_bytes;
} asked_t;

/* The leading members of cudaFuncAttributes. */
typedef struct {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_shared_bytes, rest[64];
} attributes_t;

static void *runtime_symbol(const char *name) {
    return real_dlsym()(RTLD_DEFAULT, name);
}

/* The runtime's limits on launches of a kernel; if it fails to tell them, the error is cleared, so the submission does not see it. */
static void read_limits(record_t *record, const void *kernel, int driver_api) {
    typedef int (*driver_attribute_t)(int *, int, const void *);
    typedef int (*runtime_attributes_t)(attributes_t *, const void *);
    typedef int (*error_t)(void);
    attributes_t found = {0};
    if (driver_api) {
        if (is_library_kernel(kernel)) {
            typedef int (*function_of_t)(const void **, const void *);
            function_of_t function_of = (function_of_t)driver_symbol("cuKernelGetFunction");
            if (!function_of || function_of(&kernel, kernel) != 0) return;
        }
        driver_attribute_t get = (driver_attribute_t)driver_symbol("cuFuncGetAttribute");
        int values[9] = {0}; /* CU_FUNC_ATTRIBUTE_…: 0 threads, 1 shared, 3 local, 4 registers, 8 dynamic shared */
        for (int attribute = 0; get && attribute < 9; ++attribute)
            if (get(&values[attribute], attribute, kernel) != 0) return;
        if (!get) return;
        found = (attributes_t){.shared_bytes = values[1], .local_bytes = values[3], .max_threads = values[0], .registers = values[4]};
        found.max_shared_bytes = values[8];
    } else {
        runtime_attributes_t get = (runtime_attributes_t)runtime_symbol("cudaFuncGetAttributes");
        error_t peek = (error_t)runtime_symbol("cudaPeekAtLastError"), clear = (error_t)runtime_symbol("cudaGetLastError");
        if (!get || !peek || !clear) return;
        int before = peek();
        if (get(&found, kernel) != 0) {
            if (before == 0) clear();
            return;
        }
    }
    record->registers = found.registers;
    record->static_shared_bytes = (int32_t)found.shared_bytes;
    record->local_bytes = (int32_t)found.local_bytes;
    record->max_threads = found.max_threads;
    record->max_shared_bytes = found.max_shared_bytes;
}

#include "launch_clock.h"

/* Before a launch. Returns its lap if it is timed. If launches wait for their kernels, it is recorded as pending: it may never return. */
static lap_t *begin(const asked_t *asked) {
    if (!table || !blocking) return begin_lap(asked->stream);
    pthread_mutex_lock(&lock);
    record_t *record = find(asked->api, asked->kernel, asked->caller);
    int is_new = record && record->count == 0 && record->pending == 0;
    if (record) {
        record->pending++;
        record->pending_position = table->total;
        record->pending_shared_bytes = asked->shared_bytes;
        memcpy(record->pending_grid, &asked->grid, sizeof asked->grid);
        memcpy(record->pending_block, &asked->block, sizeof asked->block);
    }
    pthread_mutex_unlock(&lock);
    if (is_new) name_kernel(record->kernel, sizeof record->kernel, asked->kernel, asked->driver_api);
    return begin_lap(asked->stream);
}

static void describe(record_t *record, const asked_t *asked, int code) {
    record->shared_bytes = asked->shared_bytes;
    memcpy(record->grid, &asked->grid, sizeof asked->grid);
    memcpy(record->block, &asked->block, sizeof asked->block);
    memcpy(record->cluster, &asked->cluster, sizeof asked->cluster);
    record->code = code;
}

/* Reads the name and the limits of a record's kernel. CUDA may launch or load while it holds its own locks, so it must not be called while
 * one of this file is held. */
static void identify(record_t *record, const asked_t *asked) {
    if (strcmp(record->kernel, UNNAMED) == 0) name_kernel(record->kernel, sizeof record->kernel, asked->kernel, asked->driver_api);
    if (is_own_kernel(record->kernel, asked->caller, asked->driver_api)) read_limits(record, asked->kernel, asked->driver_api);
}

static void note(const asked_t *asked, int code, lap_t *lap) {
    if (!table) return;
    int timed = end_lap(lap, asked->stream, code);
    pthread_mutex_lock(&lock);
    uint64_t position = table->total++;
    record_t *record = find(asked->api, asked->kernel, asked->caller);
    int is_new = record && record->count == 0;
    if (record) {
        record->last = position;
        if (record->pending) record->pending--;
        if (asked->stream > PER_THREAD_STREAM) record->side_stream = 1;
        if (timed) lap->record = record;
    }
    /* The record shows the first launch, or the first refused one. */
    if (record && (record->count++ == 0 || (code != 0 && record->code == 0))) {
        record->first = position;
        describe(record, asked, code);
    }
    pthread_mutex_unlock(&lock);
    if (is_new) identify(record, asked);
}

/* cudaLaunchAttribute and CUlaunchAttribute: an id, and 64 bytes of a union at an offset of 8. */
typedef struct { int id, padding; extent_t cluster; char rest[64 - sizeof(extent_t)]; } attribute_t;
enum { CLUSTER_DIMENSION = 4, MAX_ATTRIBUTES = 64 };

static extent_t cluster_of(const attribute_t *attributes, unsigned count) {
    for (unsigned i = 0; attributes && i < count && i < MAX_ATTRIBUTES; ++i)
        if (attributes[i].id == CLUSTER_DIMENSION) return attributes[i].cluster;
    return (extent_t){0, 0, 0};
}

static void *next(void **real, const char *name) {
    if (!*real) *real = real_dlsym()(RTLD_NEXT, name);
    if (!*real) { /* the driver, loaded with local symbols */
        void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library) *real = real_dlsym()(library, name);
    }
    return *real;
}

enum { NOT_FOUND = 999 }; /* cudaErrorUnknown */

#define RUNTIME_LAUNCH(name)                                                                                                          \
    int name(const void *kernel, extent_t grid, extent_t block, void **arguments, size_t shared_bytes, void *stream) {                \
        if (left_out(__builtin_return_address(0), kernel, 0)) return 0;                                                               \
        typedef int (*launch_t)(const void *, extent_t, extent_t, void **, size_t, void *);                                           \
        static void *real;                                                                                                            \
        launch_t launch = (launch_t)next(&real, #name);                                                                               \
        const asked_t asked = {#name, kernel, __builtin_return_address(0), stream, 0, grid, block, {0, 0, 0}, shared_bytes};          \
        lap_t *lap = begin(&asked);                                                                                                   \
        int code = launch ? launch(kernel, grid, block, arguments, shared_bytes, stream) : NOT_FOUND;                                 \
        note(&asked, code, lap);                                                                                                      \
        return code;                                                                                                                  \
    }

RUNTIME_LAUNCH(__cudaLaunchKernel)
RUNTIME_LAUNCH(__cudaLaunchKernel_ptsz)
RUNTIME_LAUNCH(cudaLaunchKernel)
RUNTIME_LAUNCH(cudaLaunchKernel_ptsz)
RUNTIME_LAUNCH(cudaLaunchCooperativeKernel)
RUNTIME_LAUNCH(cudaLaunchCooperativeKernel_ptsz)

/* cudaLaunchConfig_t and CUlaunchConfig. */
typedef struct { extent_t grid, block; size_t shared_bytes; void *stream; const attribute_t *attributes; unsigned count; } runtime_config_t;
typedef struct { extent_t grid, block; unsigned shared_bytes; void *stream; const attribute_t *attributes; unsigned count; } driver_config_t;
static const runtime_config_t no_runtime_config;
static const driver_config_t no_driver_config;

#define RUNTIME_LAUNCH_EX(name)                                                                                                       \
    int name(const runtime_config_t *config, const void *kernel, void **arguments) {                                                  \
        if (left_out(__builtin_return_address(0), kernel, 0)) return 0;                                                               \
        typedef int (*launch_t)(const runtime_config_t *, const void *, void **);                                                     \
        static void *real;                                                                                                            \
        launch_t launch = (launch_t)next(&real, #name);                                                                               \
        const runtime_config_t *given = config ? config : &no_runtime_config;                                                         \
        const asked_t asked = {#name, kernel, __builtin_return_address(0), given->stream, 0, given->grid, given->block,               \
                               cluster_of(given->attributes, given->count), given->shared_bytes};                                     \
        lap_t *lap = begin(&asked);                                                                                                   \
        int code = launch ? launch(config, kernel, arguments) : NOT_FOUND;                                                            \
        if (config) note(&asked, code, lap);                                                                                          \
        return code;                                                                                                                  \
    }

RUNTIME_LAUNCH_EX(cudaLaunchKernelExC)
RUNTIME_LAUNCH_EX(cudaLaunchKernelExC_ptsz)

static void *driver_launch, *driver_launch_ex, *driver_launch_cooperative; /* the driver's own, once code has looked them up */

int cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                   void *stream, void **arguments, void **extra) {
    if (left_out(__builtin_return_address(0), kernel, 1)) return 0;
    typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    launch_t launch = (launch_t)next(&driver_launch, "cuLaunchKernel");
    const asked_t asked = {"cuLaunchKernel", kernel, __builtin_return_address(0), stream, 1, {gx, gy, gz}, {bx, by, bz}, {0, 0, 0},
                           shared_bytes};
    lap_t *lap = begin(&asked);
    int code = launch ? launch(kernel, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments, extra) : NOT_FOUND;
    note(&asked, code, lap);
    return code;
}

int cuLaunchKernelEx(const driver_config_t *config, void *kernel, void **arguments, void **extra) {
    if (left_out(__builtin_return_address(0), kernel, 1)) return 0;
    typedef int (*launch_t)(const driver_config_t *, void *, void **, void **);
    launch_t launch = (launch_t)next(&driver_launch_ex, "cuLaunchKernelEx");
    const driver_config_t *given = config ? config : &no_driver_config;
    const asked_t asked = {"cuLaunchKernelEx", kernel, __builtin_return_address(0), given->stream, 1, given->grid, given->block,
                           cluster_of(given->attributes, given->count), given->shared_bytes};
    lap_t *lap = begin(&asked);
    int code = launch ? launch(config, kernel, arguments, extra) : NOT_FOUND;
    if (config) note(&asked, code, lap);
    return code;
}

int cuLaunchCooperativeKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared_bytes, void *stream, void **arguments) {
    if (left_out(__builtin_return_address(0), kernel, 1)) return 0;
    typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
    launch_t launch = (launch_t)next(&driver_launch_cooperative, "cuLaunchCooperativeKernel");
    const asked_t asked = {"cuLaunchCooperativeKernel", kernel, __builtin_return_address(0), stream, 1, {gx, gy, gz}, {bx, by, bz},
                           {0, 0, 0}, shared_bytes};
    lap_t *lap = begin(&asked);
    int code = launch ? launch(kernel, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments) : NOT_FOUND;
    note(&asked, code, lap);
    return code;
}

static void *driver_get_kernel, *driver_enumerate_kernels, *driver_unload; /* likewise */

int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    typedef int (*get_t)(void **, void *, const char *);
    get_t get = (get_t)next(&driver_get_kernel, "cuLibraryGetKernel");
    int code = get ? get(kernel, library, name) : NOT_FOUND;
    if (code == 0 && kernel) remember_kernel(*kernel, library);
    return code;
}

int cuLibraryEnumerateKernels(void **found, unsigned count, void *library) {
    typedef int (*enumerate_t)(void **, unsigned, void *);
    typedef int (*count_t)(unsigned *, void *);
    enumerate_t enumerate = (enumerate_t)next(&driver_enumerate_kernels, "cuLibraryEnumerateKernels");
    count_t count_of = (count_t)driver_symbol("cuLibraryGetKernelCount");
    int code = enumerate ? enumerate(found, count, library) : NOT_FOUND;
    unsigned there = 0;
    if (code != 0 || !count_of || count_of(&there, library) != 0) return code;
    for (unsigned i = 0; found && i < count && i < there; ++i) remember_kernel(found[i], library);
    return code;
}

int cuLibraryUnload(void *library) {
    typedef int (*unload_t)(void *);
    unload_t unload = (unload_t)next(&driver_unload, "cuLibraryUnload");
    forget_kernels(library);
    return unload ? unload(library) : NOT_FOUND;
}

#include "launch_graphs.h"

/* Functions that lookups by name get from here, and where the driver's own, to which they forward, is stored. */
static const struct { const char *name; void *here, **driver; } seen[] = {
    {"cuLaunchKernel", (void *)cuLaunchKernel, &driver_launch},
    {"cuLaunchKernelEx", (void *)cuLaunchKernelEx, &driver_launch_ex},
    {"cuLaunchCooperativeKernel", (void *)cuLaunchCooperativeKernel, &driver_launch_cooperative},
    {"cuLibraryGetKernel", (void *)cuLibraryGetKernel, &driver_get_kernel},
    {"cuLibraryEnumerateKernels", (void *)cuLibraryEnumerateKernels, &driver_enumerate_kernels},
    {"cuLibraryUnload", (void *)cuLibraryUnload, &driver_unload},
    DRIVER_GRAPH_FUNCTIONS,
};

/* This file's function, in place of the driver's `found`, to which it forwards. */
static void *instead(void *found, void **driver, void *here) {
    if (!found) return NULL;
    if (found != here) *driver = found;
    return here;
}

/* The function to return for the driver's `found` of this name. */
static void *seen_instead(const char *name, void *found) {
    for (size_t i = 0; i < sizeof seen / sizeof *seen; ++i)
        if (strcmp(name, seen[i].name) == 0) return instead(found, seen[i].driver, seen[i].here);
    return found;
}

enum { PER_THREAD_FUNCTIONS = 2 }; /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM: functions with another name elsewhere */

static void *driver_get_address, *driver_get_address_v2; /* likewise */

static void *asked_for(const char *name, void *found, int version);

/* The driver's cuGetProcAddress and its second version. */
static int get_address(const char *name, void **found, int version, uint64_t flags) {
    typedef int (*get_t)(const char *, void **, int, uint64_t);
    int code = ((get_t)driver_get_address)(name, found, version, flags);
    if (code == 0 && name && found && !(flags & PER_THREAD_FUNCTIONS)) *found = asked_for(name, *found, version);
    return code;
}

static int get_address_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
    typedef int (*get_t)(const char *, void **, int, uint64_t, int *);
    int code = ((get_t)driver_get_address_v2)(name, found, version, flags, status);
    if (code == 0 && name && found && !(flags & PER_THREAD_FUNCTIONS)) *found = asked_for(name, *found, version);
    return code;
}

/* The function to return for the driver's `found`. CUDA's runtime asks for cuGetProcAddress itself, and then asks that for the others. */
static void *asked_for(const char *name, void *found, int version) {
    enum { SECOND = 12000 };
    /* From a version on, a name means another function: that of this symbol. */
    static const struct { const char *name, *symbol; int since; } renamed[] = {
        {"cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000},
        {"cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2", 12000},
        {"cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", 12000},
        {"cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
        {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
        {"cuGraphAddNode", "cuGraphAddNode_v2", 12030},
    };
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; ++i)
        if (strcmp(name, renamed[i].name) == 0 && version >= renamed[i].since) name = renamed[i].symbol;
    if (strcmp(name, "cuGetProcAddress") != 0) return seen_instead(name, found);
    return version >= SECOND ? instead(found, &driver_get_address_v2, (void *)get_address_v2)
                             : instead(found, &driver_get_address, (void *)get_address);
}

/* Whether the code at this address launches for Python code, or is the submission's own. CUDA's shared runtime asks in this way too, but
 * its launches were already recorded. */
static int asks_for_others(const void *caller) {
    Dl_info who = {0};
    const char *file = file_at(caller);
    if (is_own(caller) || (file && is_cute_runtime(file))) return 1;
    return dladdr(caller, &who) && who.dli_fname && strstr(who.dli_fname, "/cuda/bindings/");
}

static void *address_getter(void *library, const char *name, const void *caller) {
    int second = strcmp(name, "cuGetProcAddress_v2") == 0;
    void *found = real_dlsym()(library, name);
    if (!found || !asks_for_others(caller)) return found;
    return second ? instead(found, &driver_get_address_v2, (void *)get_address_v2) : instead(found, &driver_get_address, (void *)get_address);
}

void *dlsym(void *library, const char *name) {
    if (starts_with(name, "cuL") || starts_with(name, "cuGraph")) {
        void *found = real_dlsym()(library, name);
        return seen_instead(name, found);
    }
    if (strcmp(name, "cuGetProcAddress_v2") == 0 || strcmp(name, "cuGetProcAddress") == 0)
        return address_getter(library, name, __builtin_return_address(0));
    return real_dlsym()(library, name); /* a jump: what RTLD_NEXT means depends on who calls */
}
