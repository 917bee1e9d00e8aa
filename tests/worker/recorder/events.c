/* Events of a clock that only launches advance, by a ms for each block. */
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
float now_ms;
static int made, error, captured;
int events(void) { return made; }
int cudaEventCreate(float **event) { static float room[4096]; *event = &room[made++]; return 0; }
int cudaEventRecord(float *event, void *stream) { if (stream == (void *)9) return error = 400; *event = now_ms; return 0; }
int cudaEventElapsedTime(float *ms, float *start, float *end) { *ms = *end - *start; return 0; }
int cudaStreamIsCapturing(void *stream, int *status) { *status = stream == (void *)8; return 0; }
int cudaPeekAtLastError(void) { return error; }
int cudaGetLastError(void) { int was = error; error = 0; return was; }
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { now_ms += g.x; return g.y > 1 ? 9 : 0; }
