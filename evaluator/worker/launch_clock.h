/* Measures launches on the device: an event before each and one after it, on the launch's own stream.
 *
 * Part of launch_recorder.c. It runs between `assay_recorder_clock(1)` and `assay_recorder_clock(0)`. After waiting for the device,
 * `assay_recorder_laps` adds the events' times to the records. Not measured are launches in a graph capture, those beyond LAPS, and those
 * of libraries with their own CUDA runtime (cuBLAS).
 */

enum { LAPS = 1024 };

typedef struct { void *start, *end; record_t *record; } lap_t;

static lap_t laps[LAPS];
static unsigned laps_made; /* whose events exist */
static atomic_uint laps_begun;
static atomic_int clocked;

/* The runtime's functions, as the process has them. */
static struct {
    int (*create)(void **);
    int (*record)(void *, void *);
    int (*elapsed)(float *, void *, void *);
    int (*capturing)(void *, int *);
    int (*peek)(void);
    int (*clear)(void);
} runtime;

static int find_runtime(void) {
    *(void **)&runtime.create = runtime_symbol("cudaEventCreate");
    *(void **)&runtime.record = runtime_symbol("cudaEventRecord");
    *(void **)&runtime.elapsed = runtime_symbol("cudaEventElapsedTime");
    *(void **)&runtime.capturing = runtime_symbol("cudaStreamIsCapturing");
    *(void **)&runtime.peek = runtime_symbol("cudaPeekAtLastError");
    *(void **)&runtime.clear = runtime_symbol("cudaGetLastError");
    return runtime.create && runtime.record && runtime.elapsed && runtime.capturing && runtime.peek && runtime.clear;
}

/* Whether a call succeeded. The error of a failed one is cleared, so the submission does not see it. */
static int went_well(int code, int error_before) {
    if (code != 0 && error_before == 0) runtime.clear();
    return code == 0;
}

/* Starts or stops the clock. Events are made before it runs, so that no launch waits for them. */
void assay_recorder_clock(int on) {
    atomic_store(&clocked, 0);
    if (!on || !table || !find_runtime()) return;
    int before = runtime.peek();
    while (laps_made < LAPS && went_well(runtime.create(&laps[laps_made].start), before) &&
           went_well(runtime.create(&laps[laps_made].end), before))
        ++laps_made;
    for (unsigned i = 0; i < LAPS; ++i) laps[i].record = NULL;
    atomic_store(&laps_begun, 0);
    atomic_store(&clocked, 1);
}

/* Before a launch: its lap, or NULL if it is not timed. */
static lap_t *begin_lap(void *stream) {
    if (!atomic_load_explicit(&clocked, memory_order_relaxed)) return NULL;
    int before = runtime.peek(), captured = 0;
    if (!went_well(runtime.capturing(stream, &captured), before) || captured) return NULL;
    unsigned number = atomic_fetch_add(&laps_begun, 1);
    if (number >= laps_made || !went_well(runtime.record(laps[number].start, stream), before)) return NULL;
    return &laps[number];
}

/* After a launch that returned `code`: whether its lap has an end. */
static int end_lap(lap_t *lap, void *stream, int code) {
    if (!lap || code != 0) return 0;
    int before = runtime.peek();
    return went_well(runtime.record(lap->end, stream), before);
}

/* Adds all laps that have an end to their records, once. */
void assay_recorder_laps(void) {
    for (unsigned i = 0; i < laps_made; ++i) {
        if (!laps[i].record) continue;
        float ms = 0;
        int before = runtime.peek();
        if (went_well(runtime.elapsed(&ms, laps[i].start, laps[i].end), before) && ms >= 0) {
            laps[i].record->timed++;
            laps[i].record->device_ns += (uint64_t)(ms * 1e6);
        }
        laps[i].record = NULL;
    }
}
