/* One launch of three blocks. */
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, unsigned long, void *);
int launch(void) { volatile int code = cudaLaunchKernel("kernel", (extent_t){3, 1, 1}, (extent_t){1, 1, 1}, 0, 0, 0); return code; }
