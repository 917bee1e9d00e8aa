/* In the place of CUDA: refuses every launch with code 7, and counts it. */
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
