/* Does not return from the launch of an unknown kernel, and of a grid of HANGS_AT blocks. */
#include <unistd.h>
typedef struct { unsigned x, y, z; } extent_t;
#ifndef HANGS_AT
#define HANGS_AT 0
#endif
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) {
    if (HANGS_AT ? g.x == HANGS_AT : *k == 'u') _exit(3);
    return 0;
}
int cudaLaunchKernelExC(const void *c, const void *k, void **a) { return 0; }
