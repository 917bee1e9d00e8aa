/* One launch of a kernel, and four of another, each larger than the one before. */
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
