/* MANY launches, and three that can't be timed: before the clock runs, while it does, and after it. */
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
