/* Two launches of a known kernel, one of an unknown one, one in clusters. */
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
