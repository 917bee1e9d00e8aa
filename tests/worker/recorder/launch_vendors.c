/* A kernel of its own and one of CUB's, which are in the same object. */
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
static const extent_t one = {1, 1, 1};
int launch_limited(void) {
    volatile int codes = 0;
    codes += cudaLaunchKernel("void sort<cub::BlockRadixSort<float>>(float*)", one, one, NULL, 0, NULL);
    codes += 100 * cudaLaunchKernel("void cub::DeviceSortKernel<float>(float*)", one, one, NULL, 0, NULL);
    return codes;
}
